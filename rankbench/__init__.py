"""Benchmarks for learning to rank from partial preferences.

The names below are imported when they are first used, so that ``import rankbench`` costs
next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = [
    "Aggregation",
    "Aggregator",
    "Block",
    "Certificate",
    "ClaimKind",
    "ComparisonAggregator",
    "Comparisons",
    "Component",
    "CountAggregator",
    "Dataset",
    "FigureKind",
    "Fit",
    "Fitted",
    "LabelAggregator",
    "Loss",
    "Method",
    "Model",
    "Optimizer",
    "OrderAggregator",
    "Orders",
    "PairCounts",
    "PairwiseSurrogate",
    "Penalty",
    "Problem",
    "Protocol",
    "Queries",
    "Reader",
    "Resamples",
    "ScoreAggregator",
    "ScoreRanking",
    "ScoreSurrogate",
    "SelectionAggregator",
    "Selections",
    "SequentialAggregator",
    "Solver",
    "StepOptimizer",
    "Surrogate",
    "TableKind",
    "__version__",
    "aggregate",
    "certify",
    "get",
    "hookimpl",
    "log_file",
    "rank",
    "reference",
    "report",
    "run",
    "scan",
]


if TYPE_CHECKING:
    from rankbench.api import rank, report, run
    from rankbench.certify.certificate import Certificate
    from rankbench.certify.certify import certify
    from rankbench.core.component import Component
    from rankbench.interfaces.aggregator import (
        Aggregator,
        ComparisonAggregator,
        CountAggregator,
        LabelAggregator,
        OrderAggregator,
    )
    from rankbench.interfaces.claim import ClaimKind
    from rankbench.interfaces.click_aggregator import SelectionAggregator
    from rankbench.interfaces.dataset import Dataset, Reader
    from rankbench.interfaces.figure import FigureKind
    from rankbench.interfaces.method import (
        Block,
        Fit,
        Fitted,
        Method,
        Model,
        Optimizer,
        Penalty,
        Problem,
        Solver,
        StepOptimizer,
    )
    from rankbench.interfaces.pair_counts import PairCounts
    from rankbench.interfaces.protocol import Protocol
    from rankbench.interfaces.queries import Comparisons, Orders, Queries, Selections
    from rankbench.interfaces.resamples import Resamples
    from rankbench.interfaces.sequential_aggregator import ScoreAggregator, SequentialAggregator
    from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate, Surrogate
    from rankbench.interfaces.table import TableKind
    from rankbench.plugin.manager import get, reference
    from rankbench.plugin.registry import hookimpl
    from rankbench.ranking.aggregate import Aggregation, aggregate
    from rankbench.ranking.log_dataset import log_file
    from rankbench.ranking.open import scan
    from rankbench.ranking.score_ranking import ScoreRanking

    __version__: str


_HOMES = {
    "Aggregation": "rankbench.ranking.aggregate",
    "Aggregator": "rankbench.interfaces.aggregator",
    "Block": "rankbench.interfaces.method",
    "Certificate": "rankbench.certify.certificate",
    "ClaimKind": "rankbench.interfaces.claim",
    "ComparisonAggregator": "rankbench.interfaces.aggregator",
    "Comparisons": "rankbench.interfaces.queries",
    "Component": "rankbench.core.component",
    "CountAggregator": "rankbench.interfaces.aggregator",
    "Dataset": "rankbench.interfaces.dataset",
    "FigureKind": "rankbench.interfaces.figure",
    "Fit": "rankbench.interfaces.method",
    "Fitted": "rankbench.interfaces.method",
    "LabelAggregator": "rankbench.interfaces.aggregator",
    "Loss": "rankbench.interfaces.surrogate",
    "Method": "rankbench.interfaces.method",
    "Model": "rankbench.interfaces.method",
    "Optimizer": "rankbench.interfaces.method",
    "OrderAggregator": "rankbench.interfaces.aggregator",
    "Orders": "rankbench.interfaces.queries",
    "PairwiseSurrogate": "rankbench.interfaces.surrogate",
    "PairCounts": "rankbench.interfaces.pair_counts",
    "Penalty": "rankbench.interfaces.method",
    "Problem": "rankbench.interfaces.method",
    "Protocol": "rankbench.interfaces.protocol",
    "Queries": "rankbench.interfaces.queries",
    "Reader": "rankbench.interfaces.dataset",
    "Resamples": "rankbench.interfaces.resamples",
    "ScoreAggregator": "rankbench.interfaces.sequential_aggregator",
    "ScoreRanking": "rankbench.ranking.score_ranking",
    "ScoreSurrogate": "rankbench.interfaces.surrogate",
    "SelectionAggregator": "rankbench.interfaces.click_aggregator",
    "Selections": "rankbench.interfaces.queries",
    "SequentialAggregator": "rankbench.interfaces.sequential_aggregator",
    "Solver": "rankbench.interfaces.method",
    "StepOptimizer": "rankbench.interfaces.method",
    "Surrogate": "rankbench.interfaces.surrogate",
    "TableKind": "rankbench.interfaces.table",
    "aggregate": "rankbench.ranking.aggregate",
    "get": "rankbench.plugin.manager",
    "hookimpl": "rankbench.plugin.registry",
    "log_file": "rankbench.ranking.log_dataset",
    "rank": "rankbench.api",
    "reference": "rankbench.plugin.manager",
    "report": "rankbench.api",
    "run": "rankbench.api",
    "scan": "rankbench.ranking.open",
}


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
