"""Whole contenders: the composed method of the papers, and baselines."""

from __future__ import annotations

from rankbench.methods.base import Method
from rankbench.methods.erm import ERM
from rankbench.methods.feature import Feature
from rankbench.methods.oracle import Oracle
from rankbench.methods.pair_risk import PairRisk
from rankbench.methods.random_scores import RandomScores
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["ERM", "Feature", "Oracle", "PairRisk", "RandomScores"]


@hookimpl
def rankbench_register_methods() -> list[type[Method]]:
    """Register the built-in methods."""
    return [ERM, Oracle, PairRisk, Feature, RandomScores]
