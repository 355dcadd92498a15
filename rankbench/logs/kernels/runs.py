"""Kernels count judgments in sorted runs of observed pairs, for many items.

A run is a sparse upper triangle: the pairs {i, high[e]}, i < high[e], are ``e = starts[i] ..
starts[i + 1] - 1``, sorted, each once, with a row of cells: what i won, what high[e] won,
what was tied.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import Bytes, Index, Matrix, ReadIndex, ReadVector, Rows, Vector, declared

Keys = Annotated[NDArray[np.uint64], types.uint64[::1]]

_32, _2 = np.uint64(32), np.uint64(2)
_LOW_WORD, _CODE = np.uint64(0xFFFFFFFF), np.uint64(3)


@declared()
def pack_judgments(winners: ReadIndex, losers: ReadIndex, ties: Bytes, weights: ReadVector, m: int, keys: Keys) -> int:
    """Write each judgment as ``low 2^32 + high 4 + cell``; return the first bad row, or -1.

    `ties` and `weights` are empty where there are none; m < 2^30.
    """
    size = np.uint64(m)
    tied, weighted = len(ties) > 0, len(weights) > 0
    for t in range(len(winners)):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j:
            return t
        if weighted and not 0.0 < weights[t] < np.inf:
            return t
        cell = np.uint64(i > j)
        if tied and ties[t]:
            cell = _2
        keys[t] = (min(i, j) << _32) | (max(i, j) << _2) | cell
    return -1


@declared()
def _scatter(keys: Keys, weights: ReadVector, m: int, by_low: bool, to_keys: Keys, to_weights: Vector) -> None:
    """Sort by one of a pair's two items, keeping the order of equals."""
    place = np.zeros(m + 1, dtype=np.int64)
    for t in range(len(keys)):
        item = keys[t] >> _32 if by_low else (keys[t] & _LOW_WORD) >> _2
        place[np.int64(item) + 1] += 1
    for i in range(m):
        place[i + 1] += place[i]
    for t in range(len(keys)):
        item = np.int64(keys[t] >> _32 if by_low else (keys[t] & _LOW_WORD) >> _2)
        at = place[item]
        place[item] = at + 1
        to_keys[at] = keys[t]
        if len(weights):
            to_weights[at] = weights[t]


@declared()
def sort_pairs(keys: Keys, weights: Vector, m: int, spare_keys: Keys, spare_weights: Vector, starts: Rows) -> int:
    """Sort packed judgments by pair in O(n + m), in place, equals in their order.

    Returns
    -------
    int
        Number of different pairs; ``starts``, shape (m + 1,), zero on entry, has their rows.
    """
    _scatter(keys, weights, m, False, spare_keys, spare_weights)
    _scatter(spare_keys, spare_weights, m, True, keys, weights)
    pairs = 0
    last = np.uint64(0)
    for t in range(len(keys)):
        pair = keys[t] >> _2
        if t == 0 or pair != last:
            pairs += 1
            starts[np.int64(keys[t] >> _32) + 1] += 1
            last = pair
    for i in range(m):
        starts[i + 1] += starts[i]
    return pairs


@declared()
def sum_cells(keys: Keys, weights: ReadVector, high: Index, cells: Matrix) -> None:
    """Sum sorted judgments by pair and cell; `cells` holds zeros on entry, no weights mean ones."""
    e = -1
    last = np.uint64(0)
    for t in range(len(keys)):
        pair = keys[t] >> _2
        if t == 0 or pair != last:
            e += 1
            high[e] = np.int32((keys[t] & _LOW_WORD) >> _2)
            last = pair
        cells[e, np.int64(keys[t] & _CODE)] += weights[t] if len(weights) else 1.0


@declared()
def merge_runs(
    a_starts: Rows,
    a_high: Index,
    a_cells: Matrix,
    b_starts: Rows,
    b_high: Index,
    b_cells: Matrix,
    starts: Rows,
    high: Index,
    cells: Matrix,
) -> None:
    """Write the sum of two runs of the same m, a's cells before b's; `high` and `cells` have room for both."""
    width = a_cells.shape[1]
    at = 0
    for i in range(len(a_starts) - 1):
        starts[i] = at
        e, f = a_starts[i], b_starts[i]
        end, last = a_starts[i + 1], b_starts[i + 1]
        while e < end and f < last:
            # Which run is ahead cannot be foreseen: no branch on it.
            x, y = a_high[e], b_high[f]
            mine, yours = x <= y, y <= x
            high[at] = min(x, y)
            for c in range(width):
                cells[at, c] = mine * a_cells[e, c] + yours * b_cells[f, c]
            e += mine
            f += yours
            at += 1
        for rest in range(e, end):
            high[at] = a_high[rest]
            # A loop, as numba takes two seconds to compile what checks an assignment of rows.
            for c in range(width):
                cells[at, c] = a_cells[rest, c]
            at += 1
        for rest in range(f, last):
            high[at] = b_high[rest]
            for c in range(width):
                cells[at, c] = b_cells[rest, c]
            at += 1
    starts[len(a_starts) - 1] = at


@declared()
def relabel(
    starts: Rows, high: Index, cells: Matrix, rank: Index, new_starts: Rows, new_high: Index, new_cells: Matrix
) -> None:
    """Write a run with item i renumbered to ``rank[i]``, a permutation of the m items, in O(P + m).

    `new_starts`, shape (m + 1,), holds zeros on entry.
    """
    m, pairs = len(starts) - 1, len(high)
    keys, spare = np.empty(pairs, dtype=np.uint64), np.empty(pairs, dtype=np.uint64)
    # The old place rides along as if it were a weight: exact, since P < 2^53.
    places, spare_places = np.empty(pairs), np.empty(pairs)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            a, b = np.uint64(rank[i]), np.uint64(rank[high[e]])
            keys[e] = (min(a, b) << _32) | (max(a, b) << _2) | np.uint64(a > b)
            places[e] = e
    sort_pairs(keys, places, m, spare, spare_places, new_starts)
    for e in range(pairs):
        old = np.int64(places[e])
        new_high[e] = np.int32((keys[e] & _LOW_WORD) >> _2)
        swapped = np.int64(keys[e] & _CODE)
        new_cells[e, 0], new_cells[e, 1] = cells[old, swapped], cells[old, 1 - swapped]
        for c in range(2, cells.shape[1]):
            new_cells[e, c] = cells[old, c]
