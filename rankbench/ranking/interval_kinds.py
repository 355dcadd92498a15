"""Facts of a log of votes decide on the kind of its intervals; some allow for votes alike by judge and by query.

References
----------
.. [CGM11] A. C. Cameron, J. B. Gelbach and D. L. Miller. Robust inference with multiway clustering.
   Journal of Business & Economic Statistics 29(2), 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.system import check_memory
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.aggregator import Aggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import covariance_of, replicates_of
from rankbench.interfaces.pair_counts import ClusterCounts
from rankbench.interfaces.resamples import crossed_resamples, resamples_of
from rankbench.logs.count import LogPart
from rankbench.logs.count_log import count_frame
from rankbench.logs.votes import in_log_order, load_votes
from rankbench.ranking.ranked_log import CountedVotes
from rankbench.ranking.sampling_units import Units, units_of_parts
from rankbench.stats.simultaneous import FEW

Intervals: TypeAlias = Literal["bootstrap", "judges", "sandwich", "judges+queries"]
"""Ways to intervals: resamples of judgments, resamples of judges, a formula, resamples of judges and queries."""

MOST_CELLS = 50_000_000
"""Most outcomes of pairs of items by judge from which intervals by judge are computed: 5 GB."""

_BYTES = 100
"""Bytes of one outcome while judges are counted and resampled."""

_LONG = 1_000_000


class LogFacts(NamedTuple):
    """Facts of a log of votes that decide on the kind of intervals.

    Attributes
    ----------
    rows : int
    judges : int
        Judges that the log names.
    missing : int
        Votes without a judge, in a log with a column of judges; one vote is enough.
    few : bool
        Judges are too few to be sampled: see `rankbench.ranking.sampling_units.too_few_judges`.
    """

    rows: int
    judges: int
    missing: int
    few: bool = False


def by_judge(facts: LogFacts, intervals: Intervals | Literal["auto"] | None) -> bool:
    """Return whether judges are sampled: if a log names them for all votes, and enough of them, or on request.

    Raises
    ------
    SpecError
        `intervals` are by judge, and the log does not name two judges.
    """
    if intervals in (None, "bootstrap"):
        return False
    if intervals == "judges" and facts.judges < 2:
        told = f"the log does not say who judged ({option('columns', 'judge=COLUMN')} says where it stands)"
        why = "all votes are of one judge" if facts.judges else told
        raise SpecError(f"{why}; take {option('intervals', 'bootstrap')}")
    return intervals == "judges" or (facts.judges > 0 and not facts.missing and not facts.few)


def chosen_intervals(
    facts: LogFacts, intervals: Intervals | Literal["auto"] | None, aggregator: Aggregator
) -> Intervals | None:
    """Return the intervals to compute: as requested, or chosen for the log.

    ``auto`` is the sandwich of an aggregator that prefers it, clustered where judges are independent (`by_judge`).
    Else it is ``judges`` where they are, and without them ``bootstrap``, or the sandwich of an aggregator that has one
    for more than a million votes.
    """
    if intervals != "auto":
        return intervals
    if isinstance(aggregator, WithCovariance) and aggregator.prefers_covariance():
        return "sandwich"
    if by_judge(facts, intervals):
        return "judges"
    return "sandwich" if facts.rows > _LONG and isinstance(aggregator, WithCovariance) else "bootstrap"


def by_formula(intervals: Intervals | None, aggregator: Aggregator) -> bool:
    """Return whether intervals are by the aggregator's formula, without resamples."""
    return intervals == "sandwich" or (intervals == "judges+queries" and isinstance(aggregator, WithCovariance))


def refuse_too_many_cells(part: LogPart) -> None:
    """Raise, as soon as it is known, if a log has too many sums by judge and pair.

    Parameters
    ----------
    part : LogPart
        Counted by judge: the log as far as it was read.

    Raises
    ------
    SpecError
        The sums by judge do not fit into memory.
    """
    sums = len(part.data.cells) if isinstance(part.data, ClusterCounts) else 0
    if sums > MOST_CELLS:
        raise SpecError(
            f"{option('intervals', 'judges')} needs a sum for each judge and pair: {sums:,} sums of "
            f"{part.counts.judgments:,} votes ({_BYTES * sums / 1e9:.0f} GB), above the limit of {MOST_CELLS:,}. Use "
            f"votes of fewer judges, or {option('intervals', 'bootstrap')}: it treats votes as independent, so its "
            "intervals are too narrow if a judge's votes correlate"
        )


