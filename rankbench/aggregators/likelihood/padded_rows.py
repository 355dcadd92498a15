"""Rows in which every pair has a place, for logs that judged most of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PaddedRows", "fast_rows"]

_SHARE = 2 / 3
"""Share of the pairs from which on all of them are kept: half as much memory again, less than half of the time."""


@dataclass(frozen=True, eq=False)
class PaddedRows:
    """Pairs that likelihoods are summed over.

    Attributes
    ----------
    starts : ndarray of int64, shape (m + 1,)
    high : ndarray of int32, shape (P',)
        Sorted in every row, as `PairCounts` keeps them.
    given : (ndarray, ndarray) or None
        `starts` and `high` of the pairs that were given, P of them; None where nothing was added.
    """

    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    given: tuple[NDArray[np.int64], NDArray[np.int32]] | None

    def judged(self, forward: NDArray[np.float64], backward: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of two numbers of each given pair, shape (P',): 0 for the pairs that were added."""
        if self.given is None:
            return forward + backward
        from rankbench.aggregators.kernels.padded_rows import spread

        result = np.zeros(len(self.high))
        spread(*self.given, forward, backward, result)
        return result

    def places(self) -> NDArray[np.int64]:
        """Return where each of the pairs that were given stands among them, shape (P,)."""
        if self.given is None:
            return np.arange(len(self.high))
        starts, high = self.given
        low = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self.starts[low] + high - low - 1


def fast_rows(starts: NDArray[np.int64], high: NDArray[np.int32]) -> PaddedRows:
    """Return the pairs to sum over: all pairs of the items if two thirds of them were judged.

    In rows of consecutive items the kernels of `rankbench.aggregators.kernels.likelihood` need no index.

    Parameters
    ----------
    starts, high : ndarray
        Pairs as `PairCounts` keeps them.
    """
    m = len(starts) - 1
    pairs = m * (m - 1) // 2
    if len(high) == pairs or len(high) < _SHARE * pairs:
        return PaddedRows(starts, high, None)
    from rankbench.aggregators.kernels.padded_rows import complete

    all_starts, all_high = np.empty(m + 1, np.int64), np.empty(pairs, np.int32)
    complete(all_starts, all_high)
    return PaddedRows(all_starts, all_high, (starts, high))
