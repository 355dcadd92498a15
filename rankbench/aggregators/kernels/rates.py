"""Compiled Borda counts and win rates."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import AGGREGATE

__all__ = ["borda", "played_size", "win_rate"]


@njit(AGGREGATE, cache=True, nogil=True)
def borda(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the weight won less the weight lost, over the total weight, to `out`."""
    for i in range(m):
        out[i] = 0.0
    total = 0.0
    for t in range(len(winners)):
        out[winners[t]] += weights[t]
        out[losers[t]] -= weights[t]
        total += weights[t]
    for i in range(m):
        out[i] /= total


def played_size(m: int) -> int:
    """Return the length of the scratch memory of `win_rate` for m items."""
    return m


@njit(AGGREGATE, cache=True, nogil=True)
def win_rate(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the share of weight won less one half to `out`; 0 for items without judgments."""
    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        out[winners[t]] += weights[t]
        work[winners[t]] += weights[t]
        work[losers[t]] += weights[t]
    for i in range(m):
        if work[i] > 0.0:
            out[i] = out[i] / work[i] - 0.5
            work[i] = 0.0
