"""One pass for several losses that look at the top of a ranking alone: what is sorted, is sorted once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import RANKED
from rankbench.losses.kernels.top import MOST, above, above_only, place, threshold

__all__ = ["ranked_pass"]

_READ = types.Array(types.float64, 1, "C", readonly=True)
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
