"""Groups of votes to folds, one after the other; and sums over the groups of a fold."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["assign_folds", "sum_parts"]

_NUMBERS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_PARTS = types.Array(types.int8, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)


@declared(types.void(_NUMBERS, _NUMBERS, _NUMBERS, types.int64, types.int64[::1]))
def assign_folds(
    order: NDArray[np.int64],
    total: NDArray[np.int64],
    decisive: NDArray[np.int64],
    folds: int,
    place: NDArray[np.int64],
) -> None:
    """Put each group, in this order, into the fold with the fewest decisive votes so far.

    Of equally few the one with the fewest votes, of those the first. As soon as a group has no
    decisive vote, all votes count for decisive ones, those before too.
    """
    least, size = np.zeros(folds, np.int64), np.zeros(folds, np.int64)
    balanced = False
    for t in range(len(order)):
        group = order[t]
        if decisive[group] == 0 and not balanced:
            least[:] = size
            balanced = True
        best = 0
        for fold in range(1, folds):
            if least[fold] < least[best] or (least[fold] == least[best] and size[fold] < size[best]):
                best = fold
        place[group] = best
        least[best] += total[group] if balanced else decisive[group]
        size[best] += total[group]


@declared(*[types.void(_NUMBERS, _INDEX, of, _PARTS, types.float64[:, ::1]) for of in (_BYTES, _INDEX, _FLOATS)])
def sum_parts(
    starts: NDArray[np.int64],
    slot: NDArray[np.int32],
    values: NDArray[np.integer] | NDArray[np.float64],
    part: NDArray[np.int8],
    sums: NDArray[np.float64],
) -> None:
    """Add the counts or weights of each group to the sums of its part; those of part -1 to none."""
    for group in range(len(part)):
        to = part[group]
        if to >= 0:
            for row in range(starts[group], starts[group + 1]):
                sums[to, slot[row]] += values[row]
