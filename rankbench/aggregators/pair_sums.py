"""What aggregators make of sums by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.counts import PairCounts

__all__ = ["item_sums", "log_odds"]


def item_sums(counts: PairCounts, of_pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of a number of each pair, (P,), over an item's pairs, minus it where the item is `high`, (m,)."""
    added, taken = np.bincount(counts.low, of_pair, counts.m), np.bincount(counts.high, of_pair, counts.m)
    return np.subtract(added, taken, dtype=np.float64)  # of no pairs at all they are whole numbers


def log_odds(counts: PairCounts, smoothing: float, *, joint: bool = False) -> NDArray[np.float64]:
    r"""Return the smoothed log-odds of each pair, shape (P,), positive if `low` is preferred.

    .. math:: A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    Parameters
    ----------
    counts : PairCounts
    smoothing : float
        c > 0.
    joint : bool
        Whether c is added to frequencies among all judgments, w / W, instead of to weights.
    """
    forward, backward = counts.wins()
    c = smoothing * float((forward + backward).sum()) if joint else smoothing
    odds: NDArray[np.float64] = np.log((forward + c) / (backward + c))
    return odds
