"""Calls of aggregators: judgments of weight 0 left out, returned numbers checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import (
    Aggregator,
    ComparisonAggregator,
    CountAggregator,
    LabelAggregator,
    NearStart,
    OrderAggregator,
    Resampling,
    WithCovariance,
    finite_scores,
)
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, Scales
from rankbench.interfaces.queries import Comparisons, Orders, Selections
from rankbench.interfaces.resamples import Resamples


def call_aggregator(
    aggregator: Aggregator,
    judgments: PairCounts | Comparisons | Orders | Selections,
    m: int,
    near: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return an aggregator's scores of one query's judgments, shape (m,), checked to be finite.

    Judgments, and pairs, of weight 0 are left out.

    Parameters
    ----------
    aggregator : Aggregator
        Of these judgments, to scores.
    judgments : PairCounts, Comparisons, Orders or Selections
    m : int
        Number of items.
    near : ndarray of float64, shape (m,), optional
        Scores of fewer of the judgments, to start from; see `NearStart`.

    Raises
    ------
    ContenderDiverged
        The scores are not finite, or too far apart: see `rankbench.interfaces.aggregator.finite_scores`.
    InputError
        All weights are 0.
    PluginError
        The aggregator returns no numbers.
    SpecError
        There are more items than it can rank.
    TypeError
        The aggregator works on other judgments.
    """
    aggregator.check_size(m)
    match judgments:
        case PairCounts() if near is not None and isinstance(aggregator, NearStart):
            found, method = aggregator.from_counts_near(judgments.observed(), near), "from_counts_near"
        case PairCounts() if isinstance(aggregator, CountAggregator):
            found, method = aggregator.from_counts(judgments.observed()), "from_counts"
        case Comparisons() if isinstance(aggregator, ComparisonAggregator):
            found, method = aggregator.from_comparisons(judgments.weighed(), m), "from_comparisons"
        case Orders() if isinstance(aggregator, ComparisonAggregator | OrderAggregator):
            found, method = aggregator.from_orders(judgments.weighed(), m), "from_orders"
        case Selections() if isinstance(aggregator, SelectionAggregator):
            found, method = aggregator.from_selections(judgments, m), "from_selections"
        case _:
            raise _mismatch(aggregator, type(judgments).__name__.lower())
    return finite_scores(aggregator.checked_numbers(method, found), m)


def structure_of(aggregator: Aggregator, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
    """Return scores, shape (m,), or adjacency, shape (m, m), of comparisons, by the compiled form if there is one.

    Parameters
    ----------
    aggregator : Aggregator
        Of comparisons.
    comparisons : Comparisons
        Of one query, at least one of some weight; arrays may be read-only.
    m : int
        Number of items.
    """
    if not isinstance(aggregator, ComparisonAggregator):
        raise _mismatch(aggregator, "comparisons")
    said = comparisons.weighed()
    tied = said.ties is not None and bool(said.ties.any())
    # A class's own treatment of ties is not in its compiled form.
    own = type(aggregator).from_comparisons is not ComparisonAggregator.from_comparisons
    kernel = None if tied and own else aggregator.kernel()
    if kernel is None:
        return np.asarray(aggregator.checked_numbers("from_comparisons", aggregator.from_comparisons(said, m)))
    whole = said.without_ties()
    winners, losers = np.array(whole.winners, dtype=np.int32), np.array(whole.losers, dtype=np.int32)
    weights, params, work = np.array(whole.weights), np.array(kernel.params), np.zeros(kernel.work(m))
    if aggregator.structure == "scores":
        scores = np.zeros(m)
        kernel.function(winners, losers, weights, m, params, work, scores)
        return scores
    k = len(winners)
    tails, heads, edges = np.empty(k, dtype=np.int32), np.empty(k, dtype=np.int32), np.empty(k)
    count = kernel.function(winners, losers, weights, m, params, work, tails, heads, edges)
    adjacency = np.zeros((m, m))
    adjacency[tails[:count], heads[:count]] = edges[:count]
    return adjacency


def sample_structure(
    aggregator: Aggregator, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    """Return an aggregator's structure of a sample of k weighted comparisons: shape (m,) or (m, m)."""
    if not isinstance(aggregator, ComparisonAggregator):
        raise _mismatch(aggregator, "comparisons")
    return np.asarray(aggregator.checked_numbers("aggregate", aggregator.aggregate(winners, losers, weights, m)))


def label_structure(aggregator: Aggregator, labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the structure of labels by an aggregator that `needs_truth`, shape (m,)."""
    if not isinstance(aggregator, LabelAggregator):
        raise _mismatch(aggregator, "labels")
    return np.asarray(aggregator.checked_numbers("from_labels", aggregator.from_labels(labels)))


def scales_of(aggregator: Aggregator, counts: PairCounts) -> Scales:
    """Return which items an aggregator puts on one scale."""
    return aggregator.scales(counts) if isinstance(aggregator, CountAggregator) else counts.connected


def covariance_of(
    aggregator: Aggregator, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
) -> NDArray[np.float64]:
    """Return the covariance of an aggregator's scores by its formula, shape (m, m); see `WithCovariance`."""
    if not isinstance(aggregator, WithCovariance):
        raise TypeError(f"aggregator {aggregator.name!r} has no formula for the covariance of its scores")
    return np.asarray(aggregator.checked_numbers("covariance", aggregator.covariance(counts, scores, clusters)))


def replicates_of(aggregator: Aggregator, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
    """Return an aggregator's scores of resampled logs, shape (B, m); a row without scores is nan.

    An aggregator that is not `Resampling` scores one after the other. If it has `scales` of its own, a resample in
    which one of the log's scales falls apart has no scores: scores of its parts cannot be compared.

    Parameters
    ----------
    aggregator : Aggregator
        Of counts.
    scores : ndarray of float64, shape (m,)
        Scores of the log itself, to start from.
    resamples : Resamples
        B of them.
    """
    if isinstance(aggregator, Resampling):
        return np.asarray(aggregator.checked_numbers("replicates", aggregator.replicates(scores, resamples)))
    own = isinstance(aggregator, CountAggregator) and type(aggregator).scales is not CountAggregator.scales
    return scores_of_each(aggregator, resamples, scales_of(aggregator, resamples.counts) if own else None)


def scores_of_each(aggregator: Aggregator, resamples: Resamples, whole: Scales | None = None) -> NDArray[np.float64]:
    """Return the scores of resampled logs, computed in turn, shape (B, m); a row without scores is nan.

    Parameters
    ----------
    aggregator : Aggregator
        Of counts.
    resamples : Resamples
        B of them.
    whole : Scales, optional
        A resample whose `scales` cut one of these has no scores.
    """
    m = resamples.counts.m
    found = np.full((len(resamples), m), np.nan)
    for row, counts in zip(found, resamples, strict=True):
        if whole is not None and scales_of(aggregator, counts).cuts(whole):
            continue
        try:
            row[:] = call_aggregator(aggregator, counts, m)
        except (ContenderDiverged, InputError):
            continue
    return found


def _mismatch(aggregator: Aggregator, others: str) -> TypeError:
    own = "labels" if aggregator.needs_truth else aggregator.judgments
    return TypeError(f"aggregator {aggregator.name!r} works on {own}, not on {others}")
