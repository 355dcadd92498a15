"""Rows of a sparse upper triangle widened to all pairs, so that kernels need not look up who is compared."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["complete"]

_READ_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_READ_INDEX = types.Array(types.int32, 1, "C", readonly=True)


@njit(types.void(_READ_ROWS, _READ_INDEX, types.int64[::1], types.int32[::1], types.int64[::1]), cache=True, nogil=True)
def complete(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    all_starts: NDArray[np.int64],
    all_high: NDArray[np.int32],
    place: NDArray[np.int64],
) -> None:
    """Write the rows of all pairs of m items, and the place among them of each given pair.

    Parameters
    ----------
    starts, high : ndarray, shapes (m + 1,) and (P,)
        The given pairs.
    all_starts, all_high : ndarray, shapes (m + 1,) and (m (m - 1) / 2,)
    place : ndarray of int64, shape (P,)
    """
    m = len(starts) - 1
    begin = 0
    for i in range(m):
        all_starts[i] = begin
        for j in range(i + 1, m):
            all_high[begin + j - i - 1] = j
        for e in range(starts[i], starts[i + 1]):
            place[e] = begin + high[e] - i - 1
        begin += m - i - 1
    all_starts[m] = begin
