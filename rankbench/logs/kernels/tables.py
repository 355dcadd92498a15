"""Kernels count judgments in tables of all pairs, and number names anew.

A table of m items is flat, of length m^2 or, with ties, 2 m^2: entry ``i m + j`` is what i won over j,
entry ``m^2 + i m + j`` what was tied, i named first. What counts stops at the first row that it cannot count
and returns its number, or -1; the rows before it are in the table.

Counts have 16 bits, so that more of the table stays in cache, and a second table that is hardly
ever touched for the carries; its last entry, one more than the first table has, is their number.
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
