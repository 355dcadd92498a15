"""Compiled value-regularized linear loss, r(a) = |a|^p / p."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import GRADIENT, TARGET

__all__ = ["target", "value_and_gradient"]


@declared(types.float64(types.float64, types.float64))
def _signed(base: float, power: float) -> float:
    """Return ``sign(base) |base|^power``."""
    return float(abs(base) ** power if base >= 0.0 else -(abs(base) ** power))


@declared(TARGET)
def target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write net weights over nu; `params` is nu."""
    for i in range(scores.shape[0]):
        target[i] = scores[i] / params[0]


@declared(GRADIENT)
def value_and_gradient(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    """Return the mean divergence of r between alpha and the minimizer and write its gradient; `params` is p."""
    m, p = alpha.shape[0], params[0]
    value = 0.0
    for i in range(m):
        a, slope = alpha[i], target[i]
        best = _signed(slope, 1.0 / (p - 1.0))
        value += (abs(a) ** p - abs(best) ** p) / p - slope * (a - best)
        gradient[i] = (_signed(a, p - 1.0) - slope) / m
    return float(value / m)
