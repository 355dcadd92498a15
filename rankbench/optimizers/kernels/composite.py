"""Compiled composite step (25) with all penalties that have a closed form."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import STEP

__all__ = ["INVERSE_SQRT", "INVERSE_T", "step"]

INVERSE_T, INVERSE_SQRT = 0.0, 1.0

Vector = types.float64[::1]


@declared(types.void(Vector, types.float64))
def soften(theta: NDArray[np.float64], threshold: float) -> None:
    """Move every entry towards 0 by `threshold`, at most to 0; nan stays nan."""
    for i in range(theta.shape[0]):
        if theta[i] > threshold:
            theta[i] -= threshold
        elif theta[i] < -threshold:
            theta[i] += threshold
        elif not math.isnan(theta[i]):
            theta[i] = 0.0


@declared(types.void(Vector, types.float64))
def clip(theta: NDArray[np.float64], box: float) -> None:
    """Project onto the box; nan stays nan."""
    for i in range(theta.shape[0]):
        if theta[i] > box:
            theta[i] = box
        elif theta[i] < -box:
            theta[i] = -box


@declared(types.void(Vector, types.float64))
def shorten(theta: NDArray[np.float64], radius: float) -> None:
    """Project onto the ball, however large the entries are; nan stays nan."""
    top = 0.0
    for i in range(theta.shape[0]):
        top = max(top, abs(theta[i]))
    if top == 0.0:
        return
    square = 0.0
    for i in range(theta.shape[0]):
        square += (theta[i] / top) ** 2
    length = top * math.sqrt(square)
    if length > radius:
        for i in range(theta.shape[0]):
            theta[i] *= radius / length


@declared(STEP)
def step(
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    t: int,
    params: NDArray[np.float64],
    state: NDArray[np.float64],
) -> None:
    """Update theta in place; columns of `params` are schedule, c, t0, lambda, kappa, radius, box."""
    for row in range(theta.shape[0]):
        schedule, c, t0, l2 = params[row, 0], params[row, 1], params[row, 2], params[row, 3]
        l1, radius, box = params[row, 4], params[row, 5], params[row, 6]
        size = c / (t + t0) if schedule == INVERSE_T else c / math.sqrt(t + t0)
        shrink = 1.0 / (1.0 + size * l2)
        if l1 > 0.0:
            for i in range(theta.shape[1]):
                theta[row, i] -= size * gradient[row, i]
            soften(theta[row], size * l1)
            for i in range(theta.shape[1]):
                theta[row, i] *= shrink
        else:
            for i in range(theta.shape[1]):
                theta[row, i] = (theta[row, i] - size * gradient[row, i]) * shrink
        if box < math.inf:
            clip(theta[row], box)
        if radius < math.inf:
            shorten(theta[row], radius)
