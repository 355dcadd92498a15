"""Kernels count judgments in tables of all pairs, or in sorted runs of observed pairs; and number names anew.

A table of m items is flat, of length m^2 or, with ties, 2 m^2: entry ``i m + j`` is what i won over j,
entry ``m^2 + i m + j`` what was tied, i named first. What counts stops at the first row that it cannot count
and returns its number, or -1; the rows before it are in the table.

Counts have 16 bits, so that more of the table stays in cache, and a second table that is hardly
ever touched for the carries; its last entry, one more than the first table has, is their number.

A run, for many items, is a sparse upper triangle: the pairs {i, high[e]}, i < high[e], are ``e = starts[i] ..
starts[i + 1] - 1``, sorted, each once, with a row of cells: what i won, what high[e] won,
what was tied.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Bytes, Index, Matrix, ReadIndex, ReadVector, Rows, Vector, declared

settle_runtime()


CountTable = Annotated[NDArray[np.uint16], types.uint16[::1]]
CarryTable = Annotated[NDArray[np.uint32], types.uint32[::1]]
_EITHER = [types.Array(of, 1, "C", readonly=True) for of in (types.uint16, types.float64)]
EitherTable = Annotated[NDArray[np.uint16] | NDArray[np.float64], *_EITHER]
GivenNames = Annotated[NDArray[np.uint32], types.Array(types.uint32, 2, "A", readonly=True)]
NameCodes = Annotated[NDArray[np.int32], types.int32[:, ::1]]

_STRIP = 16
"""Columns of the table read at a time: at least a cache line."""


@declared()
def count_judgments(
    winners: ReadIndex, losers: ReadIndex, ties: Bytes, m: int, table: CountTable, carry: CarryTable
) -> int:
    """Count judgments, including ties (``ties[t] = 1``; empty: no ties)."""
    size, one, tied = np.uint64(m), np.uint16(1), len(ties) > 0
    for t in range(len(winners)):
        # A negative number is a huge unsigned one: one comparison a side.
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j:
            return t
        at = i * size + j
        if tied:
            at += np.uint64(ties[t]) * size * size
        counted = np.uint16(table[at] + one)
        table[at] = counted
        if counted == 0:
            carry[at] += np.uint32(1)
            carry[len(carry) - 1] += np.uint32(1)
    return -1


@declared()
def count_weighted(
    winners: ReadIndex, losers: ReadIndex, ties: Bytes, weights: ReadVector, m: int, table: Vector
) -> int:
    """Sum the weights, positive and finite, of judgments, including ties (`ties` empty: no ties)."""
    size, tied = np.uint64(m), len(ties) > 0
    for t in range(len(winners)):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j or not 0.0 < weights[t] < np.inf:
            return t
        at = i * size + j
        if tied:
            at += np.uint64(ties[t]) * size * size
        table[at] += weights[t]
    return -1


@declared()
def gather(
    first: EitherTable, second: EitherTable, m: int, tied: bool, starts: Rows, high: Index, cells: Matrix
) -> None:
    """Write the observed pairs of the sum of two tables, sorted.

    Parameters
    ----------
    first, second : ndarray of uint16 or float64
        Tables without carries; `second` may have length 0.
    m : int
    tied : bool
        Whether they have entries for ties.
    starts : ndarray of int64, shape (m + 1,)
        On return where the rows start, ``starts[m]`` the number P of pairs.
    high : ndarray of int32, shape (Q + 1,)
        ``Q >= P``: one entry behind the last pair is overwritten.
    cells : ndarray of float64, shape (Q + 1, 2), or (Q + 1, 3) with ties
    """
    both, plane = len(second) > 0, m * m
    # What is written below the diagonal, turned for some rows at a time, so that rows are read along.
    back, ties = np.empty((_STRIP, m)), np.empty((_STRIP, m))
    row, tie = np.empty(m), np.empty(m)
    at = 0
    starts[0] = 0
    for begin in range(0, m, _STRIP):
        end = min(begin + _STRIP, m)
        for j in range(begin + 1, m):
            for i in range(begin, min(end, j)):
                back[i - begin, j] = first[j * m + i] + (second[j * m + i] if both else 0.0)
                if tied:
                    ties[i - begin, j] = first[plane + j * m + i] + (second[plane + j * m + i] if both else 0.0)
        for i in range(begin, end):
            for j in range(i + 1, m):
                row[j] = first[i * m + j]
                tie[j] = 0.0
            if both:
                for j in range(i + 1, m):
                    row[j] += second[i * m + j]
            if tied:
                for j in range(i + 1, m):
                    tie[j] = ties[i - begin, j] + first[plane + i * m + j]
                    tie[j] += second[plane + i * m + j] if both else 0.0
            for j in range(i + 1, m):
                # Written in any case, and overwritten where nothing was judged: no branch to mispredict.
                high[at] = j
                cells[at, 0], cells[at, 1] = row[j], back[i - begin, j]
                if tied:
                    cells[at, 2] = tie[j]
                at += row[j] + back[i - begin, j] + tie[j] > 0.0
            starts[i + 1] = at


@declared()
def renumber(given: GivenNames, number: Index, count: int, codes: NameCodes) -> int:
    """Write the new number of every old one, and return the count of new numbers.

    Parameters
    ----------
    given, codes : ndarray, shape (rows, columns)
        Old numbers and new ones; rows are gone through in order, each from left to right.
    number : ndarray of int32
        New number of each old one, -1 where it has none yet.
    count : int
        New numbers given so far.
    """
    for row in range(given.shape[0]):
        for column in range(given.shape[1]):
            old = given[row, column]
            if number[old] < 0:
                number[old] = count
                count += 1
            codes[row, column] = number[old]
    return count


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
