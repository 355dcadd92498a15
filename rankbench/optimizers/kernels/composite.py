"""Compiled composite step (25) with an l2 penalty."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import STEP

__all__ = ["INVERSE_SQRT", "INVERSE_T", "step"]

INVERSE_T, INVERSE_SQRT = 0.0, 1.0


@njit(STEP, cache=True, nogil=True)
def step(
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    t: int,
    params: NDArray[np.float64],
    state: NDArray[np.float64],
) -> None:
    """Update theta in place; columns of `params` are schedule, c, t0, lambda."""
    for row in range(theta.shape[0]):
        schedule, c, t0, l2 = params[row, 0], params[row, 1], params[row, 2], params[row, 3]
        size = c / (t + t0) if schedule == INVERSE_T else c / math.sqrt(t + t0)
        shrink = 1.0 / (1.0 + size * l2)
        for i in range(theta.shape[1]):
            theta[row, i] = (theta[row, i] - size * gradient[row, i]) * shrink
