"""Whole contenders: the composed method of the papers, and baselines."""

from __future__ import annotations

from rankbench.methods.base import Method
from rankbench.methods.erm import ERM
from rankbench.methods.oracle import Oracle
from rankbench.methods.random_scores import RandomScores
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["ERM", "Oracle", "RandomScores"]


@hookimpl
def rankbench_register_methods() -> list[type[Method]]:
    """Register the built-in methods."""
    return [ERM, Oracle, RandomScores]
