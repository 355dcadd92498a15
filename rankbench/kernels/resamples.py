"""Units drawn with replacement: judgments, or judges with all that they said.

This module imports numba; import it only from kernel modules and inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rankbench.kernels.random import STATE, below

__all__ = ["draw_cells", "draw_units"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)


@njit(types.void(STATE, types.int64[::1]), cache=True, nogil=True)
def draw_units(state: NDArray[np.uint64], times: NDArray[np.int64]) -> None:
    """Draw as many units as there are; add to `times`, (G,), how often each was drawn."""
    for _ in range(len(times)):
        times[below(state, len(times))] += 1


@njit(types.void(STATE, types.int64, _ROWS, _INDEX, _READ, types.float64[::1]), cache=True, nogil=True)
def draw_cells(
    state: NDArray[np.uint64],
    units: int,
    starts: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Draw the units that `draw_units` draws, and add to `sums` what they said.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
    units : int
    starts : ndarray of int64, shape (units + 1,) or (0,)
        Unit u adds ``weights[e]`` to ``sums[cells[e]]`` for ``e = starts[u] .. starts[u + 1] - 1``.
        Empty: it adds 1 to ``sums[cells[u]]``, without an inner loop and in half of the time.
    cells : ndarray of int32
    weights : ndarray of float64
    sums : ndarray of float64
        Zeros on entry.
    """
    if not len(starts):
        for _ in range(units):
            sums[cells[below(state, units)]] += 1.0
        return
    for _ in range(units):
        u = below(state, units)
        for e in range(starts[u], starts[u + 1]):
            sums[cells[e]] += weights[e]