_AT_ONCE = 1 << 21
"""Votes that are put in order together, unless one judge or query has more: some 100 MB."""

_VOTE_BYTES = 64
"""That a vote takes at most: its judge, query and cell are held in 12, and come from buffers that are read into."""

_WEIGHT_BYTES = 16
"""That its weight takes, where weights differ."""

_NEGATIVE = 1e-10
"""Share of the largest eigenvalue from which on a negative one is more than rounding."""


@dataclass(frozen=True, eq=False)
class CrossedVotes(CountedVotes):
    """Votes as sums by pair, and of each vote its judge and its query.

    Only they have two kinds of units.

    Attributes
    ----------
    judge, query : ndarray of int32, shape (n,)
        Numbers from 0, by name.
    cell : ndarray of int32, shape (n,)
        Three times the pair of each vote, plus 0 where `low` won, 1 where `high` did, 2 for a tie.
    weight : ndarray of float64, shape (n,)
    """

    one_way: ClassVar[bool] = False

    judge: NDArray[np.int32] = field(kw_only=True)
    query: NDArray[np.int32] = field(kw_only=True)
    cell: NDArray[np.int32] = field(kw_only=True)
    weight: NDArray[np.float64] = field(kw_only=True)

    def by(self, *units: NDArray[np.int32], rows: slice | NDArray[np.int64] = slice(None)) -> ClusterCounts:
        """Return the votes by units, shape (n,), a row a vote: votes of different units are different clusters."""
        keys = [unit[rows] for unit in units]
        # As resamples take them: a cluster's sums in the order of the pairs.
        order = np.lexsort((self.cell[rows], *reversed(keys)))
        new = np.ones(len(order) + 1, np.bool_)
        new[1:-1] = False
        for key in keys:
            ordered = key[order]
            new[1:-1] |= ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(new)
        names = [""] * (len(starts) - 1)
        return ClusterCounts(self.counts, names, starts, self.cell[rows][order], self.weight[rows][order])

    def parts(self, unit: NDArray[np.int32], *within: NDArray[np.int32]) -> Iterator[ClusterCounts]:
        """Yield the counts of `by` for some whole units at a time, to bound memory."""
        ends = np.cumsum(np.bincount(unit))
        first, before = 0, 0
        while first < len(ends):
            last = max(first + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
            rows = np.flatnonzero((unit >= first) & (unit < last)) if (first, last) != (0, len(ends)) else slice(None)
            yield self.by(unit, *within, rows=rows)
            first, before = last, int(ends[last - 1])

    @cached_property
    def of_judges(self) -> Units:
        """Judges, with their effective numbers."""
        return units_of_parts(self.counts, self.parts(self.judge))

    @cached_property
    def of_queries(self) -> Units:
        """Queries, with their effective numbers."""
        return units_of_parts(self.counts, self.parts(self.query))

    @cached_property
    def units(self) -> Units:
        """The fewer of judges and queries, for the log and for each item: one fewer degrees of freedom [CGM11]_."""
        if self.known_units is not None:
            return self.known_units
        one, other = self.of_judges, self.of_queries
        return Units(
            min(one.count, other.count),
            min(one.effective, other.effective),
            np.minimum(one.items, other.items),
            one.votes,
            np.minimum(one.df_units, other.df_units),
            "judges or queries",
        )

    def covariance(self, aggregator: Aggregator, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
        """Return the two-way sandwich, (m, m): by judge, plus by query, less by both [CGM11]_.

        Votes of one judge on one query are a cluster of the third term: they are put in order for it some judges at a
        time, and never counted. Where the sum is not positive semidefinite its negative eigenvalues are set to 0, and
        a note says so.
        """
        total = np.zeros((len(scores), len(scores)))
        for sign, units in ((1.0, [self.judge]), (1.0, [self.query]), (-1.0, [self.judge, self.query])):
            total += sign * self._sandwich(aggregator, scores, self.parts(*units))
        kept, clipped = _clipped(total)
        if not clipped:
            return kept, []
        return kept, [
            f"the sandwich by judge and query had {clipped} negative eigenvalue{'s' * (clipped > 1)} of {len(scores)}. "
            "rankbench sets them to 0: some intervals may be a little too wide"
        ]

    def _sandwich(
        self, aggregator: Aggregator, scores: NDArray[np.float64], parts: Iterator[ClusterCounts]
    ) -> NDArray[np.float64]:
        """Return the sandwich by clusters given in parts; the term common to all parts counts once."""
        total, common = np.zeros((len(scores), len(scores))), None
        for part in parts:
            whole = len(part.cells) == len(self.cell)
            total += covariance_of(aggregator, self.counts, scores, part if whole else _with_silent(part, 1))
            if common is not None:
                total -= common
            elif not whole:
                nothing = ClusterCounts(self.counts, [], np.zeros(1, np.int64), part.cells[:0], part.weights[:0])
                common = covariance_of(aggregator, self.counts, scores, _with_silent(nothing, 2))
        return total

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
        drawn = replicates_of(
            aggregator, scores, crossed_resamples(self.counts, units, self.cell, self.weight, resamples, seed)
        )

        def variance(*way: NDArray[np.int32]) -> NDArray[np.float64]:
            some = self.by(*way)
            found = replicates_of(aggregator, scores, resamples_of(some, resamples, seed))
            return _spread_of(found) * len(some.clusters) / (len(some.clusters) - 1)

        judges, queries, both = variance(self.judge), variance(self.query), variance(*units)
        wanted = np.maximum(judges + queries - both, np.maximum(judges, queries))
        count = self.units.count
        # `rank` widens what fewer units than that spread by.
        had = _spread_of(drawn) * count / (count - 1)
        factor = np.sqrt(np.divide(wanted, had, out=np.ones(len(scores)), where=had > 0))
        factor[~np.isfinite(factor)] = 1.0
        return scores + (drawn - scores) * factor

    def few_units(self) -> list[str]:
        """Return notes for readers of the intervals, if judges or queries are few."""
        return [
            f"{of.count} {what} (effective number {of.effective:.1f}) are few: intervals are wide and approximate"
            for of, what in ((self.of_judges, "judges"), (self.of_queries, "queries"))
            if of.effective < FEW
        ]

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores."""
        return [*super().notes(aggregator, scales), *self.few_units()]


def crossed_votes(frame: pl.LazyFrame) -> CrossedVotes:
    """Load votes with their judges and queries.

    Parameters
    ----------
    frame : LazyFrame
        Comparisons in the schema of `rankbench.data.tables`.

    Raises
    ------
    SpecError
        The log does not name two judges and two queries, or has more votes than there is memory for.
    InputError
        The judge of some votes is missing.
    """
    names = frame.collect_schema().names()
    if "judge" not in names:
        by_judge(LogFacts(0, 0, 0), "judges")
    n = frame.select(pl.len()).collect(engine="streaming").item()
    check_memory(
        n * (_VOTE_BYTES + ("weight" in names) * _WEIGHT_BYTES),
        f"holding the judge and the query of {n:,} votes",
        f"fewer votes, or {option('intervals', 'judges')}",
    )
    frame = in_log_order(frame)
    votes = load_votes(frame)
    if votes.judges is None:
        raise InputError(f"the judge is missing in {votes.unsigned or n:,} of {n:,} votes", column="judge")
    by_judge(LogFacts(n, votes.judge_count, 0), "judges")
    if len(votes.query_names) < 2:
        raise SpecError(f"all votes are of one query; take {option('intervals', 'judges')}")
    cell = 3 * votes.pairs()[1]
    cell += np.where(votes.ties, 2, votes.winners > votes.losers).astype(np.int32)
    counts = count_frame(frame.drop("weight", strict=False) if votes.alike else frame).counts
    return CrossedVotes(counts, judge=votes.judges, query=votes.queries, cell=cell, weight=votes.weights)


def _with_silent(part: ClusterCounts, more: int) -> ClusterCounts:
    """Return clusters and some empty ones: a sandwich takes two clusters at least."""
    starts = np.append(part.starts, np.repeat(part.starts[-1:], more))
    return replace(part, clusters=[""] * (len(starts) - 1), starts=starts)


def _spread_of(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of the scores of resamples, (m,), without resamples that have none; nan if none is left."""
    kept = drawn[np.isfinite(drawn).all(axis=1)]
    return kept.var(axis=0, ddof=1) if len(kept) > 1 else np.full(drawn.shape[1], np.nan)


def _clipped(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the nearest positive semidefinite matrix, and the number of eigenvalues set to 0 for it."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    negative = values < -_NEGATIVE * max(float(values[-1]), 0.0)
    if not negative.any():
        return matrix, 0
    kept: NDArray[np.float64] = (vectors * np.maximum(values, 0)) @ vectors.T
    return kept, int(negative.sum())
