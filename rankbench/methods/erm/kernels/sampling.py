"""Kernels draw judgments for the U-statistic (18) and fill columns of contenders.

Step t of a block's stream has a random state of its own, made from the block's seed and
t alone, and leaves nothing behind. So the first k judgments of step t are the same
whether another contender needs a longer sample or not: a contender's draws do not depend
on its neighbors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Flags, Index, Rows, Vector, declared
from rankbench.kernels.random import SeedState, below, bits_and_next

settle_runtime()


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_LOW, _TWO32 = np.uint64(0xFFFFFFFF), np.uint64(1 << 32)


class Judged(NamedTuple):
    """Queries with their judgments, as the kernels see them.

    Attributes
    ----------
    items : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``items[q]:items[q + 1]``.
    offsets : ndarray of int64, shape (Q + 1,)
        Judgments of query q are ``offsets[q]:offsets[q + 1]``.
    pairs : ndarray of uint32, shape (n,)
        ``65536 winner + loser``: a sample hops about in memory, so its data are small.
    weights : ndarray of float64, shape (n,)
    equal : bool
        Whether all weights are the same; they are not read then.
    """

    items: Any
    offsets: Any
    pairs: Any
    weights: Any
    equal: Any


@declared()
def _mix(z: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finalizer of splitmix64, a bijection)."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@declared()
def step_state(seed: SeedState, t: int, state: SeedState) -> None:
    """Set `state`, shape (4,), to that of step t of the stream seeded by `seed`, shape (4,)."""
    key = seed[0] ^ _mix(seed[1] + np.uint64(t) * _GOLDEN)
    for i in range(4):
        state[i] = _mix(key + seed[2] + np.uint64(i + 1) * _GOLDEN)


@declared()
def draw_query(state: SeedState, offsets: Rows) -> int:
    """Return a query with probability n_q / n, the weights of (19)."""
    chosen = below(state, offsets[-1])
    low, high = 0, offsets.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if offsets[middle] <= chosen:
            low = middle
        else:
            high = middle
    return low


@declared()
def steps_by_query(offsets: Rows, seed: SeedState, first: int, last: int) -> Rows:
    """Return the steps `first` to `last`, ordered by the query they draw, then by step.

    For passes in which no step depends on the one before: the data of a query stay in
    cache, and sums over a query's steps are added in the same order as otherwise.
    """
    steps, queries = last - first + 1, offsets.shape[0] - 1
    state = np.zeros(4, dtype=np.uint64)
    drawn = np.empty(steps, dtype=np.int64)
    starts = np.zeros(queries + 1, dtype=np.int64)
    for i in range(steps):
        step_state(seed, first + i, state)
        drawn[i] = draw_query(state, offsets)
        starts[drawn[i] + 1] += 1
    for q in range(queries):
        starts[q + 1] += starts[q]
    order = np.empty(steps, dtype=np.int64)
    for i in range(steps):
        order[starts[drawn[i]]] = first + i
        starts[drawn[i]] += 1
    return order


@declared()
def sample_prefix(state: SeedState, n: int, k: int, index: Index, swaps: Index) -> None:
    """Put k of 0..n-1, drawn without replacement and in random order, into ``index[:k]``.

    Place i changes with i plus what `rankbench.kernels.random.below` draws from n - i, written out so that the state
    stays in registers. `index` must hold 0, 1, 2, ... on entry; `undo_prefix` restores that.
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(np.uint64(k)):
        left = np.uint64(n) - i
        bits, s0, s1, s2, s3 = bits_and_next(s0, s1, s2, s3)
        product = (bits >> _S32) * left
        if product & _LOW < left:
            surplus = _TWO32 % left
            while product & _LOW < surplus:
                bits, s0, s1, s2, s3 = bits_and_next(s0, s1, s2, s3)
                product = (bits >> _S32) * left
        j = i + (product >> _S32)
        swaps[i] = j
        taken = index[j]
        index[j] = index[i]
        index[i] = taken
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@declared()
def undo_prefix(k: int, index: Index, swaps: Index) -> None:
    """Restore 0, 1, 2, ... after the swaps of `sample_prefix`."""
    for i in range(np.uint64(k)):
        index[i] = i
        index[np.uint64(swaps[i])] = swaps[i]


