"""A ranking of a log's items with what is certain about it: intervals and rank ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import Units, units_of_votes
from rankbench.counts.votes import Votes
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.queries import Comparisons
from rankbench.ranking.certainty import check_size, rank_ranges, score_intervals
from rankbench.ranking.replicates import finite_scores, scores_from_counts, solved_on_counts

__all__ = [
    "Cluster",
    "ItemRanking",
    "PairSums",
    "clusters_of",
    "rank_items",
    "scales_of",
    "scores_of",
    "unknown",
    "with_spread",
]

Cluster: TypeAlias = Literal["judge", "vote"]
"""What is resampled: judges with all their votes, or single votes."""


@dataclass(frozen=True, eq=False)
class ItemRanking:
    """Scores of a log's items.

    Attributes
    ----------
    items : list of str, length m
    scores, lower, upper : ndarray of float64, shape (m,)
        Scores with their own 95% intervals; nan where the log does not show how certain a
        score is: see `rankbench.ranking.certainty`.
    low, high : ndarray of int64, shape (m,)
        Places that an item may hold, 1 being the best; all ranges together at 95%. From 1 to
        m where nothing is known.
    scales : ndarray of int64, shape (m,)
        Items of different numbers were never compared, not even through others: their
        scores stand on scales of their own, and nothing is said about their order.
    units : Units, optional
        Of which resamples were made (judges, votes, ballots, sessions); None without intervals.
    """

    items: list[str]
    scores: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    scales: NDArray[np.int64]
    units: Units | None = None


class PairSums:
    """Comparisons as at most three a pair that have the same sums: won, lost and tied.

    An aggregator that does not depend on the order of judgments makes the same of them.

    Parameters
    ----------
    comparisons : Comparisons
        Of one query.
    m : int
        Number of its items.
    """

    def __init__(self, comparisons: Comparisons, m: int) -> None:
        ties = np.zeros(len(comparisons), np.bool_) if comparisons.ties is None else comparisons.ties
        winners, losers = comparisons.winners, comparisons.losers
        first = np.where(ties, np.minimum(winners, losers), winners).astype(np.int64)
        second = np.where(ties, np.maximum(winners, losers), losers)
        keys, at = np.unique((first * m + second) * 2 + ties, return_inverse=True)
        self._at = at.reshape(-1)
        self._ties = (keys % 2).astype(np.bool_)
        self._winners, self._losers = (part.astype(np.int32) for part in np.divmod(keys // 2, m))

    def weighted(self, weights: NDArray[np.float64]) -> Comparisons:
        """Return the sums of the comparisons with these weights, shape (n,), 0 for those left out."""
        sums = np.bincount(self._at, weights, len(self._ties)).astype(np.float64)
        kept = np.flatnonzero(sums > 0)
        return Comparisons(
            np.array([0, len(kept)], dtype=np.int64),
            self._winners[kept],
            self._losers[kept],
            sums[kept],
            self._ties[kept],
        )


def scores_of(aggregator: Aggregator, votes: Votes, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return an aggregator's scores from the votes at `rows`, shape (m,).

    It is shown the votes themselves, since it may count them; `bradley-terry` and `davidson` are
    solved on sums by pair, however many items there are.

    Raises
    ------
    ContenderDiverged
        They are not one finite number an item, or too far apart: see `finite_scores`.
    SpecError
        There are more items than the aggregator can rank, or its scores have another shape.
    """
    if solved_on_counts(aggregator):
        return scores_from_counts(aggregator, votes.counts(rows))
    m = len(votes.items)
    aggregator.check_size(m)
    return finite_scores(aggregator.from_comparisons(votes.comparisons(rows), m), m)


