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
    """Update theta in place; `params` are schedule, c, t0, lambda."""
    size = params[1] / (t + params[2]) if params[0] == INVERSE_T else params[1] / math.sqrt(t + params[2])
    shrink = 1.0 / (1.0 + size * params[3])
    for i in range(theta.shape[0]):
        theta[i] = (theta[i] - size * gradient[i]) * shrink