TILE = 16
"""Contenders in one matrix product."""

WINDOW = 100
"""Sampled losses in the paper's moving average (figure 2)."""


class ContenderColumns(NamedTuple):
    """The contenders: C rows of theta, first the padded tiles, then those with edges.

    Attributes
    ----------
    tiled : int
        Rows with score surrogates, a multiple of sixteen; the others have edges.
    active : ndarray of bool, shape (C,)
        False for padding.
    targets : ndarray of int64, shape (tiled,)
        Row of the target table.
    gradients : typed list of GRADIENT functions, one a tiled row
    gradient_params : ndarray of float64, with bounds of shape (tiled + 1,)
    edges : typed list of EDGES functions, one a group of rows that share edges and phi
    orders : ndarray of int64, shape (groups,)
        k of the group's edges.
    edge_params : ndarray of float64, with bounds of shape (groups + 1,)
    weighed : ndarray of bool, shape (groups,)
        Whether the weights of a group's edges are not taken as they are.
    weighs : typed list of WEIGH functions, one a group
    weigh_params : ndarray of float64, with bounds of shape (groups + 1,)
    phis, dphis : typed lists of PHI functions, one a group
    phi_params : ndarray of float64, with bounds of shape (groups + 1,)
    groups : ndarray of int64, shape (groups + 1,)
        Rows of a group are ``groups[g]:groups[g + 1]``.
    steps : typed list of STEP functions, one a run of rows with the same function
    runs : ndarray of int64, shape (runs, 2)
        First row and end of each run.
    step_params : ndarray of float64, shape (C, p)
    l2, l1 : ndarray of float64, shape (C,)
        Weights of the penalties.
    """

    tiled: Any
    active: Any
    targets: Any
    gradients: Any
    gradient_params: Any
    gradient_bounds: Any
    edges: Any
    edge_params: Any
    edge_bounds: Any
    orders: Any
    weighed: Any
    weighs: Any
    weigh_params: Any
    weigh_bounds: Any
    phis: Any
    phi_params: Any
    phi_bounds: Any
    dphis: Any
    groups: Any
    steps: Any
    runs: Any
    step_params: Any
    l2: Any
    l1: Any


class ContenderPath(NamedTuple):
    """The contenders' iterates, now and at the recorded steps.

    Attributes
    ----------
    theta, total, gradient : ndarray of float64, shape (C, d)
        Current iterate, sum of the iterates that are averaged, sampled gradient.
    unaveraged : ndarray of int64, shape (C,)
        Steps whose iterates are left out of the average.
    state : ndarray of float64, shape (C, s)
        Memory of the optimizers.
    window : ndarray of float64, shape (100, C)
        Last sampled losses.
    record : ndarray of int64, shape (P,)
        Steps after which to record, increasing.
    estimates : ndarray of float64, shape (C, P)
        Moving average of the sampled losses plus the penalty, the paper's estimator.
    last, averaged : ndarray of float64, shape (P, C, d)
        Before there is anything to average, the last iterate stands for it.
    alpha : ndarray of float64, shape (tiled * max m_q,)
        Scores by all iterates of score surrogates.
    residual : ndarray of float64, shape (16 * max m_q,)
        Gradients in the scores of one tile.
    tails, heads : ndarray of int32, shape (longest,)
    edge_weights, edge_offsets : ndarray of float64, shape (longest,)
    edge_work : ndarray of float64
    margins, slopes : ndarray of float64, shape (longest * C,)
    difference : ndarray of float64, shape (d,)
    turned : ndarray of float64, shape (d, 16)
        Iterates of a tile, transposed.
    by_item : ndarray of float64, shape (max m_q, 16)
        Scores of a tile, transposed.
    watched : bool
        Whether any contender needs the values of pairwise surrogates.
    """

    theta: Any
    total: Any
    gradient: Any
    unaveraged: Any
    state: Any
    window: Any
    record: Any
    estimates: Any
    last: Any
    averaged: Any
    alpha: Any
    residual: Any
    tails: Any
    heads: Any
    edge_weights: Any
    edge_offsets: Any
    edge_work: Any
    margins: Any
    slopes: Any
    difference: Any
    turned: Any
    by_item: Any
    watched: Any