def rank_items(
    votes: Votes, aggregator: Aggregator, *, replicates: int = 500, cluster: Cluster = "judge", seed: int = 0
) -> ItemRanking:
    """Rank items, and bootstrap clusters of votes for what is certain about it.

    A replicate takes as many clusters as there are, with replacement. See `with_spread` for
    what is made of the replicates.

    Parameters
    ----------
    votes : Votes
    aggregator : Aggregator
        Of comparisons, to scores. One that declares itself ``irregular`` gets no intervals.
    replicates : int
        0: neither intervals nor ranges (which are then 1 to m).
    cluster : {"judge", "vote"}
        ``judge`` falls back to votes where the log names fewer than two judges.
    seed : int

    Raises
    ------
    ContenderDiverged
        Scores are not finite, or too far apart, of the log or of a resample.
    InputError
        More items than intervals can compare.
    SpecError
        More items than the aggregator can rank.
    """
    m = len(votes.items)
    if replicates and "irregular" not in aggregator.properties:
        check_size(m)
    # Made of sums by pair, as its resamples are; unless the order of votes counts.
    sequential = "sequential" in aggregator.properties
    scores = scores_of(aggregator, votes) if sequential else scores_from_counts(aggregator, votes.counts())
    scales = scales_of(votes)
    groups = clusters_of(votes, cluster)
    units = units_of_votes(votes, groups)
    if replicates == 0 or units.count < 2 or "irregular" in aggregator.properties:
        return unknown(votes.items, scores, scales, units)
    again = _scorer(votes, aggregator)
    rng = np.random.default_rng([seed, 3])
    drawn = np.empty((replicates, m))
    for row in drawn:
        times = np.bincount(rng.integers(units.count, size=units.count), minlength=units.count)
        row[:] = again(times[groups])
    return with_spread(votes.items, scores, scales, drawn, units)


def clusters_of(votes: Votes, cluster: Cluster) -> NDArray[np.int64]:
    """Return the number of the cluster of each vote, shape (n,)."""
    if cluster == "judge" and votes.judges is not None and votes.judges.max() > 0:
        return votes.judges
    return np.arange(len(votes), dtype=np.int64)


def unknown(
    items: list[str], scores: NDArray[np.float64], scales: NDArray[np.int64], units: Units | None = None
) -> ItemRanking:
    """Return a ranking of which nothing is certain: any item may hold any place."""
    m, nothing = len(items), np.full(len(items), np.nan)
    wide = np.ones(m, dtype=np.int64), np.full(m, m, dtype=np.int64)
    return ItemRanking(items, scores, nothing, nothing, *wide, scales, units)


def with_spread(
    items: list[str],
    scores: NDArray[np.float64],
    scales: NDArray[np.int64],
    drawn: NDArray[np.float64],
    units: Units,
) -> ItemRanking:
    """Return a ranking with the intervals that the scores of resamples imply.

    G units drawn from G spread by (G - 1) / G of the variance of their mean: deviations from
    the scores are widened to make up for it.

    Parameters
    ----------
    drawn : ndarray of float64, shape (B, m)
        Scores of resamples of as many units as there are, two at least.
    units : Units
        Two at least.
    """
    m = len(items)
    deviations = (drawn - scores) * np.sqrt(units.count / (units.count - 1))
    covariance = np.cov(deviations, rowvar=False).reshape(m, m)
    lower, upper = score_intervals(scores, np.sqrt(np.diag(covariance)), units)
    low, high = rank_ranges(scores, covariance, scales, units, deviations)
    return ItemRanking(items, scores, lower, upper, low, high, scales, units)


def _scorer(votes: Votes, aggregator: Aggregator) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """Return what makes scores, (m,), of the votes so many times each, (n,)."""
    m = len(votes.items)
    if "sequential" not in aggregator.properties:
        # Sorted once: what is resampled are weights.
        sums = PairSums(votes.comparisons(), m)
        return lambda times: finite_scores(aggregator.from_comparisons(sums.weighted(votes.weights * times), m), m)
    # In their order, a vote that was drawn twice two times in a row.
    rows = np.arange(len(votes))
    return lambda times: scores_of(aggregator, votes, np.repeat(rows, times))


def scales_of(votes: Votes) -> NDArray[np.int64]:
    """Return a number for each item, shape (m,): the same where a chain of comparisons connects them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = len(votes.items)
    graph = coo_array((np.ones(len(votes)), (votes.winners, votes.losers)), shape=(m, m))
    labels: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels
