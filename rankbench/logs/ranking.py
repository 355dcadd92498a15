"""A ranking of a log's items with what is certain about it: intervals and rank ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.base import Aggregator
from rankbench.data.queries import Comparisons
from rankbench.errors import ContenderDiverged
from rankbench.logs.votes import Votes

__all__ = ["Cluster", "ItemRanking", "by_pair", "rank_items", "rank_ranges", "scales_of"]

Cluster: TypeAlias = Literal["judge", "vote"]
"""What is resampled: judges with all their votes, or single votes."""

FEW = 30
"""With fewer clusters a bootstrap of a maximum is too coarse: Bonferroni instead."""

_MANY = 500
"""With more items the maximum over all pairs takes long, and gains little over Bonferroni."""

_ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class ItemRanking:
    """Scores of a log's items.

    Attributes
    ----------
    items : list of str, length m
    scores, lower, upper : ndarray of float64, shape (m,)
        Scores with their own 95% intervals; nan where nothing can be resampled.
    low, high : ndarray of int64, shape (m,)
        Places that an item may hold, 1 being the best; all ranges together at 95%.
    scales : ndarray of int64, shape (m,)
        Items of different numbers were never compared, not even through others: their
        scores stand on scales of their own, and nothing is said about their order.
    clusters : int
        How many were resampled.
    """

    items: list[str]
    scores: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    scales: NDArray[np.int64]
    clusters: int


def by_pair(comparisons: Comparisons, m: int) -> Comparisons:
    """Return at most three comparisons a pair that have the same sums: won, lost and tied.

    An aggregator that does not depend on the order of judgments makes the same of them.
    """
    ties = np.zeros(len(comparisons), np.bool_) if comparisons.ties is None else comparisons.ties
    first = np.where(ties, np.minimum(comparisons.winners, comparisons.losers), comparisons.winners).astype(np.int64)
    second = np.where(ties, np.maximum(comparisons.winners, comparisons.losers), comparisons.losers)
    keys, at = np.unique((first * m + second) * 2 + ties, return_inverse=True)
    pairs = keys // 2
    return Comparisons(
        np.array([0, len(keys)], dtype=np.int64),
        (pairs // m).astype(np.int32),
        (pairs % m).astype(np.int32),
        np.bincount(at.reshape(-1), comparisons.weights, len(keys)).astype(np.float64),
        (keys % 2).astype(np.bool_),
    )


def rank_items(
    votes: Votes, aggregator: Aggregator, *, replicates: int = 500, cluster: Cluster = "judge", seed: int = 0
) -> ItemRanking:
    """Rank items, and bootstrap clusters of votes for what is certain about it.

    A replicate takes G - 1 of the G clusters with replacement [Owen07]_. Scores get Student
    intervals with the replicates' standard deviation and G - 1 degrees of freedom. The rank
    range of an item is 1 + the number of items that are significantly better, to m - the
    number that are significantly worse, by simultaneous max-t intervals of all pairwise
    differences [MWR24]_.

    Parameters
    ----------
    votes : Votes
    aggregator : Aggregator
        Of comparisons, to scores.
    replicates : int
        0: neither intervals nor ranges (which are then 1 to m).
    cluster : {"judge", "vote"}
        ``judge`` falls back to votes where the log names fewer than two judges.
    seed : int

    Raises
    ------
    ContenderDiverged
        Scores are not finite.
    """
    m = len(votes.items)
    sequential = "sequential" in aggregator.properties
    scores = _scores(aggregator, votes.comparisons(), m, sequential)
    scales = scales_of(votes)
    groups = votes.judges if cluster == "judge" and votes.judges is not None else None
    if groups is None or groups.max() == 0:
        groups = np.arange(len(votes), dtype=np.int64)
    clusters = int(groups.max()) + 1
    nothing = np.full(m, np.nan)
    wide = np.ones(m, dtype=np.int64), np.full(m, m, dtype=np.int64)
    if replicates == 0 or clusters < 2:
        return ItemRanking(votes.items, scores, nothing, nothing, *wide, scales, clusters)
    from scipy.special import stdtrit

    from rankbench.results.stats.bootstrap import counts

    weights = counts(np.random.default_rng([seed, 3]), replicates, clusters)
    # Sums keep their size although one cluster fewer is drawn: smoothing weighs the same.
    weights *= clusters / max(clusters - 1, 1)
    drawn = np.empty((replicates, m))
    for b, weight in enumerate(weights):
        own = votes.weights * weight[groups]
        rows = np.flatnonzero(own > 0)
        said = replace(votes.comparisons(rows), weights=own[rows])
        drawn[b] = _scores(aggregator, said, m, sequential)
    se = drawn.std(axis=0, ddof=1)
    half = -stdtrit(clusters - 1, 0.025) * se
    covariance = np.cov(drawn, rowvar=False).reshape(m, m)
    low, high = rank_ranges(scores, covariance, scales, clusters, drawn - scores)
    return ItemRanking(votes.items, scores, scores - half, scores + half, low, high, scales, clusters)


def _scores(aggregator: Aggregator, comparisons: Comparisons, m: int, sequential: bool) -> NDArray[np.float64]:
    said = comparisons if sequential else by_pair(comparisons, m)
    scores = np.asarray(aggregator.from_comparisons(said, m), dtype=np.float64)
    if scores.shape != (m,) or not np.isfinite(scores).all():
        raise ContenderDiverged("scores are not one finite number an item")
    return scores


def scales_of(votes: Votes) -> NDArray[np.int64]:
    """Return a number for each item, shape (m,): the same where a chain of comparisons connects them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = len(votes.items)
    graph = coo_array((np.ones(len(votes)), (votes.winners, votes.losers)), shape=(m, m))
    labels: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def rank_ranges(
    scores: NDArray[np.float64],
    covariance: NDArray[np.float64],
    scales: NDArray[np.int64],
    clusters: int,
    deviations: NDArray[np.float64] | None = None,
    level: float = 0.95,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst place of each item, shapes (m,): all ranges hold at once.

    1 + the number of items that are significantly better, to m - the number that are
    significantly worse, by simultaneous intervals of all differences within scales [MWR24]_.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
    covariance : ndarray of float64, shape (m, m)
    scales : ndarray of int, shape (m,)
    clusters : int
        Number of independent units behind the covariance.
    deviations : ndarray of float64, shape (B, m), optional
        Of replicates from the scores: max-t intervals. Without, or with fewer than 30
        clusters, or more than 500 items: Bonferroni's.
    level : float, in (0, 1)
    """
    from scipy.special import ndtr, stdtrit

    m = len(scores)
    variance = np.diag(covariance)
    se = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    same = scales[:, None] == scales
    live = same & (se > _ZERO * max(1.0, float(np.abs(scores).max(initial=0.0))))
    np.fill_diagonal(live, False)
    compared = int(live.sum()) // 2
    if not compared:
        return np.ones(m, dtype=np.int64), np.full(m, m, dtype=np.int64)
    inverse = np.where(live, 1.0, 0.0) / np.where(live, se, 1.0)
    local = (1 - level) / compared
    if deviations is not None and clusters >= FEW and m <= _MANY:
        largest = np.array([np.abs((d[:, None] - d) * inverse).max() for d in deviations])
        local = min(max(local, float(2 * ndtr(-np.quantile(largest, level)))), 1 - level)
    critical = -float(stdtrit(clusters - 1, local / 2))
    better = (scores[:, None] - scores) * inverse > critical
    # No spread at all and different scores: certain, as far as this log goes.
    certain = same & ~live & (scores[:, None] - scores > _ZERO)
    better |= certain
    return 1 + better.sum(axis=0).astype(np.int64), m - better.sum(axis=1).astype(np.int64)
