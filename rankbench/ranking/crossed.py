"""Votes that are alike in two ways, by judge and by query: intervals that allow for both.

References
----------
.. [CGM11] A. C. Cameron, J. B. Gelbach and D. L. Miller. Robust inference with multiway clustering.
   Journal of Business & Economic Statistics 29(2), 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import Units, units_of_counts
from rankbench.counts.votes import Votes, coded_votes, load_votes, query_numbers
from rankbench.errors import InputError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.crossed_resamples import crossed_resamples
from rankbench.kinds.resamples import resamples_of
from rankbench.ranking.certainty import FEW
from rankbench.ranking.logs import CountedVotes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_CROSSED", "CrossedVotes", "crossed_votes"]

MOST_CROSSED = 50_000_000
"""Most votes whose judges and queries are held: 1 GB."""

_NEGATIVE = 1e-10
"""Share of the largest eigenvalue from which on a negative one is more than rounding."""


@dataclass(frozen=True, eq=False)
class CrossedVotes(CountedVotes):
    """Votes as sums by pair, and of each vote its judge and its query.

    Attributes
    ----------
    judge, query : ndarray of int32, shape (n,)
        Numbers from 0, by name.
    cell : ndarray of int32, shape (n,)
        Three times the pair of each vote, plus 0 where `low` won, 1 where `high` did, 2 for a tie.
    weight : ndarray of float64, shape (n,)
    """

    judge: NDArray[np.int32] = field(kw_only=True)
    query: NDArray[np.int32] = field(kw_only=True)
    cell: NDArray[np.int32] = field(kw_only=True)
    weight: NDArray[np.float64] = field(kw_only=True)

    def by(self, unit: NDArray[np.integer]) -> ClusterCounts:
        """Return the votes by a unit, numbered in any way, shape (n,): a row a vote, none of them summed up."""
        # As resamples take them: what a cluster said in the order of the pairs.
        order = np.lexsort((self.cell, unit))
        ordered = unit[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
        return ClusterCounts(self.counts, [""] * (len(starts) - 1), starts, self.cell[order], self.weight[order])

    @cached_property
    def of_judges(self) -> Units:
        """Judges, and how much of them there is."""
        return units_of_counts(self.by(self.judge))

    @cached_property
    def of_queries(self) -> Units:
        """Queries, and how much of them there is."""
        return units_of_counts(self.by(self.query))

    @cached_property
    def units(self) -> Units:
        """Of judges and queries the fewer, for the log and for each item: one fewer degrees of freedom [CGM11]_."""
        if self.known_units is not None:
            return self.known_units
        one, other = self.of_judges, self.of_queries
        return Units(
            min(one.count, other.count),
            min(one.effective, other.effective),
            np.minimum(one.items, other.items),
            one.votes,
            np.minimum(one.of_variance, other.of_variance),
        )

    def covariance(self, aggregator: Aggregator, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
        """Return the two-way sandwich, (m, m): by judge, plus by query, less by both [CGM11]_.

        Votes of one judge on one query are a cluster of the third term: these clusters are put in order for it, and
        never counted. Where the sum is not positive semidefinite its negative eigenvalues are set to 0, and a
        note says so.
        """
        total = np.zeros((len(scores), len(scores)))
        for sign, unit in ((1.0, self.judge), (1.0, self.query), (-1.0, self._both)):
            total += sign * aggregator.covariance(self.counts, scores, self.by(unit))
        kept, clipped = _clipped(total)
        if not clipped:
            return kept, []
        return kept, [
            f"the sandwich by judge and query had {clipped} negative eigenvalue{'s' * (clipped > 1)} of {len(scores)}, "
            "which are set to 0: some intervals may be a little too wide"
        ]

    def replicates(
        self, aggregator: Aggregator, scores: NDArray[np.float64], resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the scores of crossed resamples, (B, m): judges and queries are drawn, each by itself.

        These draw chance with the judges and with the queries, and their variance is too large by up to twice that of
        the votes of one judge on one query. So each score's deviations are scaled to the variance by judge, plus that
        by query, less that by both, as [CGM11]_ adds them up, each from resamples of its own; to the larger of the
        first two at least.
        """
        units = self.judge, self.query
        drawn = aggregator.replicates(
            scores, crossed_resamples(self.counts, units, self.cell, self.weight, resamples, seed)
        )

        def variance(unit: NDArray[np.integer]) -> NDArray[np.float64]:
            some = self.by(unit)
            found = aggregator.replicates(scores, resamples_of(some, resamples, seed))
            return _spread_of(found) * len(some) / (len(some) - 1)

        judges, queries, both = variance(self.judge), variance(self.query), variance(self._both)
        wanted = np.maximum(judges + queries - both, np.maximum(judges, queries))
        count = self.units.count
        # `rank` widens what fewer units than that spread by.
        had = _spread_of(drawn) * count / (count - 1)
        factor = np.sqrt(np.divide(wanted, had, out=np.ones(len(scores)), where=had > 0))
        factor[~np.isfinite(factor)] = 1.0
        scaled: NDArray[np.float64] = scores + (drawn - scores) * factor
        return scaled

    @property
    def _both(self) -> NDArray[np.int64]:
        """Number of each vote's judge and query together, (n,)."""
        return self.judge.astype(np.int64) * (int(self.query.max()) + 1) + self.query

    def few_units(self) -> list[str]:
        """Return what a reader of intervals must know where judges or queries are few."""
        return [
            f"only {of.count} {what}, who count like {of.effective:.1f} equal ones: intervals are rough, and wide"
            for of, what in ((self.of_judges, "judges"), (self.of_queries, "queries"))
            if of.effective < FEW
        ]

    def notes(self, aggregator: Aggregator) -> list[str]:
        """Return what a reader of these scores must know."""
        return [*super().notes(aggregator), *self.few_units()]


