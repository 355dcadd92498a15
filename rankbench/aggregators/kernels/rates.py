"""Compiled Borda counts, win rates and budgeted scores."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.aggregators.kernels.pair_table import add_up, take_entries
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["borda", "budgeted", "net_weights", "played_size", "win_rate"]


@njit(cache=True, nogil=True, inline="always")
def _net(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], out: NDArray[np.float64]
) -> float:
    """Write the weight won less the weight lost to `out`; return the total weight."""
    out[:] = 0.0
    total = 0.0
    for t in range(len(winners)):
        out[winners[t]] += weights[t]
        out[losers[t]] -= weights[t]
        total += weights[t]
    return total


@declared(AGGREGATE)
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
    total = _net(winners, losers, weights, out)
    for i in range(m):
        out[i] /= total


@declared(AGGREGATE)
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
    _net(winners, losers, weights, out)
    for i in range(m):
        out[i] /= len(winners)


def played_size(m: int) -> int:
    """Return the length of the scratch memory of `win_rate` for m items."""
    return m


@declared(AGGREGATE)
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


@declared(AGGREGATE)
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

    The first judgment of a pair takes its total weights from the table.
    """
    for i in range(m):
        out[i] = 0.0
    add_up(winners, losers, weights, m, work)
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        forward, backward = take_entries(work, m, i, j)
        played = forward + backward
        if played == 0.0:
            continue
        lead = forward / played - 0.5
        out[i] += lead
        out[j] -= lead
    for i in range(m):
        out[i] /= m - 1
