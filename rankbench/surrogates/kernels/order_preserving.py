"""Compiled order-preserving surrogates."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels.satisfaction import satisfied
from rankbench.kernels.signatures import GRADIENT, TARGET

__all__ = ["PHI_CODES", "satisfaction_target", "value_and_gradient"]

LOGISTIC, EXPONENTIAL, SQUARED_HINGE = 0, 1, 2
PHI_CODES = {"logistic": LOGISTIC, "exponential": EXPONENTIAL, "squared-hinge": SQUARED_HINGE}


@njit(TARGET, cache=True, nogil=True)
def satisfaction_target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write G(s_j); `params` are its code and its largest grade."""
    for i in range(scores.shape[0]):
        target[i] = satisfied(scores[i], params[0], params[1])


@njit(GRADIENT, cache=True, nogil=True)
def value_and_gradient(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    """Return ``sum_j w_j sum_l phi(alpha_j - alpha_l)`` and write its gradient; `params` is the code of phi."""
    code = int(params[0])
    m = alpha.shape[0]
    value = 0.0
    gradient[:] = 0.0
    for j in range(m):
        weight = target[j]
        if weight == 0.0:
            continue
        row, pull = 0.0, 0.0
        for i in range(m):
            t = alpha[j] - alpha[i]
            if code == LOGISTIC:
                e = math.exp(-abs(t))
                row += max(-t, 0.0) + math.log1p(e)
                slope = -(e if t > 0.0 else 1.0) / (1.0 + e)
            elif code == EXPONENTIAL:
                e = math.exp(-t)
                row += e
                slope = -e
            else:
                short = max(1.0 - t, 0.0)
                row += short * short
                slope = -2.0 * short
            pull += slope
            gradient[i] -= weight * slope
        value += weight * row
        gradient[j] += weight * pull
    return value
