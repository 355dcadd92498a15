"""Benchmarks for learning to rank from partial preferences.

The names below are imported when they are first used, so that ``import rankbench`` costs
next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a type checker takes what is imported under its own name for public
    from rankbench.api import rank as rank
    from rankbench.api import report as report
    from rankbench.api import run as run
    from rankbench.certify.certificate import Certificate as Certificate
    from rankbench.certify.certify import certify as certify
    from rankbench.core.component import Component as Component
    from rankbench.interfaces.aggregator import Aggregator as Aggregator
    from rankbench.interfaces.aggregator import ComparisonAggregator as ComparisonAggregator
    from rankbench.interfaces.aggregator import CountAggregator as CountAggregator
    from rankbench.interfaces.aggregator import LabelAggregator as LabelAggregator
    from rankbench.interfaces.aggregator import OrderAggregator as OrderAggregator
    from rankbench.interfaces.claim import ClaimKind as ClaimKind
    from rankbench.interfaces.click_aggregator import SelectionAggregator as SelectionAggregator
    from rankbench.interfaces.dataset import Dataset as Dataset
    from rankbench.interfaces.dataset import Reader as Reader
    from rankbench.interfaces.figure import FigureKind as FigureKind
    from rankbench.interfaces.method import Block as Block
    from rankbench.interfaces.method import Fit as Fit
    from rankbench.interfaces.method import Fitted as Fitted
    from rankbench.interfaces.method import Method as Method
    from rankbench.interfaces.method import Model as Model
    from rankbench.interfaces.method import Optimizer as Optimizer
    from rankbench.interfaces.method import Penalty as Penalty
    from rankbench.interfaces.method import Problem as Problem
    from rankbench.interfaces.method import Solver as Solver
    from rankbench.interfaces.method import StepOptimizer as StepOptimizer
    from rankbench.interfaces.pair_counts import PairCounts as PairCounts
    from rankbench.interfaces.protocol import Protocol as Protocol
    from rankbench.interfaces.queries import Comparisons as Comparisons
    from rankbench.interfaces.queries import Orders as Orders
    from rankbench.interfaces.queries import Queries as Queries
    from rankbench.interfaces.queries import Selections as Selections
    from rankbench.interfaces.resamples import Resamples as Resamples
    from rankbench.interfaces.sequential_aggregator import ScoreAggregator as ScoreAggregator
    from rankbench.interfaces.sequential_aggregator import SequentialAggregator as SequentialAggregator
    from rankbench.interfaces.surrogate import Loss as Loss
    from rankbench.interfaces.surrogate import PairwiseSurrogate as PairwiseSurrogate
    from rankbench.interfaces.surrogate import ScoreSurrogate as ScoreSurrogate
    from rankbench.interfaces.surrogate import Surrogate as Surrogate
    from rankbench.interfaces.table import TableKind as TableKind
    from rankbench.plugin.manager import get as get
    from rankbench.plugin.manager import reference as reference
    from rankbench.plugin.registry import hookimpl as hookimpl
    from rankbench.ranking.aggregate import Aggregation as Aggregation
    from rankbench.ranking.aggregate import aggregate as aggregate
    from rankbench.ranking.log_dataset import log_file as log_file
    from rankbench.ranking.open import scan as scan
    from rankbench.ranking.score_ranking import ScoreRanking as ScoreRanking

    __version__: str

_NAMES = {
    "rankbench.api": ("rank", "report", "run"),
    "rankbench.certify.certificate": ("Certificate",),
    "rankbench.core.component": ("Component",),
    "rankbench.interfaces.aggregator": (
        "Aggregator",
        "ComparisonAggregator",
        "CountAggregator",
        "LabelAggregator",
        "OrderAggregator",
    ),
    "rankbench.interfaces.claim": ("ClaimKind",),
    "rankbench.interfaces.click_aggregator": ("SelectionAggregator",),
    "rankbench.interfaces.dataset": ("Dataset", "Reader"),
    "rankbench.interfaces.figure": ("FigureKind",),
    "rankbench.interfaces.method": (
        "Block",
        "Fit",
        "Fitted",
        "Method",
        "Model",
        "Optimizer",
        "Penalty",
        "Problem",
        "Solver",
        "StepOptimizer",
    ),
    "rankbench.interfaces.pair_counts": ("PairCounts",),
    "rankbench.interfaces.protocol": ("Protocol",),
    "rankbench.interfaces.queries": ("Comparisons", "Orders", "Queries", "Selections"),
    "rankbench.interfaces.resamples": ("Resamples",),
    "rankbench.interfaces.sequential_aggregator": ("ScoreAggregator", "SequentialAggregator"),
    "rankbench.interfaces.surrogate": ("Loss", "PairwiseSurrogate", "ScoreSurrogate", "Surrogate"),
    "rankbench.interfaces.table": ("TableKind",),
    "rankbench.plugin.manager": ("get", "reference"),
    "rankbench.plugin.registry": ("hookimpl",),
    "rankbench.ranking.aggregate": ("Aggregation", "aggregate"),
    "rankbench.ranking.log_dataset": ("log_file",),
    "rankbench.ranking.open": ("scan",),
    "rankbench.ranking.score_ranking": ("ScoreRanking",),
}

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_HOMES, "__version__", "certify"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("rankbench")
    elif name == "certify":  # the room itself is the verb
        value = importlib.import_module("rankbench.certify")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'rankbench' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
