"""A ranking of a log's items with what is certain about it: intervals and rank ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import Units
from rankbench.ranking.certainty import MANY, item_rank_ranges, score_intervals
from rankbench.ranking.tallies import ItemTallies

__all__ = ["ItemRanking", "normal_deviations", "places", "ranked", "unknown", "with_covariance", "with_spread"]

_DRAWS = 2000
"""Normal deviations that stand for a covariance where the maximum over all pairs of items is wanted."""


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
    tallies : ItemTallies, optional
        How often each item was judged.
    """

    items: list[str]
    scores: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    scales: NDArray[np.int64]
    units: Units | None = None
    tallies: ItemTallies | None = None


def ranked(items: list[str], scores: NDArray[np.float64], scales: NDArray[np.int64]) -> ItemRanking:
    """Return a ranking without intervals: places by score within scales."""
    nothing = np.full(len(scores), np.nan)
    return ItemRanking(items, scores, nothing, nothing, *places(scores, scales), scales)


def places(scores: NDArray[np.float64], scales: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst place of each item by score alone, shapes (m,).

    1 + the number of items of its scale with a higher score, to m - the number with a lower
    one: equal scores share their places, and those of other scales may stand anywhere.
    """
    m = len(scores)
    low, high = np.ones(m, np.int64), np.full(m, m, np.int64)
    unit = 1e-9 * max(1.0, float(np.abs(scores).max(initial=0.0)))
    order = np.argsort(scales, kind="stable")
    for of_scale in np.split(order, np.flatnonzero(np.diff(scales[order])) + 1):
        own = scores[of_scale]
        rising = np.sort(own)
        low[of_scale] += len(own) - np.searchsorted(rising, own + unit, side="right")
        high[of_scale] -= np.searchsorted(rising, own - unit, side="left")
    return low, high


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
    low, high = item_rank_ranges(scores, covariance, scales, units, deviations)
    return ItemRanking(items, scores, lower, upper, low, high, scales, units)


def with_covariance(
    items: list[str],
    scores: NDArray[np.float64],
    scales: NDArray[np.int64],
    covariance: NDArray[np.float64],
    units: Units,
    seed: int,
) -> ItemRanking:
    """Return a ranking with the intervals that the covariance of its scores implies, shape (m, m).

    Parameters
    ----------
    seed : int
        Of the normal deviations that rank ranges are made of.
    """
    lower, upper = score_intervals(scores, np.sqrt(np.maximum(np.diag(covariance), 0)), units)
    low, high = item_rank_ranges(scores, covariance, scales, units, normal_deviations(covariance, seed))
    return ItemRanking(items, scores, lower, upper, low, high, scales, units)


def normal_deviations(covariance: NDArray[np.float64], seed: int) -> NDArray[np.float64] | None:
    """Return normal deviations with this covariance, shape (2000, m); None where `item_rank_ranges` uses none."""
    if len(covariance) > MANY:
        return None
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    deviations: NDArray[np.float64] = np.random.default_rng([seed, 6]).standard_normal((_DRAWS, len(values))) @ root.T
    return deviations
