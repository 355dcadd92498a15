"""Convex surrogates phi(alpha, s), which contenders minimize; one a file."""

from __future__ import annotations

from rankbench.plugin.hookspecs import hookimpl
from rankbench.surrogates.base import Surrogate
from rankbench.surrogates.pairwise_logistic import PairwiseLogistic
from rankbench.surrogates.regression import Regression

__all__ = ["PairwiseLogistic", "Regression"]


@hookimpl
def rankbench_register_surrogates() -> list[type[Surrogate]]:
    """Register the built-in surrogates."""
    return [Regression, PairwiseLogistic]
