"""Rows in which every pair has a place, for logs that judged most of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "fast_rows"]

_SHARE = 2 / 3
"""Share of the pairs from which on all of them are kept: half as much memory again, less than half of the time."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Pairs that likelihoods are summed over.

    Attributes
    ----------
    starts : ndarray of int64, shape (m + 1,)
    high : ndarray of int32, shape (P',)
        Sorted in every row, as `PairCounts` keeps them.
    place : ndarray of int64, shape (P,), or None
        Where each of the pairs that were given stands among them; None where nothing was added.
    """

    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    place: NDArray[np.int64] | None

    def spread(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a number of each given pair as one of each pair here, shape (P',): 0 for those that were added."""
        if self.place is None:
            return sums
        result = np.zeros(len(self.high))
        result[self.place] = sums
        return result


def fast_rows(starts: NDArray[np.int64], high: NDArray[np.int32]) -> Rows:
    """Return the pairs to sum over: all pairs of the items if two thirds of them were judged.

    In rows of consecutive items the kernels of `rankbench.logs.kernels.likelihood` need no index.

    Parameters
    ----------
    starts, high : ndarray
        Pairs as `PairCounts` keeps them.
    """
    m = len(starts) - 1
    pairs = m * (m - 1) // 2
    if len(high) == pairs or len(high) < _SHARE * pairs:
        return Rows(starts, high, None)
    from rankbench.logs.kernels.complete import complete

    all_starts, all_high, place = np.empty(m + 1, np.int64), np.empty(pairs, np.int32), np.empty(len(high), np.int64)
    complete(starts, high, all_starts, all_high, place)
    return Rows(all_starts, all_high, place)
