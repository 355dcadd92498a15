"""Comparisons summed up by unordered pair, for the NumPy forms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "observed_pairs"]


class Pairs(NamedTuple):
    """The pairs that were compared, each once, sorted.

    Attributes
    ----------
    low, high : ndarray of int64, shape (p,)
        The two items, ``low < high``.
    forward, backward : ndarray of float64, shape (p,)
        Total weight w_{low,high} of the judgments that prefer `low`, and w_{high,low}.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


def observed_pairs(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> Pairs:
    """Sum the weights of k judgments, arrays of shape (k,), by pair; memory O(k), not O(m^2)."""
    first, second = np.minimum(winners, losers).astype(np.int64), np.maximum(winners, losers)
    keys, pair = np.unique(first * m + second, return_inverse=True)
    low, high = np.divmod(keys, m)
    forward, backward = np.zeros(len(keys)), np.zeros(len(keys))
    np.add.at(forward, pair, np.where(winners < losers, weights, 0.0))
    np.add.at(backward, pair, np.where(winners > losers, weights, 0.0))
    return Pairs(low, high, forward, backward)
