"""Connected components of counted pairs."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.laplacian import join

__all__ = ["components"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)


@declared(types.int64(_ROWS, _INDEX, _READ, _READ, types.bool_, types.int64[::1]))
def components(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    mutual: bool,
    root: NDArray[np.int64],
) -> int:
    """Write each item's component, named by its first item, (m,); return their number.

    Edges are all pairs, or only those where each has beaten the other (`mutual`).
    """
    m = len(root)
    for i in range(m):
        root[i] = i
    left = m
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            if mutual and not (forward[e] > 0.0 and backward[e] > 0.0):
                continue
            a, b = i, np.int64(high[e])
            while root[a] != a:
                root[a] = root[root[a]]
                a = root[a]
            while root[b] != b:
                root[b] = root[root[b]]
                b = root[b]
            if a != b:
                join(root, int(a), int(b))
                left -= 1
        if left == 1:
            break
    # Every root comes before its children.
    for i in range(m):
        root[i] = root[root[i]]
    return left
