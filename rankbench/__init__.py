"""Benchmarks for learning to rank from partial preferences.

The names below are imported when they are first used, so that ``import rankbench`` costs
next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankbench.aggregators.base import Aggregator
    from rankbench.api import report, run
    from rankbench.component import Component
    from rankbench.data.dataset import Dataset
    from rankbench.data.queries import Comparisons, Orders, Queries, Selections
    from rankbench.data.readers.base import Reader
    from rankbench.logs.aggregate import Aggregation, aggregate
    from rankbench.logs.dataset import log_file
    from rankbench.losses.base import Loss
    from rankbench.methods.base import Block, Fitted, Method
    from rankbench.models.base import Model
    from rankbench.optimizers.base import Fit, Optimizer, Problem, Solver, StepOptimizer
    from rankbench.optimizers.penalties import Penalty
    from rankbench.plugin.hookspecs import hookimpl
    from rankbench.plugin.manager import get
    from rankbench.plugin.resolve import reference
    from rankbench.protocols.base import Protocol
    from rankbench.surrogates.base import PairwiseSurrogate, ScoreSurrogate, Surrogate

    __version__: str

__all__ = [
    "Aggregation",
    "Aggregator",
    "Block",
    "Comparisons",
    "Component",
    "Dataset",
    "Fit",
    "Fitted",
    "Loss",
    "Method",
    "Model",
    "Optimizer",
    "Orders",
    "PairwiseSurrogate",
    "Penalty",
    "Problem",
    "Protocol",
    "Queries",
    "Reader",
    "ScoreSurrogate",
    "Selections",
    "Solver",
    "StepOptimizer",
    "Surrogate",
    "__version__",
    "aggregate",
    "get",
    "hookimpl",
    "log_file",
    "reference",
    "report",
    "run",
]

_HOMES = {
    "Aggregation": "rankbench.logs.aggregate",
    "Aggregator": "rankbench.aggregators.base",
    "Block": "rankbench.methods.base",
    "Comparisons": "rankbench.data.queries",
    "Component": "rankbench.component",
    "Dataset": "rankbench.data.dataset",
    "Fit": "rankbench.optimizers.base",
    "Fitted": "rankbench.methods.base",
    "Loss": "rankbench.losses.base",
    "Method": "rankbench.methods.base",
    "Model": "rankbench.models.base",
    "Optimizer": "rankbench.optimizers.base",
    "Orders": "rankbench.data.queries",
    "PairwiseSurrogate": "rankbench.surrogates.base",
    "Penalty": "rankbench.optimizers.penalties",
    "Problem": "rankbench.optimizers.base",
    "Protocol": "rankbench.protocols.base",
    "Queries": "rankbench.data.queries",
    "Reader": "rankbench.data.readers.base",
    "ScoreSurrogate": "rankbench.surrogates.base",
    "Selections": "rankbench.data.queries",
    "Solver": "rankbench.optimizers.base",
    "StepOptimizer": "rankbench.optimizers.base",
    "Surrogate": "rankbench.surrogates.base",
    "aggregate": "rankbench.logs.aggregate",
    "get": "rankbench.plugin.manager",
    "hookimpl": "rankbench.plugin.hookspecs",
    "log_file": "rankbench.logs.dataset",
    "reference": "rankbench.plugin.resolve",
    "report": "rankbench.api",
    "run": "rankbench.api",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("rankbench")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'rankbench' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
