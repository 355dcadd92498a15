"""Kernels rank items by scores and evaluate losses query by query.

Of sixteen groups of the values the maxima are taken; the k-th largest maximum is at most the k-th
largest value, so only what lies above it, some k values, needs sorting. No step has a
branch to mispredict.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import Matrix, ReadMatrix, ReadRows, ReadVector, Rows, Vector, declared
from rankbench.kernels.signatures import LOSS, MATRIX_LOSS, RANKED

ScoresLoss = Annotated[Any, types.FunctionType(LOSS)]
MatrixLoss = Annotated[Any, types.FunctionType(MATRIX_LOSS)]
RankedLosses = Annotated[Any, types.ListType(types.FunctionType(RANKED))]
Vectors = Annotated[Any, types.ListType(types.float64[::1])]
Cube = Annotated[NDArray[np.float64], types.float64[:, :, ::1]]


@declared()
def scores_pass(
    loss: ScoresLoss, alpha: Matrix, structures: Vector, offsets: ReadRows, params: Vector, work: Vector, out: Matrix
) -> None:
    """Write the loss of every contender on every query, ``out[c, q]``.

    Queries are the outer loop: a query's structure stays in cache for all contenders.
    """
    for q in range(offsets.shape[0] - 1):
        start, stop = offsets[q], offsets[q + 1]
        for c in range(alpha.shape[0]):
            out[c, q] = loss(alpha[c, start:stop], structures[start:stop], params, work)


@declared()
def matrix_pass(
    loss: MatrixLoss, alpha: Matrix, start: int, adjacency: Matrix, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the loss of every contender on the one query whose items start at `start`."""
    stop = start + adjacency.shape[0]
    for c in range(alpha.shape[0]):
        out[c] = loss(alpha[c, start:stop], adjacency, params, work)


MOST = 16
"""Largest k."""

FEW = 64
"""Values that are placed by counting; more are sorted."""


@declared(inline="always")
def threshold(values: ReadVector, k: int, maxima: Vector) -> float:
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


@declared(inline="always")
def above_or_equal(values: ReadVector, least: float, chosen: Rows) -> int:
    """Write the indices of the values that reach `least` to `chosen`, (m + 1,), and return how many."""
    count = 0
    for i in range(values.shape[0]):
        chosen[count] = i
        count += values[i] >= least
    return count


@declared(inline="always")
def above_only(values: ReadVector, least: float, chosen: Rows) -> int:
    """Write the indices of the values above `least` to `chosen`, (m + 1,), and return how many."""
    count = 0
    for i in range(values.shape[0]):
        chosen[count] = i
        count += values[i] > least
    return count


@declared(inline="always")
def above(values: ReadVector, least: float, k: int, chosen: Rows) -> int:
    """Write the indices of the values of at least `least`; equal ones may be left out if k are above it.

    Returns how many they are. `chosen` has shape (m + 1,).
    """
    reached = above_or_equal(values, least, chosen)
    if reached <= 2 * k:
        return reached
    count = above_only(values, least, chosen)
    return count if count >= k else above_or_equal(values, least, chosen)


@declared(inline="always")
def place(values: Vector, count: int, places: Rows) -> None:
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


BLOCK = 32
"""Queries that are put in order before the losses look at them."""


@declared()
def ranked_pass(
    losses: RankedLosses,
    params: Vectors,
    k: int,
    alpha: ReadMatrix,
    structures: ReadVector,
    offsets: ReadRows,
    largest: int,
    work: int,
    out: Cube,
) -> None:
    """Write every loss of every contender on every query, ``out[l, c, q]``.

    Parameters
    ----------
    losses, params : typed lists
        Kernels with the signature `RANKED` and their parameters.
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
    # One long loop: calls with so many arrays as arguments would cost as much as their work.
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
