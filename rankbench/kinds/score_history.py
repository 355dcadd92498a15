"""Scores over time: what a model of walking scores is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ScoreHistory", "ScoreSpread", "TimedCounts"]


@dataclass(frozen=True, eq=False)
class TimedCounts:
    """Judgments summed by time and pair of items.

    Attributes
    ----------
    m : int
        Number of items; each was judged at some time.
    gaps : ndarray of float64, shape (T,)
        Units of time since the time before, above 0; the first is not used.
    starts : ndarray of int64, shape (T + 1,)
        Sums of time t are ``starts[t]:starts[t + 1]``, at least one.
    first, second : ndarray of int32, shape (K,)
        The smaller and the larger item; of one time each pair once.
    won, lost : ndarray of float64, shape (K,)
        Weight of the judgments that the first won, and that it lost; ties are half of both.
    """

    m: int
    gaps: NDArray[np.float64]
    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.gaps)

    @property
    def times(self) -> NDArray[np.int64]:
        """The time of each sum, shape (K,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def born(self) -> NDArray[np.int64]:
        """Return the time at which each item was first judged, shape (m,)."""
        found = np.full(self.m, len(self))
        for items in (self.first, self.second):
            np.minimum.at(found, items, self.times)
        return found


@dataclass(frozen=True, eq=False)
class ScoreSpread:
    """How certain scores over time are, by the joint posterior.

    Attributes
    ----------
    deviation : ndarray of float64, shape (T, m)
        Standard deviation of each score less the mean of those of its time; nan where an item has none.
    now, then : ndarray of float64, shape (m, m)
        Covariance of the scores of the last time, and of an earlier one; nan where an item has none.
    across : ndarray of float64, shape (m, m)
        Covariance of the earlier scores (rows) and the last ones.
    """

    deviation: NDArray[np.float64]
    now: NDArray[np.float64]
    then: NDArray[np.float64]
    across: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoreHistory:
    """What a model says of scores over time.

    Attributes
    ----------
    scores : ndarray of float64, shape (T, m)
        nan before an item was judged.
    evidence : float
        Log of the chance of all judgments: the sum, over times, of the log of the chance that was given to the
        judgments of a time by those before it. Models of the same judgments compare by it.
    log_prior : float
        Log of the chance of its parameters before any judgment, on a grid that is even in their logarithms; without a
        constant.
    spread : callable
        Of an earlier time, from 0: what is certain, see `ScoreSpread`.
    """

    scores: NDArray[np.float64]
    evidence: float
    log_prior: float
    spread: Callable[[int], ScoreSpread]
