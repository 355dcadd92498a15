"""The largest of many floats without sorting all of them.

Of sixteen groups of the values the maxima are taken; the k-th largest maximum is at most the k-th
largest value, so only what lies above it, some k values, needs sorting. No step has a
branch to mispredict.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["FEW", "MOST", "above", "above_only", "above_or_equal", "place", "threshold"]

_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]
_INDEX = types.int64[::1]

MOST = 16
"""Largest k."""

FEW = 64
"""Values that are placed by counting; more are sorted."""


@declared(types.float64(_READ, types.int64, _VECTOR), inline="always")
def threshold(values: NDArray[np.float64], k: int, maxima: NDArray[np.float64]) -> float:
    """Return a value that at least min(k, m) of the m values reach, and few more, if k <= `MOST`.

    Parameters
    ----------
    values : ndarray of float64, shape (m,)
        No nan.
    k : int
    maxima : ndarray of float64, shape (16,)
        Left dirty.
    """
    m = values.shape[0]
    for lane in range(MOST):
        maxima[lane] = -np.inf
    whole = m - m % MOST
    for i in range(0, whole, MOST):
        row = values[i : i + MOST]
        for lane in range(MOST):
            maxima[lane] = row[lane] if row[lane] > maxima[lane] else maxima[lane]
    for i in range(whole, m):
        maxima[i - whole] = max(values[i], maxima[i - whole])
    best = -np.inf
    for lane in range(MOST):
        reached = 0
        for other in range(MOST):
            reached += maxima[other] >= maxima[lane]
        best = max(best, maxima[lane] if reached >= k else -np.inf)
    return best


@declared(types.int64(_READ, types.float64, _INDEX), inline="always")
def above_or_equal(values: NDArray[np.float64], least: float, chosen: NDArray[np.int64]) -> int:
    """Write the indices of the values that reach `least` to `chosen`, (m + 1,), and return how many."""
    count = 0
    for i in range(values.shape[0]):
        chosen[count] = i
        count += values[i] >= least
    return count


@declared(types.int64(_READ, types.float64, _INDEX), inline="always")
def above_only(values: NDArray[np.float64], least: float, chosen: NDArray[np.int64]) -> int:
    """Write the indices of the values above `least` to `chosen`, (m + 1,), and return how many."""
    count = 0
    for i in range(values.shape[0]):
        chosen[count] = i
        count += values[i] > least
    return count


@declared(types.int64(_READ, types.float64, types.int64, _INDEX), inline="always")
def above(values: NDArray[np.float64], least: float, k: int, chosen: NDArray[np.int64]) -> int:
    """Write the indices of the values that reach `least`; without those equal to it where k are above it.

    Returns how many they are. `chosen` has shape (m + 1,).
    """
    reached = above_or_equal(values, least, chosen)
    if reached <= 2 * k:
        return reached
    count = above_only(values, least, chosen)
    return count if count >= k else above_or_equal(values, least, chosen)


@declared(types.void(_VECTOR, types.int64, _INDEX), inline="always")
def place(values: NDArray[np.float64], count: int, places: NDArray[np.int64]) -> None:
    """Write the place of each of ``values[:count]`` in descending order, ties in their order, (count,)."""
    if count > FEW:
        order = np.argsort(-values[:count], kind="mergesort")
        for at in range(count):
            places[order[at]] = at
        return
    for i in range(count):
        mine, behind = values[i], 0
        for j in range(i):
            behind += values[j] >= mine
            places[j] += values[j] < mine
        places[i] = behind
