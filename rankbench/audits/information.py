"""Information of votes about scores that are log-odds, after the model of Bradley and Terry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.pair_counts import PairCounts, connected_components

MOST_ITEMS = 1500
"""With more items the information takes too long to invert."""


def information_of_one(lead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the information of one vote about a pair's lead, p (1 - p), of any shape."""
    chance = 1 / (1 + np.exp(np.abs(lead)))  # of the weaker item: 1 less a chance near 1 loses its digits
    found: NDArray[np.float64] = chance * (1 - chance)
    return found


def inverse_information(counts: PairCounts, scores: NDArray[np.float64], ridge: float = 0.0) -> NDArray[np.float64]:
    """Return the inverse information of counted votes, shape (m, m): variances of differences are right.

    Parameters
    ----------
    counts : PairCounts
    scores : ndarray of float64, shape (m,)
        Log-odds.
    ridge : float
        Penalty of the scores.
    """
    low, high = counts.low, counts.high
    linked = np.zeros((counts.m, counts.m))
    forward, backward = counts.wins()
    linked[low, high] = (forward + backward) * information_of_one(scores[low] - scores[high])
    linked += linked.T
    own = linked.sum(axis=0)
    # Scores of a connected component are known but for a constant: ones in its block let the inverse exist.
    scale = connected_components(counts).scale_of
    block = (scale[:, None] == scale[None, :]) / np.bincount(scale)[scale]
    inverse: NDArray[np.float64] = np.linalg.inv(np.diag(own + ridge) - linked + max(float(own.mean()), 1.0) * block)
    return inverse


def lead_variances(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of all differences, shape (m, m), of a covariance of the same shape."""
    own = np.diag(covariance)
    found: NDArray[np.float64] = np.add.outer(own, own)
    return found - 2 * covariance
