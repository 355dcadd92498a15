"""Kernels rank items by scores and evaluate losses query by query.

Of sixteen groups of the values the maxima are taken; the k-th largest maximum is at most the k-th
largest value, so only what lies above it, some k values, needs sorting. No step has a
branch to mispredict.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import LOSS, MATRIX_LOSS, RANKED

Vector = types.float64[::1]
Matrix = types.float64[:, ::1]
Offsets = types.Array(types.int64, 1, "C", readonly=True)


@declared(types.void(types.FunctionType(LOSS), Matrix, Vector, Offsets, Vector, Vector, Matrix))
def scores_pass(
    loss: Any,
    alpha: NDArray[np.float64],
    structures: NDArray[np.float64],
    offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the loss of every contender on every query, ``out[c, q]``.

    Queries are the outer loop: a query's structure stays in cache for all contenders.
    """
    for q in range(offsets.shape[0] - 1):
        start, stop = offsets[q], offsets[q + 1]
        for c in range(alpha.shape[0]):
            out[c, q] = loss(alpha[c, start:stop], structures[start:stop], params, work)


@declared(types.void(types.FunctionType(MATRIX_LOSS), Matrix, types.int64, Matrix, Vector, Vector, Vector))
def matrix_pass(
    loss: Any,
    alpha: NDArray[np.float64],
    start: int,
    adjacency: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the loss of every contender on the one query whose items start at `start`."""
    stop = start + adjacency.shape[0]
    for c in range(alpha.shape[0]):
        out[c] = loss(alpha[c, start:stop], adjacency, params, work)


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


_READ_MATRIX = types.Array(types.float64, 2, "C", readonly=True)
_OFFSETS = types.Array(types.int64, 1, "C", readonly=True)

BLOCK = 32
"""Queries that are put in order before the losses look at them."""


@declared(
    types.void(
        types.ListType(types.FunctionType(RANKED)),  # type: ignore[no-untyped-call]
        types.ListType(types.float64[::1]),  # type: ignore[no-untyped-call]
        types.int64,
        _READ_MATRIX,
        _READ,
        _OFFSETS,
        types.int64,
        types.int64,
        types.float64[:, :, ::1],
    ),
)
def ranked_pass(
    losses: Any,
    params: Any,
    k: int,
    alpha: NDArray[np.float64],
    structures: NDArray[np.float64],
    offsets: NDArray[np.int64],
    largest: int,
    work: int,
    out: NDArray[np.float64],
) -> None:
    """Write every loss of every contender on every query, ``out[l, c, q]``.

    Parameters
    ----------
    losses, params : typed lists
        Kernels with the signature `RANKED` and what they are told.
    k : int
        Largest cutoff of all, at most `MOST`.
    alpha, structures, offsets : ndarray
        As in `rankbench.losses.evaluate.evaluate`.
    largest : int
        Largest number of items of a query.
    work : int
        Scratch floats that a loss needs.
    """
    size = largest + 1
    chosen, places = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    near, ordered = np.empty(size), np.empty(size)
    ranked, ends = np.empty((BLOCK, size)), np.empty((BLOCK, size), dtype=np.int64)
    best, zero = np.empty((BLOCK, MOST)), np.empty(BLOCK, dtype=np.bool_)
    counts, maxima, scratch = np.empty(BLOCK, dtype=np.int64), np.empty(MOST), np.empty(work)
    queries = offsets.shape[0] - 1
    # One long loop: calls with so many arrays as arguments cost as much as what they would do.
    for begin in range(0, queries, BLOCK):
        block = min(BLOCK, queries - begin)
        for b in range(block):
            # The k largest structure scores, in descending order.
            scores = structures[offsets[begin + b] : offsets[begin + b + 1]]
            top = min(k, len(scores))
            least = threshold(scores, top, maxima)
            count = above_only(scores, least, chosen)
            for i in range(count):
                near[i] = scores[chosen[i]]
            # Where too few lie above the threshold, the others of the k largest are equal to it.
            for at in range(min(count, top), top):
                best[b, at] = least
            place(near, count, places)
            for i in range(count):
                if places[i] < top:
                    best[b, places[i]] = near[i]
            said = 0
            for i in range(len(scores)):
                said += scores[i] != 0.0
            zero[b] = said == 0
        for c in range(alpha.shape[0]):
            for b in range(block):
                # The structure scores of the first items, at least k, in the order of alpha, and where their ties end.
                mine = alpha[c, offsets[begin + b] : offsets[begin + b + 1]]
                scores = structures[offsets[begin + b] : offsets[begin + b + 1]]
                missing = 0
                for i in range(len(mine)):
                    missing += mine[i] != mine[i]
                if missing:
                    counts[b] = -1
                    continue
                top = min(k, len(mine))
                count = above(mine, threshold(mine, top, maxima), top, chosen)
                for i in range(count):
                    near[i] = mine[chosen[i]]
                place(near, count, places)
                for i in range(count):
                    ranked[b, places[i]] = scores[chosen[i]]
                    ordered[places[i]] = near[i]
                end = count
                for at in range(count - 1, -1, -1):
                    end = at + 1 if ordered[at] != ordered[min(at + 1, count - 1)] else end
                    ends[b, at] = end
                counts[b] = count
            # A typed list is slow to read: once a block, not once a query.
            for which in range(len(losses)):
                loss, told = losses[which], params[which]
                for b in range(block):
                    if counts[b] < 0:
                        out[which, c, begin + b] = np.nan
                        continue
                    top = min(k, offsets[begin + b + 1] - offsets[begin + b])
                    out[which, c, begin + b] = loss(
                        ranked[b, : counts[b]], ends[b, : counts[b]], best[b, :top], zero[b], told, scratch
                    )
