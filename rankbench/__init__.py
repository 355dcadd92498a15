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
    from rankbench.data.readers.base import Reader
    from rankbench.losses.base import Loss
    from rankbench.methods.base import Method
    from rankbench.models.base import Model
    from rankbench.optimizers.base import Optimizer, Solver, StepOptimizer
    from rankbench.plugin.hookspecs import hookimpl
    from rankbench.plugin.manager import get
    from rankbench.surrogates.base import PairwiseSurrogate, ScoreSurrogate, Surrogate

    __version__: str

__all__ = [
    "Aggregator",
    "Component",
    "Dataset",
    "Loss",
    "Method",
    "Model",
    "Optimizer",
    "PairwiseSurrogate",
    "Reader",
    "ScoreSurrogate",
    "Solver",
    "StepOptimizer",
    "Surrogate",
    "__version__",
    "get",
    "hookimpl",
    "report",
    "run",
]

_HOMES = {
    "Aggregator": "rankbench.aggregators.base",
    "Component": "rankbench.component",
    "Dataset": "rankbench.data.dataset",
    "Loss": "rankbench.losses.base",
    "Method": "rankbench.methods.base",
    "Model": "rankbench.models.base",
    "Optimizer": "rankbench.optimizers.base",
    "PairwiseSurrogate": "rankbench.surrogates.base",
    "Reader": "rankbench.data.readers.base",
    "ScoreSurrogate": "rankbench.surrogates.base",
    "Solver": "rankbench.optimizers.base",
    "StepOptimizer": "rankbench.optimizers.base",
    "Surrogate": "rankbench.surrogates.base",
    "get": "rankbench.plugin.manager",
    "hookimpl": "rankbench.plugin.hookspecs",
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
