"""Methods are whole contenders; the hook registers the built-in methods and models."""

from __future__ import annotations

from rankbench.interfaces.method import Method, Model
from rankbench.methods.baselines import (
    DisjointBatches,
    Feature,
    LinearModel,
    Oracle,
    RandomFeatures,
    RandomScores,
    UStatistic,
)
from rankbench.methods.erm import ERM
from rankbench.methods.pair_risk import PairRisk
from rankbench.plugin.registry import hookimpl


@hookimpl
def rankbench_register() -> list[type[Method] | type[Model]]:
    """Register the built-in methods and models."""
    return [ERM, Oracle, PairRisk, Feature, RandomScores, UStatistic, DisjointBatches, LinearModel, RandomFeatures]
