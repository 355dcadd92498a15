"""A ranking from votes: scores from counts by pair, with intervals of three kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.counts.source import LogSource
from rankbench.counts.units import Units, units_of_counts
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.scales import connected
from rankbench.ranking.certainty import FEW, MANY, check_size, rank_ranges, score_intervals, too_thin
from rankbench.ranking.interval_kinds import IntervalKind, Intervals, kind_of
from rankbench.ranking.ranking import ItemRanking, rank_items, unknown, with_spread
from rankbench.ranking.replicates import replicates, scores_from_counts

if TYPE_CHECKING:
    from rankbench.counts.parquet import ParquetLog

__all__ = [
    "Wanted",
    "interval_notes",
    "irregular",
    "places",
    "rank_votes",
    "ranked",
    "resampled_ranking",
]

_DRAWS = 2000


@dataclass(frozen=True)
class Wanted:
    """How a log is to be ranked.

    Attributes
    ----------
    aggregator : Aggregator
    plain : bool
        Bradley-Terry without any penalty, instead of `aggregator`.
    intervals : Intervals, "auto" or None
    replicates, seed : int
    address : str
        Of the Dask scheduler whose workers count; empty: this machine does.
    """

    aggregator: Aggregator
    plain: bool = False
    intervals: Intervals | Literal["auto"] | None = None
    replicates: int = 1000
    seed: int = 0
    address: str = ""


def rank_votes(source: LogSource, wanted: Wanted) -> tuple[ItemRanking, list[str]]:
    """Rank the items of a log of comparisons, whatever their queries.

    Returns
    -------
    ranking : ItemRanking
    notes : list of str
        What a reader must know.

    Raises
    ------
    InputError
        What is wrong with the log, with its row.
    SpecError
        Intervals that the method or the log cannot have.
    ContenderDiverged
        There are no finite scores.
    ExecutorError
        The cluster cannot be used.
    """
    kind = kind_of(source, wanted.intervals, wanted.aggregator)
    if "sequential" in wanted.aggregator.properties:
        return _in_order(source, wanted, kind.intervals)
    data = _data(source, wanted, kind)
    if type(wanted.aggregator) is BradleyTerry:
        return _bradley_terry(data, wanted, kind.intervals)
    if kind.intervals == "sandwich":
        raise SpecError("there are sandwich intervals for bradley-terry only; take bootstrap or judges")
    counts = data.counts if isinstance(data, ClusterCounts) else data
    scores = scores_from_counts(wanted.aggregator, counts)
    scales = connected(counts).of.astype(np.int64)
    if kind.intervals is None:
        return ranked(counts.items, scores, scales), []
    check_size(counts.m)
    if "irregular" in wanted.aggregator.properties:
        return irregular(counts.items, scores, scales)
    drawn = replicates(wanted.aggregator, data, repetitions=wanted.replicates, seed=wanted.seed)
    return resampled_ranking(counts.items, scores, scales, drawn, units_of_counts(data), kind.intervals)


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


def _data(source: LogSource, wanted: Wanted, kind: IntervalKind) -> PairCounts | ClusterCounts:
    """Count by pair, and by judge or judgment where units have to be known."""
    from rankbench.counts.parquet import ROW
    from rankbench.counts.parts import counts_of
    from rankbench.counts.scan import count_frame

    judge = None
    if kind.by_judge:
        judge = "judge"
    elif kind.intervals is not None and "weight" in source.frame.collect_schema():
        judge = ROW

    def here(frame: pl.LazyFrame) -> PairCounts | ClusterCounts:
        return counts_of(count_frame(frame.with_row_index(ROW) if judge == ROW else frame, judge=judge))

    def away(log: ParquetLog) -> PairCounts | ClusterCounts:
        from rankbench.counts.sharded import count_parts_on_cluster

        return counts_of(count_parts_on_cluster(log, wanted.address, judge=judge, numbered=judge == ROW))

    return source.counted(here, away if wanted.address else None)


def _in_order(source: LogSource, wanted: Wanted, kind: Intervals | None) -> tuple[ItemRanking, list[str]]:
    """Rank by a method that depends on the order of the votes: they have to be in memory."""
    from rankbench.counts.votes import load_votes

    if kind == "sandwich":
        raise SpecError("there are sandwich intervals for bradley-terry only; take bootstrap or judges")
    votes = load_votes(source.frame)
    ranking = rank_items(
        votes,
        wanted.aggregator,
        replicates=wanted.replicates if kind else 0,
        cluster="judge" if kind == "judges" else "vote",
        seed=wanted.seed,
    )
    order = votes.order_note()
    notes = [order] if order else []
    if kind is None or ranking.units is None:
        return ranked(votes.items, ranking.scores, ranking.scales), notes
    return ranking, [*notes, *interval_notes(ranking.units, kind)]


def _bradley_terry(
    data: PairCounts | ClusterCounts, wanted: Wanted, kind: Intervals | None
) -> tuple[ItemRanking, list[str]]:
    from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
    from rankbench.aggregators.likelihood.covariance import sandwich
    from rankbench.aggregators.likelihood.refits import bootstrap_bradley_terry

    counts = data.counts if isinstance(data, ClusterCounts) else data
    method = wanted.aggregator
    ridge = method.ridge if isinstance(method, BradleyTerry) and not wanted.plain else 0.0
    fit = fit_bradley_terry(counts, ridge=ridge)
    scales = fit.scales.of.astype(np.int64)
    notes = []
    if wanted.plain and len(fit.scales) > 1:
        notes.append(
            f"plain maximum likelihood: items that never won, or never lost, against the rest are infinitely far away; "
            f"there are {len(fit.scales)} scales (bradley-terry with its ridge has one for all that are connected)"
        )
    if kind is None:
        return ranked(counts.items, fit.scores, scales), notes
    check_size(counts.m)
    if kind != "sandwich":
        drawn = bootstrap_bradley_terry(fit, data, repetitions=wanted.replicates, seed=wanted.seed)
        ranking, more = resampled_ranking(counts.items, fit.scores, scales, drawn, units_of_counts(data), kind)
        return ranking, [*notes, *more]
    covariance = sandwich(fit, data)
    units = units_of_counts(data)
    lower, upper = score_intervals(fit.scores, np.sqrt(np.maximum(np.diag(covariance), 0)), units)
    low, high = rank_ranges(fit.scores, covariance, scales, units, _normal(covariance, wanted.seed))
    ranking = ItemRanking(counts.items, fit.scores, lower, upper, low, high, scales, units)
    return ranking, [*notes, *interval_notes(units, "judges" if isinstance(data, ClusterCounts) else kind)]


def _normal(covariance: NDArray[np.float64], seed: int) -> NDArray[np.float64] | None:
    """Return normal deviations with this covariance, shape (2000, m); None where `rank_ranges` uses none."""
    if len(covariance) > MANY:
        return None
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    deviations: NDArray[np.float64] = np.random.default_rng([seed, 6]).standard_normal((_DRAWS, len(values))) @ root.T
    return deviations


def resampled_ranking(
    items: list[str],
    scores: NDArray[np.float64],
    scales: NDArray[np.int64],
    drawn: NDArray[np.float64],
    units: Units,
    kind: Intervals,
) -> tuple[ItemRanking, list[str]]:
    """Return a ranking with the replicates' spread; replicates without scores are left out."""
    kept = drawn[np.isfinite(drawn).all(axis=1)]
    failed = len(drawn) - len(kept)
    notes = interval_notes(units, kind)
    if failed:
        notes.append(
            f"{failed} of {len(drawn)} resamples have no scores and are left out: intervals may be too short"
            " (a ridge, or more smoothing, avoids it)"
        )
    if len(kept) < 2 or units.count < 2:
        return unknown(items, scores, scales, units), [*notes, "too little to resample: there are no intervals"]
    return with_spread(items, scores, scales, kept, units), notes


def irregular(
    items: list[str], scores: NDArray[np.float64], scales: NDArray[np.int64]
) -> tuple[ItemRanking, list[str]]:
    """Return the ranking of a method whose scores jump, of which resampling shows nothing."""
    why = "scores of this method jump with the votes: resampling does not show how certain they are, and any item "
    return unknown(items, scores, scales), [why + "may hold any place (bradley-terry has intervals)"]


def interval_notes(units: Units, kind: Intervals | None) -> list[str]:
    """Return what a reader of intervals must know: judges are few, or items were hardly judged."""
    notes = []
    if kind == "judges" and units.effective < FEW:
        alike = "" if units.effective > 0.9 * units.count else f", who count like {units.effective:.1f} equal ones"
        notes.append(f"only {units.count} judges{alike}: intervals are rough, and wide")
    return [*notes, *too_thin(units)]
