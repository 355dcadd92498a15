"""Categories of votes are ranked together, with the covariance of all their scores."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.errors import ContenderDiverged, InputError, SpecError, option
from rankbench.interfaces.aggregator import MOST_DENSE, Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of, scales_of
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.logs.count import count_pairs
from rankbench.logs.votes import Votes, in_log_order, load_votes
from rankbench.ranking.expected_votes import drawn_first, expected_votes, refit_spread
from rankbench.ranking.sampling_units import Units, grade_variance_ratio, units_of_counts
from rankbench.stats.random_effects import CategoryEstimates

_DIFFERENCES = 300
"""Of scores of drawn votes, from which it is estimated how much more scores of few votes vary."""

MOST_HELD = 50_000_000
"""Most votes whose categories are held: 1 GB."""


@dataclass(frozen=True, eq=False)
class CategorySample:
    """Scores by one method from the votes of each category.

    Attributes
    ----------
    names : list of str, length C
        Names of the categories that have scores.
    categories : list of CategoryEstimates, length C
    counts : list of PairCounts, length C
        Counts on the items of each category.
    errors : list of ndarray
        Covariances of the categories' scores.
    joint : ndarray of float64, shape (n, n), optional
        Covariance of all categories' scores, where judges vote in several categories.
    units : list of Units, length C
    whole : Units
        Units of the log, for all m items.
    notes : list of str
    """

    names: list[str]
    categories: list[CategoryEstimates]
    counts: list[PairCounts]
    errors: list[NDArray[np.float64]]
    joint: NDArray[np.float64] | None
    units: list[Units]
    whole: Units
    notes: list[str]


def category_votes(frame: pl.LazyFrame) -> Votes:
    """Load votes whose queries are their categories.

    Parameters
    ----------
    frame : LazyFrame
        Comparisons in the schema of `rankbench.data.tables`.

    Raises
    ------
    SpecError
        There is one category, or more votes than are held.
    InputError
        See `rankbench.logs.votes.load_votes`.
    """
    votes = load_votes(in_log_order(frame))
    if len(votes) > MOST_HELD:
        raise SpecError(f"{votes.count:,} votes by category are too many to be held (at most {MOST_HELD:,})")
    if len(votes.query_names) < 2:
        raise SpecError(f"all votes are of one category: there is nothing to pool; leave {option('by')} out")
    return votes


def _counts(votes: Votes) -> PairCounts | ClusterCounts:
    """Return the sums of all votes, by judge, or by vote if they have weights."""
    if votes.judge_count > 1 and votes.judges is not None:
        return votes.clusters(votes.judges)
    return votes.counts() if votes.alike else votes.clusters(votes.numbers)


def estimated_categories(log: Votes, aggregator: Aggregator, seed: int) -> CategorySample:
    """Return the scores of each category with the covariance of their errors.

    Errors are those of the aggregator's sandwich, by judge where judges are independent; then scores of different
    categories depend on one another through the judges of both, unless these are too many scores for a matrix.
    Weights of categories are those of the sandwich of votes with one variance more for judges' tastes: a sandwich of
    fewer judges than items has no inverse. The formula is of many votes: of few, scores vary by up to a fifth more.
    Draws of votes from the fitted model of each category, ranked in turn, tell by how much.

    Raises
    ------
    SpecError
        No category has scores, or there are more items than the aggregator can rank.
    """
    m = len(log.items)
    order = np.argsort(log.queries, kind="stable")
    ends = np.cumsum(np.bincount(log.queries, minlength=len(log.query_names)))
    common = call_aggregator(aggregator, log.counts(), m)
    # Ties vary less already, as ties.
    points = grade_variance_ratio(log, np.where(log.ties, -1, log.groups).astype(np.int64))
    some, left = list[_Estimate](), list[tuple[int, str]]()
    for number, rows in enumerate(np.split(order, ends[:-1])):
        try:
            some.append(_estimate(log, aggregator, number, rows, common, points))
        except (InputError, ContenderDiverged) as error:
            left.append((len(rows), f"rankbench leaves out category {short_repr(log.query_names[number])}: {error}"))
    # The largest first: what many notes hide is the least.
    notes = [said for _, said in sorted(left, key=lambda one: -one[0])]
    if not some:
        raise SpecError(f"no category can be ranked: {notes[0]}")
    whole = units_of_counts(_counts(log), split=log.rest is not None)
    some, joint = _widened(some, aggregator, seed), None
    errors, noises = [one.by_vote for one in some], [one.expected for one in some]
    if log.judge_count > 1:
        if (joint := _joint(log, aggregator, some, m)) is None:
            notes.append(
                f"{_cells(some):,} scores of categories are too many for one matrix: rankbench takes judgments of one "
                "judge in different categories for independent"
            )
            errors = [one.by_judge() for one in some]
        else:
            starts = np.cumsum([0, *(len(one.items) for one in some)])
            errors = [joint[a:b, a:b] for a, b in itertools.pairwise(starts)]
        noises = _tasted(some, errors, joint, m)
    return CategorySample(
        [log.query_names[one.number] for one in some],
        [CategoryEstimates(one.items, one.scores, noise, one.scales) for one, noise in zip(some, noises, strict=True)],
        [one.counts for one in some],
        errors,
        joint,
        [one.units() for one in some],
        whole,
        notes,
    )


@dataclass(frozen=True, eq=False)
class _Estimate:
    """One category by number: its items by number, their scores, and its votes.

    `by_vote` is the sandwich of its votes; `expected` is that of `usual`, as many votes on the same pairs that go as
    the whole log lets expect. A category's own would be large where its scores are, by chance or not, far apart.
    """

    number: int
    items: NDArray[np.int64]
    scores: NDArray[np.float64]
    scales: NDArray[np.int64]
    by_vote: NDArray[np.float64]
    usual: PairCounts
    expected: NDArray[np.float64]
    counts: PairCounts
    clusters: ClusterCounts | None
    aggregator: Aggregator
    split: bool

    def units(self) -> Units:
        return units_of_counts(self.counts if self.clusters is None else self.clusters, split=self.split)

    def by_judge(self) -> NDArray[np.float64]:
        """Return the sandwich by judge; that of votes where all are one judge's."""
        if self.clusters is None or len(self.clusters.clusters) < 2:
            return self.by_vote
        return covariance_of(self.aggregator, self.counts, self.scores, self.clusters)


