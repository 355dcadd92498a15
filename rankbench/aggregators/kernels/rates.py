"""Kernels compute Borda counts, win rates and mean log-odds, and rates of clicks.

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

from rankbench.kernels.declared import Flags, Index, Rows, Vector, declared
from rankbench.kernels.signatures import AGGREGATE, SELECT

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


@declared()
def ratios(clicks: Vector, exposure: Vector, item_offsets: Rows, smoothing: float) -> None:
    """Replace clicks of each item by their ratio to its exposure, (N,), smoothed towards the ratio of its whole query.

    That of a query without exposure is the ratio of all queries.
    """
    n = item_offsets[-1]
    all_clicks, all_exposure = 0.0, 0.0
    for item in range(n):
        all_clicks += clicks[item]
        all_exposure += exposure[item]
    overall = all_clicks / all_exposure if all_exposure > 0.0 else 0.0
    for q in range(len(item_offsets) - 1):
        hits, seen = 0.0, 0.0
        for item in range(item_offsets[q], item_offsets[q + 1]):
            hits += clicks[item]
            seen += exposure[item]
        average = hits / seen if seen > 0.0 else overall
        for item in range(item_offsets[q], item_offsets[q + 1]):
            weight = exposure[item] + smoothing
            clicks[item] = (clicks[item] + smoothing * average) / weight if weight > 0.0 else average


@declared(SELECT)
def click_rate(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
) -> None:
    """Write clicks over showings, then ones; `params` are smoothing, and whether a list ends with its first click."""
    out[:] = 0.0
    n = item_offsets[-1]
    shown = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                shown[first + items[row]] += 1.0
                if clicked[row]:
                    out[first + items[row]] += 1.0
                    if params[1] != 0.0:
                        break
    ratios(out[:n], shown, item_offsets, params[0])
    out[n:] = 1.0


@declared(SELECT)
def coec(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
) -> None:
    """Write clicks over expected clicks, then the click rates of the positions."""
    out[:] = 0.0
    n = item_offsets[-1]
    reached = np.zeros(len(out) - n)
    for s in range(len(starts) - 1):
        for row in range(starts[s], starts[s + 1]):
            reached[row - starts[s]] += 1.0
            if clicked[row]:
                out[n + row - starts[s]] += 1.0
    for position in range(len(reached)):
        out[n + position] /= max(reached[position], 1.0)
    expected = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                expected[first + items[row]] += out[n + row - starts[s]]
                if clicked[row]:
                    out[first + items[row]] += 1.0
    ratios(out[:n], expected, item_offsets, params[0])


_TINY = 1e-12


@declared(SELECT)
def position_debiased(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
) -> None:
    """Write attractiveness, then examination; `params` are smoothing, steps at most and tolerance.

    Selections are counted by item and position once; a step then costs the size of the table.
    """
    smoothing, steps, tolerance = params[0], int(params[1]), params[2]
    n = item_offsets[-1]
    longest = len(out) - n
    shows = np.zeros((n, longest))
    clicks = np.zeros((n, longest))
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                shows[first + items[row], row - starts[s]] += 1.0
                if clicked[row]:
                    clicks[first + items[row], row - starts[s]] += 1.0
    reached, hits = np.zeros(longest), np.zeros(longest)
    shown, a, expected = np.zeros(n), np.zeros(n), np.zeros(n)
    for item in range(n):
        for j in range(longest):
            reached[j] += shows[item, j]
            hits[j] += clicks[item, j]
            shown[item] += shows[item, j]
            a[item] += clicks[item, j]
    e = hits / np.maximum(reached, 1.0)
    top = e.max()
    if top == 0.0:
        out[:n] = 0.0
        out[n:] = 1.0
        return
    e /= top
    for item in range(n):
        for j in range(longest):
            expected[item] += shows[item, j] * e[j]
    ratios(a, expected, item_offsets, smoothing)
    for item in range(n):
        a[item] = min(a[item], 1.0)
    new_a, new_e = np.zeros(n), np.zeros(longest)
    for _ in range(steps):
        new_a[:] = 0.0
        new_e[:] = 0.0
        for item in range(n):
            if shown[item] == 0.0:
                continue
            for j in range(longest):
                both = clicks[item, j]
                skipped = (shows[item, j] - both) / max(1.0 - a[item] * e[j], _TINY)
                new_a[item] += both + skipped * a[item] * (1.0 - e[j])
                new_e[j] += both + skipped * (1.0 - a[item]) * e[j]
        moved = 0.0
        for j in range(longest):
            found = new_e[j] / reached[j] if reached[j] > 0.0 else 0.0
            moved = max(moved, abs(found - e[j]))
            e[j] = found
        ratios(new_a, shown, item_offsets, smoothing)
        for item in range(n):
            moved = max(moved, abs(new_a[item] - a[item]))
            a[item] = new_a[item]
        if moved <= tolerance:
            break
    top = e.max()
    out[:n] = a * top
    out[n:] = e / top
