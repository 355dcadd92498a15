"""One stochastic contender at a time, as one would write it without lockstep."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True)
def run_alone(
    x: NDArray[np.float64], target: NDArray[np.float64], m: int, steps: int, c: float, l2: float
) -> NDArray[np.float64]:
    """Average the composite steps (25) for regression (28) on uniformly drawn queries of m items."""
    d, queries = x.shape[1], x.shape[0] // m
    theta, total = np.zeros(d), np.zeros(d)
    alpha, gradient = np.empty(m), np.empty(d)
    for t in range(1, steps + 1):
        low = (t * 7919) % queries * m  # any order of queries costs the same
        features = x[low : low + m]
        np.dot(features, theta, alpha)
        for i in range(m):
            alpha[i] = (alpha[i] - target[low + i]) / m
        np.dot(alpha, features, gradient)
        size = c / np.sqrt(t)
        for j in range(d):
            theta[j] = (theta[j] - size * gradient[j]) / (1.0 + size * l2)
            total[j] += theta[j]
    return total / steps
