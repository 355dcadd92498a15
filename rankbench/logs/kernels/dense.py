"""Judgments counted in a table of all pairs, for few items.

A table of m items is flat, of length m^2 or, with ties, 2 m^2: entry ``i m + j`` is what i won over j,
entry ``m^2 + i m + j`` what was tied, i named first. What counts stops at the first row that it cannot count
and returns its number, or -1; the rows before it are in the table.

Counts have 16 bits, so that more of the table stays in cache, and a second table that is hardly
ever touched for the carries.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["count", "count_tied", "dense_rows", "fill_rows", "weigh"]

_READ = types.Array(types.int32, 1, "C", readonly=True)
_FLAGS = types.Array(types.uint8, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_COUNTS = types.uint16[::1]
_CARRY = types.uint32[::1]
_SUMS = types.float64[::1]
_TABLE = types.float64[:, ::1]
_STARTS = types.int64[::1]
_INDEX = types.int32[::1]

_STRIP = 16
"""Columns of the table read at a time: what a cache line holds, at least."""


@njit(types.int64(_READ, _READ, types.int64, _COUNTS, _CARRY), cache=True, nogil=True)
def count(
    winners: NDArray[np.int32], losers: NDArray[np.int32], m: int, table: NDArray[np.uint16], carry: NDArray[np.uint32]
) -> int:
    """Count judgments without ties and weights."""
    size, one = np.uint64(m), np.uint16(1)
    for t in range(len(winners)):
        # A negative number is a huge unsigned one: one comparison a side.
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j:
            return t
        at = i * size + j
        counted = np.uint16(table[at] + one)
        table[at] = counted
        if counted == 0:
            carry[at] += np.uint32(1)
    return -1


@njit(types.int64(_READ, _READ, _FLAGS, types.int64, _COUNTS, _CARRY), cache=True, nogil=True)
def count_tied(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    ties: NDArray[np.uint8],
    m: int,
    table: NDArray[np.uint16],
    carry: NDArray[np.uint32],
) -> int:
    """Count judgments of which some are ties (``ties[t] = 1``)."""
    size, one = np.uint64(m), np.uint16(1)
    for t in range(len(winners)):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j:
            return t
        at = (np.uint64(ties[t]) * size + i) * size + j
        counted = np.uint16(table[at] + one)
        table[at] = counted
        if counted == 0:
            carry[at] += np.uint32(1)
    return -1


@njit(types.int64(_READ, _READ, _FLAGS, _FLOATS, types.int64, _SUMS), cache=True, nogil=True)
def weigh(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    ties: NDArray[np.uint8],
    weights: NDArray[np.float64],
    m: int,
    table: NDArray[np.float64],
) -> int:
    """Sum the weights of judgments, positive and finite, of which some may be ties."""
    size = np.uint64(m)
    for t in range(len(winners)):
        i, j = np.uint64(winners[t]), np.uint64(losers[t])
        if i >= size or j >= size or i == j or not 0.0 < weights[t] < np.inf:
            return t
        table[(np.uint64(ties[t]) * size + i) * size + j] += weights[t]
    return -1


@njit(types.float64(_TABLE, types.int64, types.int64), cache=True, nogil=True, inline="always")
def _tied(ties: NDArray[np.float64], i: int, j: int) -> float:
    """Return what was tied between i and j; `ties` is empty where nothing was."""
    return float(ties[i, j] + ties[j, i]) if ties.shape[0] else 0.0


@njit(types.void(_TABLE, _TABLE, _STARTS), cache=True, nogil=True)
def dense_rows(wins: NDArray[np.float64], ties: NDArray[np.float64], starts: NDArray[np.int64]) -> None:
    """Write where the rows of the observed pairs start, ``starts`` of shape (m + 1,), zero on entry."""
    m = wins.shape[0]
    for begin in range(0, m, _STRIP):
        end = min(begin + _STRIP, m)
        for j in range(begin + 1, m):
            for i in range(begin, min(end, j)):
                starts[i + 1] += wins[i, j] + wins[j, i] + _tied(ties, i, j) > 0.0
    for i in range(m):
        starts[i + 1] += starts[i]


@njit(types.void(_TABLE, _TABLE, _STARTS, _INDEX, _TABLE), cache=True, nogil=True)
def fill_rows(
    wins: NDArray[np.float64],
    ties: NDArray[np.float64],
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    cells: NDArray[np.float64],
) -> None:
    """Write the observed pairs, sorted, to arrays of length ``starts[m]``; `cells` has a third column for ties."""
    m = wins.shape[0]
    place = starts.copy()
    for begin in range(0, m, _STRIP):
        end = min(begin + _STRIP, m)
        for j in range(begin + 1, m):
            for i in range(begin, min(end, j)):
                there, back, both = wins[i, j], wins[j, i], _tied(ties, i, j)
                if there + back + both > 0.0:
                    at = place[i]
                    place[i] = at + 1
                    high[at] = j
                    cells[at, 0], cells[at, 1] = there, back
                    if ties.shape[0]:
                        cells[at, 2] = both
