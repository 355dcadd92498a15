"""Whole contenders: the composed method of the papers, and baselines."""

from __future__ import annotations

from rankbench.kinds.method import Method
from rankbench.methods.baselines import Feature, Oracle, RandomScores
from rankbench.methods.erm.erm import ERM
from rankbench.methods.log_odds import DisjointBatches, LogOddsRegression, UStatistic
from rankbench.methods.pair_risk import PairRisk
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["ERM", "DisjointBatches", "Feature", "LogOddsRegression", "Oracle", "PairRisk", "RandomScores", "UStatistic"]


@hookimpl
def rankbench_register() -> list[type[Method]]:
    """Register the built-in methods."""
    return [ERM, Oracle, PairRisk, Feature, RandomScores, UStatistic, DisjointBatches]
