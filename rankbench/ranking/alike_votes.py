"""How many independent votes the votes of judges are worth, where votes of one judge are alike.

A model that takes votes for independent is as sure as their number says. The variance of Bradley-Terry scores by judge,
over that by vote (both sandwiches), is the number of votes that are worth one: Kish's design effect [Kish65]_. Votes
that weigh so much less have the likelihood, and the spread, of what judges know (a quasi-likelihood). So do votes whose
points are split and vary less than whole votes: they weigh more.

References
----------
.. [Kish65] L. Kish. Survey Sampling. Wiley, 1965.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.clusters import count_clusters
from rankbench.counts.units import Units, spread_of_points, units_of_counts
from rankbench.counts.votes import Votes, numbered_pairs
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.counts import ClusterCounts
from rankbench.ranking.certainty import judged_enough

__all__ = ["AlikeVotes", "alike_votes"]

_METHOD = "bradley-terry:penalty=firth"


class AlikeVotes(NamedTuple):
    """What is independent in a log.

    Attributes
    ----------
    worth : float
        How many votes are worth a whole one, for scores: 1 at least, times `points`.
    of_changes : float
        The same for changes of scores: what judges who vote early and late prefer cancels.
    units : Units
    judges : int
        How many there are; 0 where votes are what is independent.
    points : float
        Variance of the points of votes over that of whole votes; 1 where no points are split.
    """

    worth: float
    of_changes: float
    units: Units
    judges: int
    points: float = 1.0


def alike_votes(votes: Votes, place: NDArray[np.int64], late: NDArray[np.bool_]) -> AlikeVotes:
    """Return how many votes are worth one: `points` where not all votes have a judge, or all are one judge's.

    Parameters
    ----------
    votes : Votes
    place : ndarray of int64, shape (n,)
        Number of the time of each row.
    late : ndarray of bool, shape (n,)
        Between which votes, and the others, scores may change.
    """
    pair = numbered_pairs(votes.winners, votes.losers, len(votes.items))[2].astype(np.int64)
    # Scores walk: votes of one time tell how points vary, or those of half of the log.
    points = spread_of_points(votes, pair * (int(place[-1]) + 1) + place, 2 * pair + late)
    if votes.judges is None or votes.unsigned or int(votes.judges.max()) == 0:
        return AlikeVotes(points, points, units_of_counts(votes.counts()), 0, points)
    m = len(votes.items)
    by_judge = _by(votes, votes.winners, votes.losers, votes.judges, m)
    units = units_of_counts(by_judge, split=votes.rest is not None)
    spread, single = _spreads(votes, votes.winners, votes.losers, by_judge)
    worth = of_changes = _ratio(np.diag(spread), np.diag(single), judged_enough(units))
    # An item before and after is two items.
    ends = np.stack([votes.winners, votes.losers]) + m * late
    nodes, place = np.unique(ends, return_inverse=True)
    if len(nodes) <= MOST_DENSE:
        winners, losers = place.reshape(ends.shape)
        apart = _by(votes, winners, losers, votes.judges, len(nodes))
        enough = judged_enough(units_of_counts(apart, split=votes.rest is not None))
        both = np.intersect1d(nodes[enough & (nodes < m)], nodes[enough & (nodes >= m)] - m)
        early, after = np.searchsorted(nodes, both), np.searchsorted(nodes, both + m)
        if len(both):
            spread, single = (
                one[early, early] + one[after, after] - 2 * one[early, after]
                for one in _spreads(votes, winners, losers, apart)
            )
            of_changes = _ratio(spread, single, np.ones(len(both), np.bool_))
    return AlikeVotes(worth * points, of_changes * points, units, len(by_judge), points)


def _spreads(
    votes: Votes, winners: NDArray[np.integer], losers: NDArray[np.integer], by_judge: ClusterCounts
) -> list[NDArray[np.float64]]:
    """Return the covariances of scores by judge and by vote, (m, m)."""
    from rankbench.kinds.aggregator import Aggregator
    from rankbench.plugin.manager import get

    counts, aggregator = by_judge.counts, get(Aggregator, _METHOD)
    scores = aggregator.from_counts(counts)
    # Of votes with weights sums do not say what single ones weigh.
    each = None if votes.alike else _by(votes, winners, losers, votes.numbers, counts.m)
    return [aggregator.covariance(counts, scores, one) for one in (by_judge, each)]


def _ratio(spread: NDArray[np.float64], single: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    known = known & (single > 0)
    return max(float((spread[known] / single[known]).mean()), 1.0) if known.any() else 1.0


def _by(
    votes: Votes, winners: NDArray[np.integer], losers: NDArray[np.integer], judges: NDArray[np.integer], m: int
) -> ClusterCounts:
    weights = None if votes.alike else votes.weights
    return count_clusters(winners, losers, judges, ties=votes.ties, weights=weights, m=m)
