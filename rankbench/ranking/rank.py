"""The engine computes scores, intervals and rank ranges."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.runtime import LOG_SEED
from rankbench.core.text import count_text
from rankbench.errors import SpecError, option
from rankbench.interfaces.aggregator import Aggregator, WithCovariance
from rankbench.ranking.interval_kinds import Intervals, by_formula
from rankbench.ranking.rank_ranges import (
    LARGEST,
    MANY,
    any_place,
    item_rank_ranges,
    less_known_mean,
    many_errors,
    many_rank_ranges,
    places,
    reference_items,
    reference_items_by_draws,
    relative_covariance,
    score_intervals,
)
from rankbench.ranking.ranked_log import CountedVotes, ItemTallies, RankedLog
from rankbench.ranking.sampling_units import (
    JUDGES,
    Units,
    degrees_of_freedom,
    few_votes_notes,
    has_interval,
    too_few_judges,
    too_few_judges_note,
)
from rankbench.stats.contender_ranks import ranges_from_first
from rankbench.stats.moderation import RangeErrors
from rankbench.stats.simultaneous import FEW

_DRAWS = 2000
"""Normal deviations that stand for a covariance where the maximum over all pairs of items is wanted."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores and places of a log's items, or of systems.

    Attributes
    ----------
    items : list of str, length m
        Their names; empty of systems, which their table names.
    scores, lower, upper : ndarray of float64, shape (m,)
        Scores with their own 95% intervals; nan where the log does not show how certain a
        score is: see `rankbench.ranking.rank_ranges.score_intervals`.
    low, high : ndarray of int64, shape (m,)
        Places that an item may hold, 1 being the best; all ranges together at 95%. From 1 to
        m where nothing is known.
    first : ndarray of bool, shape (m,), or None
        Those that may be the first of their scale: see `rankbench.ranking.rank_ranges.RankRanges`. None without
        intervals.
    scales : ndarray of int64, shape (m,)
        Items of different numbers were never compared, not even through others: their
        scores stand on scales of their own, and nothing is said about their order.
    units : Units, optional
        Of which resamples were made (judges, votes, ballots, sessions); None without intervals.
    tallies : ItemTallies, optional
        Number of judgments of each item.
    errors : RangeErrors, optional
        Errors of the scores that ranges of ranks rest on; None where nothing is known.
    winners : ndarray of bool, shape (m,), optional
        Items that a rule of social choice elects, of all scales.
    reference : ndarray of bool, shape (m,), optional
        Items from whose mean score those of a scale are told; None where scores are told from none.
    more : mapping of str to ndarray
        Further columns of its table: of systems ``tier``, ``p_first`` and ``p_top_k``.
    notes : tuple of str
        Remarks for the reader.
    effects : DataFrame, optional
        Effects of covariates: see `rankbench.ranking.covariates.rank_controlled`.
    unadjusted : Ranking, optional
        The ranking of the same votes without covariates.
    """

    items: list[str]
    scores: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first: NDArray[np.bool_] | None
    scales: NDArray[np.int64]
    units: Units | None = None
    tallies: ItemTallies | None = None
    errors: RangeErrors | None = None
    winners: NDArray[np.bool_] | None = None
    reference: NDArray[np.bool_] | None = None
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    effects: pl.DataFrame | None = None
    unadjusted: Ranking | None = None

    def noted(self, before: Iterable[str]) -> Ranking:
        """Return it with notes before its own."""
        return replace(self, notes=(*before, *self.notes))

    def columns(self) -> dict[str, Any]:
        """Return the columns that tables of all rankings have; places agree with those that may be first."""
        ranges = self.low, self.high
        low, high = ranges if self.first is None else ranges_from_first(*ranges, self.first)
        found = {"score": self.scores + 0.0, "rank_low": low, "rank_high": high, "may_be_first": self.first}
        return found | {"lower": self.lower, "upper": self.upper}


def ranked(items: list[str], scores: NDArray[np.float64], scales: NDArray[np.int64]) -> Ranking:
    """Return a ranking without intervals: places by score within scales."""
    nothing = np.full(len(scores), np.nan)
    return Ranking(items, scores, nothing, nothing, *places(scores, scales), None, scales)


def unknown(
    items: list[str], scores: NDArray[np.float64], scales: NDArray[np.int64], units: Units | None = None
) -> Ranking:
    """Return a ranking without intervals or rank ranges: any item may hold any place."""
    nothing = np.full(len(items), np.nan)
    return Ranking(items, scores, nothing, nothing, *any_place(len(items)), scales, units)


def with_covariance(
    items: list[str],
    scores: NDArray[np.float64],
    scales: NDArray[np.int64],
    covariance: NDArray[np.float64],
    units: Units,
    deviations: NDArray[np.float64] | None,
    errors: RangeErrors | None = None,
    aggregator: Aggregator | None = None,
) -> Ranking:
    """Return a ranking with the intervals that the covariance of its scores implies, shape (m, m).

    Parameters
    ----------
    deviations : ndarray of float64, shape (B, m), or None
        That rank ranges are made of: of resamples, or `normal_deviations`.
    errors : RangeErrors, optional
        That rank ranges rest on: by default the covariance, with the degrees of freedom of the units.
    aggregator : Aggregator, optional
        Its bounds hold for scores; without one there are none. Scores that tell differences alone, by default, are told
        from the mean score of `reference_items`.
    """
    own, reference = covariance, None
    bounds = (None, None) if aggregator is None else aggregator.bounds()
    if aggregator is None or aggregator.only_differences():
        reference = reference_items(covariance, scales, has_interval(units))
        own = relative_covariance(covariance, scales, reference)
        scores = less_known_mean(scores[None], scales, reference)[0]
    lower, upper = score_intervals(scores, np.sqrt(np.maximum(np.diag(own), 0)), units, bounds)
    of_ranges, freedom = (covariance, None) if errors is None else errors
    ranges = item_rank_ranges(scores, of_ranges, scales, units, deviations, freedom=freedom)
    known = errors or RangeErrors(covariance, degrees_of_freedom(units))
    return Ranking(items, scores, lower, upper, *ranges, scales, units, errors=known, reference=reference)


def with_draws(
    log: RankedLog,
    scores: NDArray[np.float64],
    scales: NDArray[np.int64],
    blocks: Iterable[NDArray[np.float64]],
    aggregator: Aggregator,
    *,
    known: bool,
) -> Ranking:
    """Return a ranking of many items with intervals by draws of the errors of scores, (K, m) at a time.

    Parameters
    ----------
    aggregator : Aggregator
        As of `with_covariance`.
    known : bool
        Variances are known: by a formula, of independent votes.
    """
    units, m = log.units, len(scores)
    reference = None
    if aggregator.only_differences():
        rest = iter(blocks)
        first = next(rest)
        reference = reference_items_by_draws(first, scales, has_interval(units))
        centered = partial(less_known_mean, scales=scales, known=reference)
        blocks, scores = map(centered, itertools.chain([first], rest)), centered(scores[None])[0]
    errors = many_errors(scores, scales, units, blocks)
    freedom = np.full(m, np.inf) if known else degrees_of_freedom(units)
    low, high, ahead = many_rank_ranges(scores, errors, scales, units, freedom)
    lower, upper = score_intervals(scores, errors.se, units, aggregator.bounds())
    note = (
        f"ranges of ranks of more than {LARGEST:,} items are by simultaneous intervals of scores, some 10% wider than "
        "comparisons of all pairs"
    )
    ranking = Ranking(log.items, scores, lower, upper, low, high, ahead, scales, units, reference=reference)
    return replace(ranking, notes=(note, *reference_note(ranking)))


_LEVEL = 0.95

FEW_WINS = 5.0
"""With fewer wins, or losses, a symmetric interval of a score covers too seldom."""

_MOST_WORK = 2e9
"""Most that rankbench spends on such intervals, as their number times the cube of the number of items: 2 seconds."""


def with_likelihood(ranking: Ranking, log: RankedLog, aggregator: Aggregator) -> Ranking:
    """Return a ranking with intervals by likelihood for items with few wins or losses.

    Ranks stay as they are: they rest on differences of scores, which have intervals by covariance.
    """
    tallies, m = log.tallies, len(log.items)
    few = np.minimum(tallies.won, tallies.judged - tallies.won) < FEW_WINS
    items = np.flatnonzero(few & np.isfinite(ranking.lower)).tolist()
    affordable = len(items) * m**3 <= _MOST_WORK
    ends = None
    if items and ranking.reference is not None:
        ends = log.score_ends(aggregator, ranking.scores, items if affordable else [], _LEVEL, ranking.reference)
    if ends is None:
        return ranking
    who = f"{len(items)} of {m:,} items won or lost fewer than {FEW_WINS:.0f} votes"
    if not affordable:
        return replace(ranking, notes=(f"{who}: their intervals are symmetric, and may cover less than 95%",))
    lower, upper = ranking.lower.copy(), ranking.upper.copy()
    missing = np.isnan(ends).any(axis=1)
    lower[items], upper[items] = np.where(missing, [lower[items], upper[items]], ends.T)
    failed = f" (but for {int(missing.sum())}, where it was not found)" if missing.any() else ""
    note = f"{who}: rankbench takes profile penalized likelihood for their intervals{failed}"
    return replace(ranking, lower=lower, upper=upper, notes=(f"{note}. Ranks rest on the covariance of scores",))


def normal_deviations(covariance: NDArray[np.float64], seed: int) -> NDArray[np.float64] | None:
    """Return normal deviations with this covariance, shape (2000, m); None where `item_rank_ranges` uses none."""
    if len(covariance) > MANY:
        return None
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(np.random.default_rng([seed, 6]).standard_normal((_DRAWS, len(values))) @ root.T)


RESAMPLES = 1000
"""Resamples that intervals are made of."""

_TOO_LITTLE = "too little to resample: there are no intervals"


def rank(
    log: RankedLog,
    aggregator: Aggregator,
    *,
    intervals: Intervals | None = None,
    resamples: int = RESAMPLES,
    seed: int = LOG_SEED,
) -> Ranking:
    """Rank the items of a log.

    Parameters
    ----------
    log : RankedLog
        Loaded with the units that the intervals need.
    aggregator : Aggregator
        That fits the log. One that declares itself ``irregular`` gets no intervals.
    intervals : Intervals, optional
        By default there are none.
    resamples, seed : int
        The same resamples for every method: see `rankbench.interfaces.resamples`.

    Raises
    ------
    ContenderDiverged
        There are no finite scores, or they are too far apart.
    InputError
        More items than a formula has intervals for.
    SpecError
        Intervals that the method cannot have, or more items than it can rank.
    """
    if intervals == "sandwich" and not isinstance(aggregator, WithCovariance):
        raise SpecError(
            f"{aggregator.name!r} has no formula for sandwich intervals, as bradley-terry has; take bootstrap or judges"
        )
    irregular = "irregular" in aggregator.properties
    scores = log.scores(aggregator)
    scales = log.scales(aggregator)
    notes = log.notes(aggregator, scales)
    if intervals is None:
        return ranked(log.items, scores, scales).noted(notes)
    if irregular:
        why = "scores of this method jump with the votes: resampling does not show how certain they are, and any item "
        why += "may hold any place (bradley-terry has intervals)"
        return unknown(log.items, scores, scales).noted([*notes, why])
    units, many = log.units, len(scores) > LARGEST
    if by_formula(intervals, aggregator):
        if units.count < 2:
            return unknown(log.items, scores, scales, units).noted([*notes, _TOO_LITTLE])
        if many:
            if not has_interval(units).any():
                return unknown(log.items, scores, scales, units).noted([*notes, *interval_notes(log)])
            known = not log.by_judge and isinstance(log, CountedVotes) and not log.counts.weighted
            draws = log.error_draws(aggregator, scores, seed)
            ranking = with_draws(log, scores, scales, draws, aggregator, known=known).noted(notes)
            return replace(ranking, notes=(*ranking.notes, *interval_notes(log)))
        covariance, more = log.covariance(aggregator, scores)
        errors = log.range_errors(aggregator, scores, scales, covariance, 0, seed)
        deviations = normal_deviations(covariance if errors is None else errors.covariance, seed)
        ranking = with_covariance(log.items, scores, scales, covariance, units, deviations, errors, aggregator)
        ranking = with_likelihood(ranking, log, aggregator)
        return ranking.noted([*notes, *more, *interval_notes(log), *reference_note(ranking)])
    drawn = log.replicates(aggregator, scores, resamples, seed)
    kept = drawn[np.isfinite(drawn).all(axis=1)]
    notes += interval_notes(log)
    if len(kept) < len(drawn):
        notes.append(
            f"rankbench leaves out {len(drawn) - len(kept)} of {len(drawn)} resamples without scores: intervals may be "
            "too short (a ridge, or more smoothing, avoids it)"
        )
    if len(kept) < 2 or units.count < 2:
        return unknown(log.items, scores, scales, units).noted([*notes, _TOO_LITTLE])
    # G units drawn from G spread by (G - 1) / G of the variance of their mean: deviations are widened for it.
    deviations = (kept - scores) * np.sqrt(units.count / (units.count - 1))
    if many:
        return with_draws(log, scores, scales, [deviations], aggregator, known=False).noted(notes)
    covariance = np.cov(deviations, rowvar=False).reshape(len(scores), len(scores))
    if (errors := log.range_errors(aggregator, scores, scales, covariance, resamples, seed)) is not None:
        deviations = normal_deviations(errors.covariance, seed)
    ranking = with_covariance(log.items, scores, scales, covariance, units, deviations, errors, aggregator)
    return ranking.noted([*notes, *reference_note(ranking), *without_spread(ranking, units)])


def reference_note(ranking: Ranking) -> list[str]:
    """Return a sentence on items with an interval that do not count in the mean from which scores are told."""
    if ranking.reference is None or not (n := int((np.isfinite(ranking.lower) & ~ranking.reference).sum())):
        return []
    return [
        f"the mean score, which is 0, leaves out {n:,} of {len(ranking.items):,} items, whose errors would widen the "
        "intervals of the others"
    ]


def without_spread(ranking: Ranking, units: Units) -> list[str]:
    """Return a sentence on items that lack an interval because their score is the same in all resamples."""
    if not (n := int((np.isnan(ranking.lower) & has_interval(units)).sum())):
        return []
    return [f"{n:,} of {len(ranking.items):,} items get no interval: no resample changes their score"]


def interval_notes(log: RankedLog) -> list[str]:
    """Return notes for readers of the intervals: few judges, or hardly judged items."""
    return sampling_notes(log.units, log.few_judges)


def sampling_notes(units: Units, judges: Units | None = None) -> list[str]:
    """Return notes on units, and on judges that are too few to be the units."""
    notes = [too_few_judges_note(judges)] if judges is not None else []
    if units.noun == JUDGES and units.effective < FEW:
        alike = "" if units.effective > 0.9 * units.count else f" (effective number {units.effective:.1f})"
        notes.append(f"only {count_text(units.count, 'judge')}{alike}: intervals are rough, and wide")
    if units.noun == JUDGES and too_few_judges(units):
        notes.append(
            f"judges are too few for intervals: {option('intervals', 'auto')} takes more votes of these judges instead"
        )
    return [*notes, *few_votes_notes(units)]
