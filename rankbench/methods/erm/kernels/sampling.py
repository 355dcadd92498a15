"""Draws from the U-statistic (18): a query, and a randomly ordered sample of its judgments.

Step t of a block's stream has a random state of its own, made from the block's seed and
t alone, and leaves nothing behind. So the first k judgments of step t are the same
whether somebody else wanted a longer sample or not: a contender's draws do not depend
on its neighbors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, below

__all__ = ["Judged", "draw_query", "sample_prefix", "step_state", "steps_by_query", "undo_prefix"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


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


@declared(types.uint64(types.uint64))
def _mix(z: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finalizer of splitmix64, a bijection)."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    mixed: np.uint64 = z ^ (z >> _S31)
    return mixed


@declared(types.void(STATE, types.int64, STATE))
def step_state(seed: NDArray[np.uint64], t: int, state: NDArray[np.uint64]) -> None:
    """Set `state`, shape (4,), to that of step t of the stream seeded by `seed`, shape (4,)."""
    key = seed[0] ^ _mix(seed[1] + np.uint64(t) * _GOLDEN)
    for i in range(4):
        state[i] = _mix(key + seed[2] + np.uint64(i + 1) * _GOLDEN)


@declared(types.int64(STATE, types.int64[::1]))
def draw_query(state: NDArray[np.uint64], offsets: NDArray[np.int64]) -> int:
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


@declared(types.int64[::1](types.int64[::1], STATE, types.int64, types.int64))
def steps_by_query(offsets: NDArray[np.int64], seed: NDArray[np.uint64], first: int, last: int) -> NDArray[np.int64]:
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


@declared(types.void(STATE, types.int64, types.int64, types.int32[::1], types.int32[::1]))
def sample_prefix(
    state: NDArray[np.uint64], n: int, k: int, index: NDArray[np.int32], swaps: NDArray[np.int32]
) -> None:
    """Put k of 0..n-1, drawn without replacement and in random order, into ``index[:k]``.

    `index` must hold 0, 1, 2, ... on entry; `undo_prefix` restores that.
    """
    for i in range(k):
        j = i + below(state, n - i)
        swaps[i] = j
        taken = index[j]
        index[j] = index[i]
        index[i] = taken


@declared(types.void(types.int64, types.int32[::1], types.int32[::1]))
def undo_prefix(k: int, index: NDArray[np.int32], swaps: NDArray[np.int32]) -> None:
    """Take the swaps of `sample_prefix` back, last first."""
    for i in range(k - 1, -1, -1):
        j = swaps[i]
        taken = index[j]
        index[j] = index[i]
        index[i] = taken
