"""The empirical risk R_{L,T} over all pairs of points of different levels, in O(n log n log m)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench_rankad.margins import Floats, MarginLoss

__all__ = ["LevelPairs", "concordance"]


class LevelPairs:
    """All pairs (i, j) with level_i > level_j, summed without a list of them.

    The levels are halved again and again; at each split every point of the upper half is
    paired with every one of the lower half, which `MarginLoss.across` sums at once. With
    m levels that is O(n log n log m), where a pass for every level would take
    O(m n log n).

    Parameters
    ----------
    levels : ndarray of int, shape (n,)
        Higher means denser. Points of one level make no pair.

    Attributes
    ----------
    count : int
        Number of pairs |P|.
    """

    def __init__(self, levels: NDArray[np.int64]) -> None:
        self._order = np.argsort(levels, kind="stable")
        _, counts = np.unique(levels, return_counts=True)
        ends = np.concatenate([[0], np.cumsum(counts)])
        self._splits = _halves(ends.tolist())
        self.count = (len(levels) ** 2 - int(np.sum(counts.astype(np.int64) ** 2))) // 2

    def listed(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the rows of all pairs: of the points with the higher level and with the lower one, shape (P,) each."""
        higher, lower = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        order = self._order.astype(np.int32)
        for first, middle, last in self._splits:
            higher.append(np.repeat(order[middle:last], middle - first))
            lower.append(np.tile(order[first:middle], last - middle))
        return np.concatenate(higher), np.concatenate(lower)

    def total(self, scores: Floats, loss: MarginLoss) -> tuple[float, Floats]:
        """Return ``sum_P L(scores_i - scores_j)`` and its gradient in the scores.

        Parameters
        ----------
        scores : ndarray of float64, shape (n,)
        loss : MarginLoss

        Returns
        -------
        total : float
        gradient : ndarray of float64, shape (n,)
        """
        by_level = scores[self._order]
        total, slope = 0.0, np.zeros_like(by_level)
        for first, middle, last in self._splits:
            lower, upper = by_level[first:middle], by_level[middle:last]
            low, high = np.argsort(lower), np.argsort(upper)
            value, by_upper, by_lower = loss.across(upper[high], lower[low])
            total += value
            slope[first + low] += by_lower
            slope[middle + high] += by_upper
        gradient = np.empty_like(slope)
        gradient[self._order] = slope
        return total, gradient

    def concordant(self, scores: Floats) -> float:
        """Return the share of pairs that `scores` put in the right order; equal scores count half."""
        by_level = scores[self._order]
        right = 0.0
        for first, middle, last in self._splits:
            lower = np.sort(by_level[first:middle])
            upper = by_level[middle:last]
            right += float(np.searchsorted(lower, upper, side="left").sum())
            right += float(np.searchsorted(lower, upper, side="right").sum())
        return right / (2.0 * self.count)


def concordance(truth: Floats, scores: Floats) -> float:
    """Return the share of pairs with different `truth` that `scores` order alike; ties count half.

    With a truth of two values this is the area under the ROC curve.
    """
    _, levels = np.unique(truth, return_inverse=True)
    return LevelPairs(levels.astype(np.int64)).concordant(scores)


def _halves(ends: list[int]) -> list[tuple[int, int, int]]:
    """Split the levels between ``ends`` into a balanced tree of (first, middle, last) rows."""
    splits: list[tuple[int, int, int]] = []
    waiting = [(0, len(ends) - 1)]
    while waiting:
        low, high = waiting.pop()
        if high - low < 2:
            continue
        half = (ends[low] + ends[high]) / 2.0
        middle = min(range(low + 1, high), key=lambda at: abs(ends[at] - half))
        splits.append((ends[low], ends[middle], ends[high]))
        waiting += [(low, middle), (middle, high)]
    return splits
