"""Random pairs of movies that a user rates differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.queries import Comparisons

__all__ = ["RatedPairs", "draw_pairs"]


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs in the order they were drawn; the first n of them are a draw of n.

    Attributes
    ----------
    better, worse : ndarray of int64, shape (n,)
        Rows of the two ratings, both of one group.
    weights : ndarray of float64, shape (n,)
        Difference ``a`` of the ratings, positive.
    """

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.better)

    def comparisons(self, n: int, offsets: NDArray[np.int64]) -> Comparisons:
        """Return the first n pairs as comparisons, sorted by group.

        Parameters
        ----------
        n : int
        offsets : ndarray of int64, shape (G + 1,)
            Rows of each group.
        """
        group = np.searchsorted(offsets, self.better[:n], side="right") - 1
        order = np.argsort(group, kind="stable")
        base = offsets[group[order]]
        counts = np.bincount(group, minlength=len(offsets) - 1)
        return Comparisons(
            np.concatenate([[0], np.cumsum(counts)]),
            (self.better[:n][order] - base).astype(np.int32),
            (self.worse[:n][order] - base).astype(np.int32),
            self.weights[:n][order],
        )

    def disagreement(self, scores: NDArray[np.float64]) -> float:
        """Return the sum of the weights of misordered pairs over the number of pairs.

        A tie among scores counts half. This is (7) of [DMJ10]_ over the sampled, untied
        pairs; it is not divided by the sum of all weights.
        """
        margins = scores[self.better] - scores[self.worse]
        return float(self.weights @ ((margins < 0) + 0.5 * (margins == 0))) / len(self)


def draw_pairs(
    ratings: NDArray[np.float64],
    offsets: NDArray[np.int64],
    users: NDArray[np.int64],
    n: int,
    by_user: bool,
    entropy: Sequence[int],
) -> RatedPairs:
    """Draw pairs within groups of one user's ratings, with replacement.

    Parameters
    ----------
    ratings : ndarray of float64, shape (N,)
        Ascending within each group.
    offsets : ndarray of int64, shape (G + 1,)
        Rows of group g are ``offsets[g]:offsets[g + 1]``.
    users : ndarray of int64, shape (G,)
        User of each group, not decreasing.
    n : int
    by_user : bool
        Draw a user, uniform among those with two different ratings in a group, and then
        one of that user's untied pairs, uniform; else uniform among all untied pairs.
    entropy : sequence of int
        Names the random stream.

    Raises
    ------
    InputError
        No group has two different ratings.
    """
    from rankbench.data.movielens.kernels.rating_draws import draw_rating_pairs
    from rankbench.kernels.random import seed_state

    group = np.repeat(np.arange(len(users)), np.diff(offsets))
    first = np.zeros(len(ratings), np.int64)
    if len(ratings):
        # Where a run of equal ratings of one group begins: all rows of the group before it are lower.
        starts = np.flatnonzero(np.r_[True, (np.diff(ratings) != 0) | (np.diff(group) != 0)])
        first = np.repeat(starts, np.diff(np.append(starts, len(ratings))))
    lower = first - offsets[group]
    # Pairs are numbered by their better row, then by the worse one.
    before = np.concatenate([[0], np.cumsum(lower)])
    ends = np.flatnonzero(np.append(np.diff(users) != 0, True))
    bounds = np.unique(np.append(0, before[offsets[ends + 1]])).astype(np.int64)
    if len(bounds) < 2:
        raise InputError("no user has two different ratings in one part of the data, so that no pair can be drawn")
    pair = np.empty(n, np.int64)
    draw_rating_pairs(seed_state(entropy), bounds, by_user, pair)
    better = np.searchsorted(before, pair, side="right") - 1
    worse = offsets[group[better]] + pair - before[better]
    return RatedPairs(better, worse, ratings[better] - ratings[worse])
