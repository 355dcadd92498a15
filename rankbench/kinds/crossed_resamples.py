"""Resamples of a log whose votes belong to two kinds of units each, as judges and queries: both are drawn.

References
----------
.. [Owen07] A. B. Owen. The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.counts import PairCounts
from rankbench.kinds.resamples import Resamples, UnitDraws, draws_of

__all__ = ["CrossedResamples", "crossed_resamples"]

_APART = 1 << 32
"""What is added to the seed of the second kind of units: as many of both kinds are not drawn alike."""


@dataclass(frozen=True, eq=False)
class CrossedResamples(Resamples):
    """Resamples in which a vote counts as often as its first unit was drawn, times as often as its second [Owen07]_.

    `draws` are those of the first kind; `cells` and `starts` are empty: no vote is a unit.

    Attributes
    ----------
    others : UnitDraws
        Draws of the second kind of units.
    first, second : ndarray of int32, shape (n,)
        Units of each vote.
    cell : ndarray of int32, shape (n,)
        Three times the pair of each vote, plus 0 where `low` won, 1 where `high` did, 2 for a tie.
    weight : ndarray of float64, shape (n,)
    """

    others: UnitDraws
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    cell: NDArray[np.int32]
    weight: NDArray[np.float64]

    def __iter__(self) -> Iterator[PairCounts]:
        for r in range(len(self)):
            yield self.sums(r)

    def sums(self, r: int) -> PairCounts:
        """Return the counts of resample r, of the pairs that were drawn."""
        times = self.draws.times(r)[self.first] * self.others.times(r)[self.second]
        sums = np.bincount(self.cell, times * self.weight, 3 * len(self.counts)).reshape(-1, 3)
        forward, backward, ties = np.ascontiguousarray(sums.T)
        return replace(self.counts, forward=forward, backward=backward, ties=ties).observed()


def crossed_resamples(
    counts: PairCounts,
    units: tuple[NDArray[np.int32], NDArray[np.int32]],
    cell: NDArray[np.int32],
    weight: NDArray[np.float64],
    repetitions: int,
    seed: int,
) -> CrossedResamples:
    """Return resamples of a log's votes by two kinds of units.

    Parameters
    ----------
    counts : PairCounts
        Of all votes.
    units : (ndarray, ndarray)
        Units of each vote, shapes (n,), numbered from 0.
    cell, weight
        As in `CrossedResamples`.
    repetitions, seed : int
        See `draws_of`.
    """
    first, second = units
    draws = draws_of(int(first.max()) + 1, repetitions, seed)
    others = draws_of(int(second.max()) + 1, repetitions, seed + _APART)
    none = np.zeros(0, np.int64)
    return CrossedResamples(
        counts, draws, none, none.astype(np.int32), np.zeros(0), others, first, second, cell, weight
    )
