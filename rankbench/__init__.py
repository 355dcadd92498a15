"""Benchmarks for learning to rank from partial preferences.

The names below are imported when they are first used, so that ``import rankbench`` costs
next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankbench.api import rank, report, run
    from rankbench.certify.certificate import Certificate
    from rankbench.certify.verb import certify
    from rankbench.component import Component
    from rankbench.counts.log_file import log_file
    from rankbench.counts.log_source import scan
    from rankbench.kinds.aggregator import Aggregator
    from rankbench.kinds.claim import ClaimKind
    from rankbench.kinds.counts import PairCounts
    from rankbench.kinds.dataset import Dataset
    from rankbench.kinds.figure import FigureKind
    from rankbench.kinds.loss import Loss
    from rankbench.kinds.method import Block, Fitted, Method
    from rankbench.kinds.model import Model
    from rankbench.kinds.optimizer import Fit, Optimizer, Problem, Solver, StepOptimizer
    from rankbench.kinds.penalty import Penalty
    from rankbench.kinds.protocol import Protocol
    from rankbench.kinds.queries import Comparisons, Orders, Queries, Selections
    from rankbench.kinds.reader import Reader
    from rankbench.kinds.resamples import Resamples
    from rankbench.kinds.score_aggregator import ScoreAggregator
    from rankbench.kinds.sequential_aggregator import SequentialAggregator
    from rankbench.kinds.surrogate import PairwiseSurrogate, ScoreSurrogate, Surrogate
    from rankbench.kinds.table import TableKind
    from rankbench.plugin.hookspecs import hookimpl
    from rankbench.plugin.manager import get
    from rankbench.plugin.resolve import reference
    from rankbench.ranking.aggregate import Aggregation, aggregate
    from rankbench.ranking.score_ranking import ScoreRanking

    __version__: str

__all__ = [
    "Aggregation",
    "Aggregator",
    "Block",
    "Certificate",
    "ClaimKind",
    "Comparisons",
    "Component",
    "Dataset",
    "FigureKind",
    "Fit",
    "Fitted",
    "Loss",
    "Method",
    "Model",
    "Optimizer",
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

_HOMES = {
    "Aggregation": "rankbench.ranking.aggregate",
    "Aggregator": "rankbench.kinds.aggregator",
    "Block": "rankbench.kinds.method",
    "Certificate": "rankbench.certify.certificate",
    "ClaimKind": "rankbench.kinds.claim",
    "Comparisons": "rankbench.kinds.queries",
    "Component": "rankbench.component",
    "Dataset": "rankbench.kinds.dataset",
    "FigureKind": "rankbench.kinds.figure",
    "Fit": "rankbench.kinds.optimizer",
    "Fitted": "rankbench.kinds.method",
    "Loss": "rankbench.kinds.loss",
    "Method": "rankbench.kinds.method",
    "Model": "rankbench.kinds.model",
    "Optimizer": "rankbench.kinds.optimizer",
    "Orders": "rankbench.kinds.queries",
    "PairwiseSurrogate": "rankbench.kinds.surrogate",
    "PairCounts": "rankbench.kinds.counts",
    "Penalty": "rankbench.kinds.penalty",
    "Problem": "rankbench.kinds.optimizer",
    "Protocol": "rankbench.kinds.protocol",
    "Queries": "rankbench.kinds.queries",
    "Reader": "rankbench.kinds.reader",
    "Resamples": "rankbench.kinds.resamples",
    "ScoreAggregator": "rankbench.kinds.score_aggregator",
    "ScoreRanking": "rankbench.ranking.score_ranking",
    "ScoreSurrogate": "rankbench.kinds.surrogate",
    "Selections": "rankbench.kinds.queries",
    "SequentialAggregator": "rankbench.kinds.sequential_aggregator",
    "Solver": "rankbench.kinds.optimizer",
    "StepOptimizer": "rankbench.kinds.optimizer",
    "Surrogate": "rankbench.kinds.surrogate",
    "TableKind": "rankbench.kinds.table",
    "aggregate": "rankbench.ranking.aggregate",
    "get": "rankbench.plugin.manager",
    "hookimpl": "rankbench.plugin.hookspecs",
    "log_file": "rankbench.counts.log_file",
    "rank": "rankbench.api",
    "reference": "rankbench.plugin.resolve",
    "report": "rankbench.api",
    "run": "rankbench.api",
    "scan": "rankbench.counts.log_source",
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