def crossed_votes(frame: pl.LazyFrame) -> CrossedVotes:
    """Load votes with their judges and queries.

    Parameters
    ----------
    frame : LazyFrame
        Comparisons in the schema of `rankbench.data.tables`.

    Raises
    ------
    SpecError
        The log does not name two judges and two queries, or has too many votes.
    InputError
        The judge of some votes is missing.
    """
    names = frame.collect_schema().names()
    if "judge" not in names:
        raise SpecError(
            "the log does not say who judged (judge=COLUMN in --columns says where it stands); take --intervals "
            "bootstrap"
        )
    kept = [name for name in ("query_id", "winner", "loser", "judge", "weight", "tie") if name in names]
    table = coded_votes(frame.select(kept))
    votes = load_votes(table)
    if votes.judges is None:
        raise InputError(
            f"the judge is missing in {votes.unsigned or len(votes):,} of {len(votes):,} votes", column="judge"
        )
    if len(votes) > MOST_CROSSED:
        raise SpecError(
            f"intervals by judge and query hold both of every vote: {len(votes):,} votes are too many (at most "
            f"{MOST_CROSSED:,}); take --intervals judges"
        )
    query = query_numbers(table)
    for units, what, other in ((votes.judges, "judge", "bootstrap"), (query, "query", "judges")):
        if units.max() == 0:
            raise SpecError(f"all votes are of one {what}; take --intervals {other}")
    return _crossed(votes, votes.judges, query)


def _crossed(votes: Votes, judge: NDArray[np.int32], query: NDArray[np.int32]) -> CrossedVotes:
    counts = votes.counts()
    weight = np.ascontiguousarray(votes.weights)
    return CrossedVotes(counts, judge=judge, query=query, cell=_cells(votes, counts), weight=weight)


def _cells(votes: Votes, counts: PairCounts) -> NDArray[np.int32]:
    """Return the pair and the outcome of each vote, shape (n,)."""
    low, high = np.minimum(votes.winners, votes.losers), np.maximum(votes.winners, votes.losers)
    known = counts.low.astype(np.int64) * counts.m + counts.high
    pair = np.searchsorted(known, low.astype(np.int64) * counts.m + high)
    outcome = np.where(votes.ties, 2, votes.winners > votes.losers)
    cells: NDArray[np.int32] = (3 * pair + outcome).astype(np.int32)
    return cells


def _spread_of(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of the scores of resamples, (m,), of those that have scores; nan of none."""
    kept = drawn[np.isfinite(drawn).all(axis=1)]
    variance: NDArray[np.float64] = kept.var(axis=0, ddof=1) if len(kept) > 1 else np.full(drawn.shape[1], np.nan)
    return variance


def _clipped(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the nearest positive semidefinite matrix, and how many eigenvalues are set to 0 for it."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    negative = values < -_NEGATIVE * max(float(values[-1]), 0.0)
    if not negative.any():
        return matrix, 0
    kept: NDArray[np.float64] = (vectors * np.maximum(values, 0)) @ vectors.T
    return kept, int(negative.sum())
