"""Rows of a sparse upper triangle widened to all pairs, so that kernels need not look up who is compared."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["complete", "spread"]

_READ_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_READ_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)


@declared(types.void(types.int64[::1], types.int32[::1]))
def complete(starts: NDArray[np.int64], high: NDArray[np.int32]) -> None:
    """Write the rows of all pairs of m items: `starts`, (m + 1,), and `high`, (m (m - 1) / 2,)."""
    m = len(starts) - 1
    begin = 0
    for i in range(m):
        starts[i] = begin
        for j in range(i + 1, m):
            high[begin + j - i - 1] = j
        begin += m - i - 1
    starts[m] = begin


@declared(types.void(_READ_ROWS, _READ_INDEX, _READ, _READ, types.float64[::1]))
def spread(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write ``forward + backward`` of the given pairs to their places in the rows of all pairs."""
    m = len(starts) - 1
    begin = 0
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            out[begin + high[e] - i - 1] = forward[e] + backward[e]
        begin += m - i - 1
