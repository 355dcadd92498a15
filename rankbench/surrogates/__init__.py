"""Surrogates phi(alpha, s) are convex functions that contenders minimize; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.interfaces.surrogate import Surrogate
from rankbench.plugin.registry import hookimpl
from rankbench.surrogates.cross_entropy import CrossEntropy, ListNet
from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingAsPrinted, OrderPreservingERR
from rankbench.surrogates.pairwise import (
    Linear,
    LinearPower,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)
from rankbench.surrogates.regression import Regression


@hookimpl
def rankbench_register() -> list[type[Surrogate]]:
    """Register the built-in surrogates."""
    return [
        Regression,
        OrderPreserving,
        OrderPreservingERR,
        OrderPreservingAsPrinted,
        ListNet,
        CrossEntropy,
        Linear,
        LinearPower,
        PairwiseLogistic,
        PairwiseHinge,
        PairwiseExponential,
        PairwiseSquaredHinge,
        PairwiseSquared,
    ]
