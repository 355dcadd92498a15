"""Numbers of the pairs that votes compare, and sums of votes by pair."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.laplacian import sum_pairs

__all__ = ["mark_pairs", "number_rows", "sum_rows", "sum_some"]

_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]
_CELLS = types.Array(types.float64, 2, "C", readonly=True)


@declared(types.void(_INDEX, _INDEX, types.int64, types.int64, types.uint8[:, ::1]))
def mark_pairs(
    first: NDArray[np.int32], second: NDArray[np.int32], begin: int, end: int, seen: NDArray[np.uint8]
) -> None:
    """Write 1 for each pair of items of rows ``begin:end``, the smaller item first, into a table of shape (m, m)."""
    for row in range(begin, end):
        i, j = np.uint64(first[row]), np.uint64(second[row])
        seen[min(i, j), max(i, j)] = 1


@declared(types.void(_INDEX, _INDEX, types.int64, types.int64, types.int32[:, ::1], types.int32[::1]))
def number_rows(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    begin: int,
    end: int,
    place: NDArray[np.int32],
    pair: NDArray[np.int32],
) -> None:
    """Write the number of the pair of each row ``begin:end``, by the numbers of all pairs, shape (m, m)."""
    for row in range(begin, end):
        i, j = np.uint64(first[row]), np.uint64(second[row])
        pair[row] = place[min(i, j), max(i, j)]


@declared(types.void(_INDEX, _INDEX, _INDEX, _CELLS, types.int64, types.int64, types.float64[:, ::1]))
def sum_rows(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    pair: NDArray[np.int32],
    outcomes: NDArray[np.float64],
    begin: int,
    end: int,
    cells: NDArray[np.float64],
) -> None:
    """Add rows ``begin:end`` to their pairs: what the smaller item won, what the larger one did, ties; shape (3, P)."""
    for row in range(begin, end):
        r = np.uint64(row)
        e, turned = np.uint64(pair[r]), np.uint64(first[r] > second[r])
        cells[turned, e] += outcomes[r, 0]
        cells[np.uint64(1) - turned, e] += outcomes[r, 1]
        cells[2, e] += outcomes[r, 2]


@declared(types.boolean(_INDEX, _INDEX, _READ, types.int64[::1], types.int32[::1], _VECTOR, _VECTOR))
def sum_some(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
) -> bool:
    """Return whether every item is in ``[0, m)``, and if so do as `rankbench.kernels.laplacian.sum_pairs`."""
    m = len(starts) - 1
    for t in range(len(winners)):
        if min(winners[t], losers[t]) < 0 or max(winners[t], losers[t]) >= m:
            return False
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    return True
