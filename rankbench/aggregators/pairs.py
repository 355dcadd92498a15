"""Comparisons summed up by unordered pair, for the NumPy forms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "log_odds", "observed_pairs"]


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


def log_odds(pairs: Pairs, smoothing: float, *, joint: bool = False) -> NDArray[np.float64]:
    r"""Return the smoothed log-odds of each pair, shape (p,), positive if `low` is preferred.

    .. math:: A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    Parameters
    ----------
    pairs : Pairs
    smoothing : float
        c > 0.
    joint : bool
        Whether c is added to frequencies among all judgments, w / W, instead of to weights.
    """
    c = smoothing * float((pairs.forward + pairs.backward).sum()) if joint else smoothing
    odds: NDArray[np.float64] = np.log((pairs.forward + c) / (pairs.backward + c))
    return odds
