"""Kernels turn samples of judgments into structures and targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rankbench.kernels.declared import Index, Matrix, Rows, Vector, declared
from rankbench.kernels.random import SeedState
from rankbench.methods.erm.kernels.memory import fetch_ahead, uncounted
from rankbench.methods.erm.kernels.sampling import (
    Judged,
    draw_query,
    sample_prefix,
    step_state,
    steps_by_query,
    undo_prefix,
)

_S16, _LOSER = np.uint32(16), np.uint32(0xFFFF)

ROUNDING = 1e-10
"""Share of one judgment's effect below which scores are taken for rounding."""


class TargetTable(NamedTuple):
    """Structures and targets that the contenders of a block share.

    S structures (aggregator, k) in increasing k, P targets (structure, surrogate).

    Attributes
    ----------
    aggregates : typed list of AGGREGATE functions, one a structure
    orders : ndarray of int64, shape (S,)
        k; a number above every n_q stands for infinity.
    aggregate_params : ndarray of float64, with bounds of shape (S + 1,)
    makers : typed list of TARGET functions, one a target
    structures : ndarray of int64, shape (P,)
        Structure of each target.
    maker_params : ndarray of float64, with bounds of shape (P + 1,)
    floors : ndarray of float64, shape (S, Q)
        `ROUNDING` of the largest score that the query's heaviest judgment gives alone. Scores
        of a structure that are all no larger than this, nor than the same of the *sample's*
        heaviest judgment, are rounding, and become 0.
    complete : ndarray of float64, shape (P, N)
        Targets from all judgments of each query: what order k means where n_q <= k.
    """

    aggregates: Any
    aggregate_params: Any
    aggregate_bounds: Any
    orders: Any
    makers: Any
    maker_params: Any
    maker_bounds: Any
    structures: Any
    floors: Any
    complete: Any


class Scratch(NamedTuple):
    """Memory that a pass over the stream reuses from step to step.

    Attributes
    ----------
    state : ndarray of uint64, shape (4,)
    index, swaps : ndarray of int32, shape (max n_q,)
        `index` holds 0, 1, 2, ... between steps.
    winners, losers : ndarray of int32, shape (max n_q,)
        The sample in its random order.
    weights : ndarray of float64, shape (max n_q,)
        Its weights; set once and for all where all are equal.
    counts : ndarray of float64, shape (max m_q,)
        Zeros between calls.
    scores : ndarray of float64, shape (max m_q,)
    aggregate_work, maker_work : ndarray of float64
        Zeros between calls.
    targets : ndarray of float64, shape (P, max m_q)
    """

    state: Any
    index: Any
    swaps: Any
    winners: Any
    losers: Any
    weights: Any
    counts: Any
    scores: Any
    aggregate_work: Any
    maker_work: Any
    targets: Any


class Sums(NamedTuple):
    """Sums along the stream, in two halves that a query's draws go to in turn.

    Attributes
    ----------
    targets : ndarray of float64, shape (2, P, N)
    draws : ndarray of int64, shape (2, Q)
    orders : ndarray of int64, shape (K,)
        The finite orders, increasing.
    wins, losses : ndarray of float64, shape (2, K, N)
        Weight that an item won or lost in the first k judgments of a sample: control
        variates for the targets, whose means are known. Every order adds up its own
        judgments: rounding would tell whose orders the parts of a shared sum were cut at.
    """

    targets: Any
    draws: Any
    orders: Any
    wins: Any
    losses: Any


