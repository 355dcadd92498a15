"""Elo ratings carried on from chunk to chunk."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["rate"]

_READ = types.Array(types.int32, 1, "C", readonly=True)
_FLAGS = types.Array(types.uint8, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)


@njit(types.int64(_READ, _READ, _FLAGS, _FLOATS, types.float64, types.float64[::1]), cache=True, nogil=True)
def rate(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    ties: NDArray[np.uint8],
    weights: NDArray[np.float64],
    factor: float,
    scores: NDArray[np.float64],
) -> int:
    """Move `scores`, (m,), by every judgment in turn; return the first bad row, or -1.

    `ties` and `weights` are empty where there are none.
    """
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        weight = weights[t] if len(weights) else 1.0
        if i == j or not 0.0 < weight < np.inf:
            return t
        outcome = 0.5 if len(ties) and ties[t] else 1.0
        chance = 0.5 + 0.5 * math.tanh(0.5 * (scores[i] - scores[j]))
        change = factor * weight * (outcome - chance)
        scores[i] += change
        scores[j] -= change
    return -1
