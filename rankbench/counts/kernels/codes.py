"""Codes in the order of first appearance."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["renumber"]


@declared(
    types.int64(types.Array(types.uint32, 2, "A", readonly=True), types.int32[::1], types.int64, types.int32[:, ::1]),
)
def renumber(given: NDArray[np.uint32], number: NDArray[np.int32], count: int, codes: NDArray[np.int32]) -> int:
    """Write the new number of every old one, and return how many there are now.

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