settle_runtime()


NEGLIGIBLE = 1e-18
"""Probability, relative to the likeliest number of wins, from which on the others do not count."""


@declared()
def smoothed(wins: float, votes: float, c: float) -> float:
    """Return ``log((P + c) / (1 - P + c))`` of the share P = wins / votes ([DMJ13]_ section 5.1)."""
    share = wins / votes
    return math.log((share + c) / (1.0 - share + c))


@declared()
def subset_moments(won: Flags, starts: Rows, k: int, c: float, mean: Vector, square: Vector) -> None:
    """Average over all k-subsets (18): over the hypergeometric number of wins, exactly.

    From the likeliest number outwards by the ratio of neighboring probabilities,
    normalized in the end: no factorials. Where there are at most k votes, the one term of
    all of them; 0 where there are none.

    Parameters
    ----------
    won : ndarray of bool, shape (n,)
        Votes of all pairs, one pair after the other.
    starts : ndarray of int64, shape (P + 1,)
        Votes of pair p are ``starts[p]:starts[p + 1]``.
    k : int
    c : float
        Smoothing.
    mean, square : ndarray of float64, shape (P,)
        Written to.
    """
    for p in range(len(starts) - 1):
        votes = starts[p + 1] - starts[p]
        wins = 0
        for t in range(starts[p], starts[p + 1]):
            wins += won[t]
        if votes <= k:
            s = smoothed(float(wins), float(votes), c) if votes > 0 else 0.0
            mean[p], square[p] = s, s * s
            continue
        low, high = max(0, k - (votes - wins)), min(k, wins)
        mode = min(max(((k + 1) * (wins + 1)) // (votes + 2), low), high)
        total, first, second = 0.0, 0.0, 0.0
        weight, w = 1.0, mode
        while w >= low and weight > NEGLIGIBLE:
            s = smoothed(float(w), float(k), c)
            total += weight
            first += weight * s
            second += weight * s * s
            weight *= float(w) * float(votes - wins - k + w) / (float(wins - w + 1) * float(k - w + 1))
            w -= 1
        weight, w = 1.0, mode
        while w < high:
            weight *= float(wins - w) * float(k - w) / (float(w + 1) * float(votes - wins - k + w + 1))
            w += 1
            if weight <= NEGLIGIBLE:
                break
            s = smoothed(float(w), float(k), c)
            total += weight
            first += weight * s
            second += weight * s * s
        mean[p], square[p] = first / total, second / total


@declared()
def batch_moments(won: Flags, starts: Rows, k: int, c: float, mean: Vector, square: Vector) -> None:
    """Average over ceil(votes / k) batches of k votes in their order; the last batch may be smaller.

    Parameters as for `subset_moments`.
    """
    for p in range(len(starts) - 1):
        first, second, batches = 0.0, 0.0, 0
        begin = starts[p]
        while begin < starts[p + 1]:
            end = min(begin + k, starts[p + 1])
            wins = 0
            for t in range(begin, end):
                wins += won[t]
            s = smoothed(float(wins), float(end - begin), c)
            first += s
            second += s * s
            batches += 1
            begin = end
        mean[p] = first / batches if batches else 0.0
        square[p] = second / batches if batches else 0.0