@njit(cache=True, nogil=True, inline="always")
def draw_sample(judged: Judged, seed: SeedState, t: int, longest: Rows, scratch: Scratch, query: int) -> int:
    """Draw step t: return its query, and write the first `longest`, (Q,), judgments of its sample to scratch.

    `query` >= 0 fixes the query instead of drawing it.
    """
    step_state(seed, t, scratch.state)
    q = query if query >= 0 else draw_query(scratch.state, judged.offsets)
    first = judged.offsets[q]
    n_q = judged.offsets[q + 1] - first
    k = longest[q]
    sample_prefix(scratch.state, n_q, k, scratch.index, scratch.swaps)
    for i in range(np.uint64(k)):
        pair = judged.pairs[np.uint64(first) + np.uint64(scratch.index[i])]
        scratch.winners[i] = pair >> _S16
        scratch.losers[i] = pair & _LOSER
    if not judged.equal:
        for i in range(k):
            scratch.weights[i] = judged.weights[first + scratch.index[i]]
    undo_prefix(k, scratch.index, scratch.swaps)
    return int(q)


@njit(cache=True, nogil=True, inline="always")
def _take_all(judged: Judged, q: int, scratch: Scratch) -> int:
    """Put all judgments of query q into scratch, in their order; return n_q."""
    first = judged.offsets[q]
    n_q = judged.offsets[q + 1] - first
    for i in range(n_q):
        pair = np.int64(judged.pairs[first + i])
        scratch.winners[i] = pair >> 16
        scratch.losers[i] = pair & 65535
        if not judged.equal:
            scratch.weights[i] = judged.weights[first + i]
    return int(n_q)


@declared()
def largest_within(scores: Vector, floor: float) -> float:
    """Return the largest absolute score if it is above 0 and at most `floor`; else 0."""
    largest = 0.0
    for score in scores:
        if not abs(score) <= floor:
            return 0.0
        largest = max(largest, abs(score))
    return largest


@njit(cache=True, nogil=True, inline="always")
def _aggregate(table: TargetTable, s: int, k: int, m: int, scratch: Scratch) -> None:
    """Write structure s of the first k judgments in scratch to ``scratch.scores``."""
    table.aggregates[s](
        scratch.winners[:k],
        scratch.losers[:k],
        scratch.weights[:k],
        m,
        table.aggregate_params[table.aggregate_bounds[s] : table.aggregate_bounds[s + 1]],
        scratch.aggregate_work,
        scratch.scores[:m],
    )


@njit(cache=True, nogil=True)
def _floor(table: TargetTable, s: int, m: int, heaviest: float, scratch: Scratch) -> float:
    """Return `ROUNDING` of the largest score that a judgment of this weight gives alone; it overwrites the scores."""
    winner, loser, weight = scratch.winners[0], scratch.losers[0], scratch.weights[0]
    scratch.winners[0], scratch.losers[0], scratch.weights[0] = 0, 1, heaviest
    _aggregate(table, s, 1, m, scratch)
    scratch.winners[0], scratch.losers[0], scratch.weights[0] = winner, loser, weight
    largest = np.abs(scratch.scores[:m]).max()
    return ROUNDING * largest if np.isfinite(largest) else 0.0


@njit(cache=True, nogil=True)
def _settle(table: TargetTable, s: int, k: int, m: int, largest: float, scratch: Scratch) -> None:
    """Make scores zero that are rounding for the sample too: it may hold none of the query's heavy judgments."""
    if largest <= _floor(table, s, m, scratch.weights[:k].max(), scratch):
        scratch.scores[:m] = 0.0
    else:
        _aggregate(table, s, k, m, scratch)


@njit(cache=True, nogil=True, inline="always")
def _make(table: TargetTable, p: int, made: int, k: int, q: int, m: int, scratch: Scratch, out: Vector) -> int:
    """Write target p of the first k judgments of query q in scratch; return its structure, unless `made` already."""
    s = table.structures[p]
    if s != made:
        _aggregate(table, s, k, m, scratch)
        largest = largest_within(scratch.scores[:m], table.floors[s, q])
        if largest > 0:
            _settle(table, s, k, m, largest, scratch)
    table.makers[p](
        scratch.scores[:m],
        table.maker_params[table.maker_bounds[p] : table.maker_bounds[p + 1]],
        scratch.maker_work,
        out,
    )
    return int(s)


