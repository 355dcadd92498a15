"""Compiled Elo ratings."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import AGGREGATE

__all__ = ["elo"]


@njit(AGGREGATE, cache=True, nogil=True)
def elo(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the ratings in units of log-odds to `out`; ``params = [eta]``."""
    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        # tanh, unlike exp, overflows nowhere.
        step = params[0] * weights[t] * (0.5 - 0.5 * math.tanh(0.5 * (out[i] - out[j])))
        out[i] += step
        out[j] -= step
