"""One log, one method, one ranking: the engine behind ``aggregate`` and the items of ``run --log``."""

from __future__ import annotations

import numpy as np

from rankbench.counts.units import Units
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.ranking.certainty import FEW, check_size, too_thin
from rankbench.ranking.intervals import Intervals, by_formula
from rankbench.ranking.logs import RankedLog
from rankbench.ranking.ranking import ItemRanking, ranked, unknown, with_covariance, with_spread
from rankbench.seeds import LOG_SEED

__all__ = ["RESAMPLES", "interval_notes", "rank"]

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
) -> tuple[ItemRanking, list[str]]:
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
        The same resamples for every method: see `rankbench.kinds.resamples`.

    Returns
    -------
    ranking : ItemRanking
    notes : list of str
        What a reader must know.

    Raises
    ------
    ContenderDiverged
        There are no finite scores, or they are too far apart.
    InputError
        More items than intervals can compare.
    SpecError
        Intervals that the method cannot have, or more items than it can rank.
    """
    if intervals == "sandwich" and not aggregator.has_covariance():
        raise SpecError(
            f"{aggregator.name!r} has no formula for sandwich intervals, as bradley-terry has; take bootstrap or judges"
        )
    irregular = "irregular" in aggregator.properties
    if intervals is not None and not irregular:
        check_size(len(log.items))
    scores = log.scores(aggregator)
    scales = log.scales(aggregator)
    notes = log.notes(aggregator)
    if intervals is None:
        return ranked(log.items, scores, scales), notes
    if irregular:
        why = "scores of this method jump with the votes: resampling does not show how certain they are, and any item "
        return unknown(log.items, scores, scales), [*notes, why + "may hold any place (bradley-terry has intervals)"]
    units = log.units
    if by_formula(intervals, aggregator):
        if units.count < 2:
            return unknown(log.items, scores, scales, units), [*notes, _TOO_LITTLE]
        covariance, more = log.covariance(aggregator, scores)
        ranking = with_covariance(log.items, scores, scales, covariance, units, seed)
        return ranking, [*notes, *more, *interval_notes(units, log.by_judge)]
    drawn = log.replicates(aggregator, scores, resamples, seed)
    kept = drawn[np.isfinite(drawn).all(axis=1)]
    notes += interval_notes(units, log.by_judge)
    if len(kept) < len(drawn):
        notes.append(
            f"{len(drawn) - len(kept)} of {len(drawn)} resamples have no scores and are left out: intervals may be too "
            "short (a ridge, or more smoothing, avoids it)"
        )
    if len(kept) < 2 or units.count < 2:
        return unknown(log.items, scores, scales, units), [*notes, _TOO_LITTLE]
    return with_spread(log.items, scores, scales, kept, units), notes


def interval_notes(units: Units, by_judge: bool) -> list[str]:
    """Return what a reader of intervals must know: judges are few, or items were hardly judged."""
    notes = []
    if by_judge and units.effective < FEW:
        alike = "" if units.effective > 0.9 * units.count else f", who count like {units.effective:.1f} equal ones"
        notes.append(f"only {units.count} judges{alike}: intervals are rough, and wide")
    return [*notes, *too_thin(units)]