def _cells(some: Sequence[_Estimate]) -> int:
    return sum(len(one.items) for one in some)


def _widened(some: Sequence[_Estimate], aggregator: Aggregator, seed: int) -> list[_Estimate]:
    """Return the estimates with expected covariances scaled by the spread of refits to simulated votes."""
    rng, sums, differences = np.random.default_rng([seed, 9]), 0.0, 0
    times = -(-_DIFFERENCES // max(_cells(some), 1))
    for one in sorted(some, key=lambda one: drawn_first(one.usual)):
        more, free = refit_spread(one.usual, aggregator, one.expected, times, rng)
        sums, differences = sums + more, differences + free
    share = sums / differences if differences and sums > 0 else 1.0
    return [replace(one, expected=share * one.expected) for one in some]


def _estimate(
    log: Votes, aggregator: Aggregator, number: int, rows: NDArray[np.int64], common: NDArray[np.float64], points: float
) -> _Estimate:
    """Return an aggregator's estimate of a category.

    `common` are the scores of the whole log, `points` is the variance of graded votes over whole ones.
    """
    split = log.rest is not None
    winners, losers = log.winners[rows], log.losers[rows]
    items = np.unique(np.concatenate([winners, losers])).astype(np.int64)
    if len(rows) < 2:
        raise InputError("it has one vote")
    ends = np.searchsorted(items, winners), np.searchsorted(items, losers)
    clusters = log.single(rows, ends, len(items))
    counts = count_pairs(*ends, ties=log.ties[rows], m=len(items)) if clusters is None else clusters.counts
    scores = call_aggregator(aggregator, counts, counts.m)
    by_vote = covariance_of(aggregator, counts, scores, clusters)
    squares = None
    if clusters is not None:
        sizes = np.diff(clusters.starts)
        of_vote = np.repeat(np.bincount(np.repeat(np.arange(len(sizes)), sizes), clusters.weights), sizes)
        squares = points * np.bincount(clusters.cells // 3, clusters.weights * of_vote, len(counts)).astype(np.float64)
    usual = expected_votes(common, counts, items, squares)
    if log.judge_count > 1 and log.judges is not None:
        clusters = log.clusters(log.judges[rows], rows, ends, len(items))
    scales = scales_of(aggregator, counts).scale_of.astype(np.int64)
    expected = covariance_of(aggregator, usual, call_aggregator(aggregator, usual, usual.m), None)
    return _Estimate(number, items, scores, scales, by_vote, usual, expected, counts, clusters, aggregator, split)


def _joint(log: Votes, aggregator: Aggregator, some: Sequence[_Estimate], m: int) -> NDArray[np.float64] | None:
    """Return the sandwich by judge of the scores of all categories, (n, n): each score is an item of its own."""
    n = _cells(some)
    if n > MOST_DENSE:
        return None
    place = np.full((len(log.query_names), m), -1)
    first = 0
    for one in some:
        place[one.number, one.items] = np.arange(first, first + len(one.items))
        first += len(one.items)
    winners = place[log.queries, log.winners]
    rows = np.flatnonzero(winners >= 0)
    losers = place[log.queries[rows], log.losers[rows]]
    judges = log.judges[rows] if log.judges is not None else rows
    said = log.clusters(judges, rows, (winners[rows], losers), n)
    scores = np.concatenate([one.scores for one in some])
    return None if len(said.clusters) < 2 else covariance_of(aggregator, said.counts, scores, said)


def _tasted(
    some: Sequence[_Estimate], errors: list[NDArray[np.float64]], joint: NDArray[np.float64] | None, m: int
) -> list[NDArray[np.float64]]:
    """Return the covariances that categories are weighted by: of votes, and of tastes of the judges of a category.

    Tastes of judges add to the errors of a category beyond their addition to all categories alike, which moves the
    common scores alone. This excess is taken for alike in all items, and to fall with the effective number of judges.
    """
    free = np.array([len(one.items) - len(np.unique(one.scales)) for one in some], dtype=np.float64)
    excess = np.array([np.trace(error - one.by_vote) for error, one in zip(errors, some, strict=True)])
    judges = np.array([max(one.units().effective, 1.0) for one in some])
    alike = 0.0
    if joint is not None:
        item = np.concatenate([one.items for one in some])
        times = np.bincount(item, minlength=m)
        pairs = float((times * (times - 1)).sum())
        same = sum(float(joint[np.ix_(rows, rows)].sum()) for rows in (np.flatnonzero(item == i) for i in range(m)))
        share = float(free.sum()) / len(item)
        alike = max((same - float(np.trace(joint))) / (pairs * share), 0.0) if pairs * share > 0 else 0.0
    spread = float((free / judges).sum())
    taste = max(float((excess - free * alike).sum()) / spread, 0.0) if spread > 0 else 0.0
    return [one.expected + taste / many * differences(one.scales) for one, many in zip(some, judges, strict=True)]


def differences(scales: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the projection on differences within scales, (k, k)."""
    same = (scales[:, None] == scales).astype(np.float64)
    return np.asarray(np.eye(len(scales)) - same / same.sum(axis=1))
