"""Surrogates phi(alpha, s) are convex functions that contenders minimize; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.interfaces.surrogate import Surrogate
from rankbench.plugin.registry import hookimpl
from rankbench.surrogates.cross_entropy import CrossEntropy, ListNet
from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingAsPrinted, OrderPreservingERR
from rankbench.surrogates.pairwise import (
    Linear,
    LinearPower,
    Pairwise,
    PairwiseExponential,
    PairwiseFormula,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
    ValueRegularized,
)
from rankbench.surrogates.phi import PhiFormula
from rankbench.surrogates.regression import Regression

__all__ = [
    "CrossEntropy",
    "Linear",
    "LinearPower",
    "ListNet",
    "OrderPreserving",
    "OrderPreservingAsPrinted",
    "OrderPreservingERR",
    "Pairwise",
    "PairwiseExponential",
    "PairwiseFormula",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquared",
    "PairwiseSquaredHinge",
    "PhiFormula",
    "Regression",
    "ValueRegularized",
]


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