@njit(cache=True, nogil=True, inline="always")
def fill_targets(judged: Judged, table: TargetTable, q: int, scratch: Scratch, x: Matrix) -> None:
    """Write the targets of query q into ``scratch.targets`` from the sample in scratch.

    The query's rows of x, if there are any, are wanted next: they are fetched from memory meanwhile.
    """
    low, high = judged.items[q], judged.items[q + 1]
    m = high - low
    n_q = judged.offsets[q + 1] - judged.offsets[q]
    made = -1
    d, parts = x.shape[1], table.structures.shape[0]
    for p in range(parts):
        if x.shape[0]:
            fetch_ahead(x, low * d + m * d * p // parts, low * d + m * d * (p + 1) // parts)
        k = table.orders[table.structures[p]]
        if k >= n_q:
            for i in range(m):
                scratch.targets[p, i] = table.complete[p, low + i]
            continue
        made = _make(table, p, made, k, q, m, scratch, scratch.targets[p][:m])


@njit(cache=True, nogil=True)
def _set_floors(judged: Judged, table: TargetTable, q: int, scratch: Scratch) -> None:
    """Set the floors of query q's structures; see `TargetTable`."""
    first, last = judged.offsets[q], judged.offsets[q + 1]
    m = judged.items[q + 1] - judged.items[q]
    heaviest = judged.weights[first:last].max()
    for s in range(table.orders.shape[0]):
        table.floors[s, q] = _floor(table, s, m, heaviest, scratch)


@njit(cache=True, nogil=True)
def complete_targets(judged: Judged, table: TargetTable, scratch: Scratch) -> None:
    """Fill ``table.floors`` and ``table.complete``: every target from all judgments of each query, order infinity."""
    judged, table, scratch = uncounted(judged), uncounted(table), uncounted(scratch)
    for q in range(judged.items.shape[0] - 1):
        if judged.offsets[q] == judged.offsets[q + 1]:
            continue
        _set_floors(judged, table, q, scratch)
        low, high = judged.items[q], judged.items[q + 1]
        n_q = _take_all(judged, q, scratch)
        made = -1
        for p in range(table.structures.shape[0]):
            made = _make(table, p, made, n_q, q, high - low, scratch, table.complete[p][low:high])


@njit(cache=True, nogil=True)
def single_targets(judged: Judged, table: TargetTable, scratch: Scratch, out: Vector) -> None:
    """Add the targets of every single judgment, over n_q, to the rows of `out`, shape (P, N), that have order 1."""
    judged, table, scratch = uncounted(judged), uncounted(table), uncounted(scratch)
    for q in range(judged.items.shape[0] - 1):
        low, high = judged.items[q], judged.items[q + 1]
        first, last = judged.offsets[q], judged.offsets[q + 1]
        for t in range(first, last):
            pair = np.int64(judged.pairs[t])
            scratch.winners[0] = pair >> 16
            scratch.losers[0] = pair & 65535
            if not judged.equal:
                scratch.weights[0] = judged.weights[t]
            made = -1
            for p in range(table.structures.shape[0]):
                s = table.structures[p]
                if table.orders[s] != 1:
                    continue
                made = _make(table, p, made, 1, q, high - low, scratch, scratch.targets[p][: high - low])
                for i in range(high - low):
                    out[p, low + i] += scratch.targets[p, i]
        for p in range(out.shape[0]):
            for i in range(low, high):
                out[p, i] /= max(last - first, 1)


@njit(cache=True, nogil=True, inline="always")
def add_targets(judged: Judged, q: int, scratch: Scratch, sums: Sums) -> None:
    """Add the targets and the wins and losses of one draw of query q to the sums."""
    half = (sums.draws[0, q] + sums.draws[1, q]) % 2
    sums.draws[half, q] += 1
    low, high = judged.items[q], judged.items[q + 1]
    n_q = judged.offsets[q + 1] - judged.offsets[q]
    for p in range(sums.targets.shape[1]):
        total, target = sums.targets[half, p, low:high], scratch.targets[p]
        for i in range(total.shape[0]):
            total[i] += target[i]
    orders = 0
    while orders < sums.orders.shape[0] and sums.orders[orders] < n_q:
        orders += 1
    if judged.equal and judged.weights[0] == 1.0:
        _add_counts(sums.orders[:orders], sums.wins[half], scratch.winners, scratch.counts, low, high)
        _add_counts(sums.orders[:orders], sums.losses[half], scratch.losers, scratch.counts, low, high)
        return
    for o in range(orders):
        wins, losses = sums.wins[half, o], sums.losses[half, o]
        for t in range(sums.orders[o]):
            wins[low + scratch.winners[t]] += scratch.weights[t]
            losses[low + scratch.losers[t]] += scratch.weights[t]


@njit(cache=True, nogil=True, inline="always")
def fetch_sums(judged: Judged, q: int, sums: Sums) -> None:
    """Prefetch the sums of query q, which its next draw is added to."""
    half = (sums.draws[0, q] + sums.draws[1, q]) % 2
    low, high = judged.items[q], judged.items[q + 1]
    for p in range(sums.targets.shape[1]):
        fetch_ahead(sums.targets[half, p], low, high)
    for o in range(sums.orders.shape[0]):
        fetch_ahead(sums.wins[half, o], low, high)
        fetch_ahead(sums.losses[half, o], low, high)


@njit(cache=True, nogil=True)
def _add_counts(orders: Rows, sums: Matrix, side: Index, counts: Vector, low: int, high: int) -> None:
    """Add one side of judgments of weight 1: sums of whole numbers are exact, so that orders may share them."""
    begin = np.uint64(0)
    counts = counts[: high - low]
    for o in range(orders.shape[0]):
        end = np.uint64(orders[o])
        for t in range(begin, end):
            counts[np.uint64(side[t])] += 1.0
        begin = end
        total = sums[o, low:high]
        for i in range(total.shape[0]):
            total[i] += counts[i]
    for i in range(counts.shape[0]):
        counts[i] = 0.0


@njit(cache=True, nogil=True)
def accumulate(
    judged: Judged, table: TargetTable, seed: SeedState, steps: int, longest: Rows, scratch: Scratch, sums: Sums
) -> None:
    """Add up the targets of steps 1..T when no contender moves along: query by query.

    The steps of a query keep their order, so that its sums are the same bytes as those of
    a pass in the order of the stream, but its data stay in cache.
    """
    judged, table, scratch, sums = uncounted(judged), uncounted(table), uncounted(scratch), uncounted(sums)
    for t in steps_by_query(judged.offsets, seed, 1, steps):
        q = draw_sample(judged, seed, t, longest, scratch, -1)
        fill_targets(judged, table, q, scratch, sums.wins[0, :0])
        add_targets(judged, q, scratch, sums)


@njit(cache=True, nogil=True)
def top_up(
    judged: Judged, table: TargetTable, seed: SeedState, fewest: int, longest: Rows, scratch: Scratch, sums: Sums
) -> None:
    """Draw every judged query that has fewer than `fewest` draws until it has as many.

    The extra draws have negative step numbers, so that they repeat none of the stream's.
    """
    judged, table, scratch, sums = uncounted(judged), uncounted(table), uncounted(scratch), uncounted(sums)
    for q in range(judged.items.shape[0] - 1):
        if judged.offsets[q + 1] == judged.offsets[q]:
            continue
        missing = fewest - sums.draws[0, q] - sums.draws[1, q]
        for r in range(missing):
            draw_sample(judged, seed, -(q * fewest + r + 1), longest, scratch, q)
            fill_targets(judged, table, q, scratch, sums.wins[0, :0])
            add_targets(judged, q, scratch, sums)
