"""Compiled Borda counts, win rates and budgeted scores."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import AGGREGATE

__all__ = ["borda", "budgeted", "net_weights", "played_size", "table_size", "win_rate"]


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


@njit(AGGREGATE, cache=True, nogil=True)
def net_weights(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the weight won less the weight lost, over the number of judgments, to `out`."""
    for i in range(m):
        out[i] = 0.0
    k = len(winners)
    for t in range(k):
        out[winners[t]] += weights[t]
        out[losers[t]] -= weights[t]
    for i in range(m):
        out[i] /= k


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


def table_size(m: int) -> int:
    """Return the length of the scratch memory of `budgeted` for m items."""
    return m * m


@njit(AGGREGATE, cache=True, nogil=True)
def budgeted(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the mean over opponents of the share of weight won, less one half, to `out`.

    The first judgment of a pair finds the total weights in the table and clears them.
    """
    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        work[winners[t] * m + losers[t]] += weights[t]
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        played = work[i * m + j] + work[j * m + i]
        if played == 0.0:
            continue
        lead = work[i * m + j] / played - 0.5
        work[i * m + j] = 0.0
        work[j * m + i] = 0.0
        out[i] += lead
        out[j] -= lead
    for i in range(m):
        out[i] /= m - 1
