"""Kernels compute Borda counts, win rates and mean log-odds.

Entry ``[i, j]`` of the m x m table is ``work[i * m + j]``. It is all zero between calls, and
kernels of O(k) keep it so by clearing each pair as they take it, not the whole table.

One pass over the judgments counts; a second one turns each pair into log-odds when it meets
the pair for the first time and takes its two counts away, which both marks the pair as done and
leaves the table clean.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rankbench.kernels.declared import Index, Rows, Vector, declared
from rankbench.kernels.signatures import AGGREGATE

_Words = Annotated[NDArray[np.uint32], types.uint32[::1]]


@njit(cache=True, nogil=True, inline="always")
def add_up(winners: Index, losers: Index, weights: Vector, m: int, work: Vector) -> float:
    """Add the weight of each judgment to entry [winner, loser] of the table; return the total."""
    total = 0.0
    for t in range(len(winners)):
        work[winners[t] * m + losers[t]] += weights[t]
        total += weights[t]
    return total


@njit(cache=True, nogil=True, inline="always")
def take_entries(work: Vector, m: int, i: int, j: int) -> tuple[float, float]:
    """Return entries [i, j] and [j, i] and set them to zero, for later visits of the pair."""
    forward, backward = work[i * m + j], work[j * m + i]
    # Without a branch: one that asks whether there is anything to clear is guessed wrong too often.
    work[i * m + j] = 0.0
    work[j * m + i] = 0.0
    return forward, backward


@njit(cache=True, nogil=True, inline="always")
def _net(winners: Index, losers: Index, weights: Vector, out: Vector) -> float:
    """Write the weight won less the weight lost to `out`; return the total weight."""
    out[:] = 0.0
    total = 0.0
    for t in range(len(winners)):
        out[winners[t]] += weights[t]
        out[losers[t]] -= weights[t]
        total += weights[t]
    return total


@declared(AGGREGATE)
def borda(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the weight won less the weight lost, over the total weight, to `out`."""
    total = _net(winners, losers, weights, out)
    for i in range(m):
        out[i] /= total


@declared(AGGREGATE)
def net_weights(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the weight won less the weight lost, over the number of judgments, to `out`."""
    _net(winners, losers, weights, out)
    for i in range(m):
        out[i] /= len(winners)


@declared(AGGREGATE)
def win_rate(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
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
def budgeted(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
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


_LOGS = 256
"""Counts below this take their logarithm from a table."""

_WON, _LOST = np.uint32(1), np.uint32(1 << 16)
"""Judgments of a pair that its smaller item won or lost, as the two halves of a word of 32 bits count them."""


def parameters(smoothing: float, *, joint: bool) -> NDArray[np.float64]:
    """Return ``[c, joint, log(0 + c), log(1 + c), ...]``."""
    logs = np.log(np.arange(_LOGS) + smoothing)
    return np.concatenate([[smoothing, float(joint)], logs])


@declared()
def _all_one(weights: Vector) -> bool:
    ones = True
    for t in range(len(weights)):
        ones &= weights[t] == 1.0
    return ones


@declared()
def _add_counted(winners: Index, losers: Index, m: int, c: float, logs: Vector, table: _Words, out: Vector) -> None:
    """Add the log-odds of pairs whose judgments all have weight 1: a word a pair, a quarter of the memory."""
    n = np.uint64(m)
    for t in range(np.uint64(len(winners))):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        table[min(i, j) * n + max(i, j)] += _WON if i < j else _LOST
    for t in range(np.uint64(len(winners))):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        low, high = min(i, j), max(i, j)
        counts = table[low * n + high]
        table[low * n + high] = 0
        won, lost = np.uint64(counts & np.uint32(0xFFFF)), np.uint64(counts >> np.uint32(16))
        if max(won, lost) < _LOGS:
            # Of a pair that is done, two zeros: no branch asks for it.
            log_odds = logs[won] - logs[lost]
        elif i < j:
            log_odds = math.log((float(won) + c) / (float(lost) + c))
        else:
            log_odds = -math.log((float(lost) + c) / (float(won) + c))
        out[low] += log_odds
        out[high] -= log_odds


@declared()
def _add_weighed(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Add the log-odds of pairs."""
    total = add_up(winners, losers, weights, m, work)
    c = params[0]
    logs = params[2:]
    tabulated = params[1] == 0.0
    if not tabulated:
        # log((w/W + c) / (v/W + c)) = log((w + c W) / (v + c W)).
        c *= total
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        forward, backward = take_entries(work, m, i, j)
        log_odds = 0.0
        if tabulated and forward < len(logs) and backward < len(logs):
            won, lost = int(forward), int(backward)
            if forward == won and backward == lost:
                # Of a pair that is done, two zeros: no branch asks for it.
                log_odds = logs[won] - logs[lost]
            else:
                log_odds = math.log((forward + c) / (backward + c))
        elif forward != 0.0 or backward != 0.0:
            log_odds = math.log((forward + c) / (backward + c))
        out[i] += log_odds
        out[j] -= log_odds


@declared(AGGREGATE)
def mean_log_odds(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the mean log-odds of the m items to `out`."""
    for i in range(m):
        out[i] = 0.0
    if params[1] == 0.0 and len(weights) < _LOST and _all_one(weights):
        _add_counted(winners, losers, m, params[0], params[2:], work.view(np.uint32), out)
    else:
        _add_weighed(winners, losers, weights, m, params, work, out)
    for i in range(m):
        out[i] /= m - 1


@declared()
def on_scale(scores: Vector, component: Rows, log: bool) -> None:
    """Turn logarithms known up to a constant a component into scores, in place.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
        On entry logarithms; on return ratios with mean 1, or logarithms with mean 0, on every
        component.
    component : ndarray of int64, shape (m,)
        A label in ``[0, m)`` for each item.
    log : bool
        Whether to return logarithms.
    """
    m = len(scores)
    size, total = np.zeros(m), np.zeros(m)
    if not log:
        highest = np.full(m, -np.inf)
        for i in range(m):
            highest[component[i]] = max(highest[component[i]], scores[i])
        for i in range(m):
            scores[i] = math.exp(scores[i] - highest[component[i]])
    for i in range(m):
        size[component[i]] += 1.0
        total[component[i]] += scores[i]
    for i in range(m):
        mean = total[component[i]] / size[component[i]]
        scores[i] = scores[i] - mean if log else scores[i] / mean
