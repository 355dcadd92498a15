"""Compiled passes over comparisons and pair counts."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["laplacian", "margins", "merge_comparisons", "scatter"]

Vector = types.float64[::1]
FrozenVector = types.Array(types.float64, 1, "C", readonly=True)
PairEnds = types.int32[::1]
FrozenRows = types.Array(types.int32, 1, "C", readonly=True)
Offsets = types.int64[::1]
FrozenOffsets = types.Array(types.int64, 1, "C", readonly=True)
Matrix = types.float64[:, ::1]


@declared(
    types.int64(FrozenOffsets, FrozenOffsets, FrozenRows, FrozenRows, FrozenVector, Offsets, PairEnds, PairEnds, Vector)
)
def merge_comparisons(
    items: NDArray[np.int64],
    offsets: NDArray[np.int64],
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    totals: NDArray[np.float64],
) -> int:
    """Merge equal (winner, loser) pairs of every query, in time and memory linear in both.

    Comparisons are bucketed by winner; within a bucket weights add up by loser.

    Parameters
    ----------
    items, offsets : ndarray of int64, shape (Q + 1,)
        Offsets of items and of comparisons.
    winners, losers, weights : ndarray, shape (n,)
    starts : ndarray of int64, shape (Q + 1,)
        Out: pairs of query q are ``starts[q]:starts[q + 1]``.
    tails, heads, totals : ndarray, shape (n,)
        Out: winner and loser as rows among *all* items, and the pair's weight.

    Returns
    -------
    int
        -1, or the first comparison whose items are not in its query.
    """
    largest = 0
    for q in range(items.shape[0] - 1):
        largest = max(largest, items[q + 1] - items[q])
    bucket = np.zeros(largest + 1, np.int64)
    order = np.zeros(weights.shape[0], np.int64)
    seen = np.zeros(largest, np.int64)  # 1 + the pair that collects this loser
    count = 0
    for q in range(items.shape[0] - 1):
        m = items[q + 1] - items[q]
        base = items[q]
        starts[q] = count
        bucket[: m + 1] = 0
        for e in range(offsets[q], offsets[q + 1]):
            if not (0 <= winners[e] < m and 0 <= losers[e] < m):
                return e
            bucket[winners[e] + 1] += 1
        for i in range(m):
            bucket[i + 1] += bucket[i]
        for e in range(offsets[q], offsets[q + 1]):
            order[offsets[q] + bucket[winners[e]]] = e
            bucket[winners[e]] += 1
        first = 0
        for i in range(m):
            opened = count
            for slot in range(first, bucket[i]):
                e = order[offsets[q] + slot]
                pair = seen[losers[e]] - 1
                if pair < 0:
                    pair = count
                    seen[losers[e]] = count + 1
                    tails[count] = base + i
                    heads[count] = base + losers[e]
                    totals[count] = 0.0
                    count += 1
                totals[pair] += weights[e]
            for pair in range(opened, count):
                seen[heads[pair] - base] = 0
            first = bucket[i]
    starts[items.shape[0] - 1] = count
    return -1


@declared(types.void(Vector, PairEnds, PairEnds, Vector))
def margins(
    alpha: NDArray[np.float64], tails: NDArray[np.int32], heads: NDArray[np.int32], out: NDArray[np.float64]
) -> None:
    """Write ``alpha[tail] - alpha[head]`` of every pair."""
    for e in range(tails.shape[0]):
        out[e] = alpha[tails[e]] - alpha[heads[e]]


@declared(types.void(Vector, PairEnds, PairEnds, Vector))
def scatter(
    values: NDArray[np.float64], tails: NDArray[np.int32], heads: NDArray[np.int32], out: NDArray[np.float64]
) -> None:
    """Add every pair's value to its tail and subtract it from its head."""
    for e in range(tails.shape[0]):
        out[tails[e]] += values[e]
        out[heads[e]] -= values[e]


@declared(types.void(Vector, PairEnds, PairEnds, types.int64, Matrix))
def laplacian(
    values: NDArray[np.float64], tails: NDArray[np.int32], heads: NDArray[np.int32], base: int, out: NDArray[np.float64]
) -> None:
    """Write the Laplacian of one query's pairs, items counted from row `base`, shape (m, m)."""
    out[:, :] = 0.0
    for e in range(tails.shape[0]):
        i, j = tails[e] - base, heads[e] - base
        out[i, i] += values[e]
        out[j, j] += values[e]
        out[i, j] -= values[e]
        out[j, i] -= values[e]
