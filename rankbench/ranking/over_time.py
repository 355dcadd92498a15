"""Scores over time follow one model of random walks, or an average of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread, settle_runtime
from rankbench.core.spec import parse
from rankbench.core.text import count_text
from rankbench.data.tables.kinds import default_of, not_judged
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.reading import with_told
from rankbench.interfaces.sequential_aggregator import SequentialAggregator, TimedCounts
from rankbench.logs.open import Log, open_log
from rankbench.logs.opened import OpenedLog, no_file
from rankbench.logs.votes import Votes, coded_votes, load_votes
from rankbench.plugin.manager import contender
from rankbench.ranking.covariates import controlled_votes, effect_design_effects, effects_table
from rankbench.ranking.history_average import (
    AveragedHistory,
    DesignEffect,
    alike_votes,
    said_of_grid,
    simultaneous_changes,
    timed_counts,
    told_from,
    weighed_models,
)
from rankbench.ranking.pictures import history_drawing
from rankbench.ranking.question import OverTimeQuestion
from rankbench.ranking.rank import normal_deviations
from rankbench.ranking.rank_ranges import check_size, item_rank_ranges
from rankbench.ranking.sampling_units import has_interval, too_few_judges_note
from rankbench.ranking.times import TimesTogether, TimeUnit
from rankbench.stats.contender_ranks import ranges_from_first

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_NORMAL = 1e9
"""Degrees of freedom that make Student's t normal."""


@dataclass(frozen=True)
class ScoresOverTime:
    """Scores over time, and their changes.

    Attributes
    ----------
    table : DataFrame
        ``time, item, score, lower, upper, votes``, a row for each time and item that was judged by then: the score
        less the mean score of its time, a 95% band of each alone, and the weight of the item's votes of that time.
    now : DataFrame
        ``item, score, lower, upper, rank_low, rank_high, may_be_first, votes, last, change, change_lower, change_upper,
        p``, a row for each item, the best first: of the last time; ranks, of all together at
        95%, among the items that were judged since then (null for the others), and which of these may be first; when it
        was last judged; and by how much it changed, against the mean of the items that had a score then, with
        simultaneous 95% intervals and p-values of all items together. Changes are null for items without a score then.
    method : str
        Canonical spec, of a grid that of the likeliest point.
    notes : tuple of str
    effects : DataFrame or None
        Effects of covariates, the same at all times: see `rankbench.ranking.covariates.rank_controlled`.
    facts : dict
        ``unit`` of the scores; ``time_unit``; ``times``, ``then``, ``now`` as they are written; ``n``; ``grid``, each
        point with its log likelihood and weight; ``seed``; ``reading``, what the columns mean.
    sha256 : callable
        See `rankbench.logs.opened.RawLog`.
    x : tuple of float
        Where each time stands on an axis; dates in days since 1970.
    dated : bool
        Whether times are dates.
    """

    table: pl.DataFrame
    now: pl.DataFrame
    method: str
    notes: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    x: tuple[float, ...] = ()
    effects: pl.DataFrame | None = None
    sha256: Callable[[], str | None] = field(default=no_file, repr=False)
    dated: bool = False

    def plot(self, top: int | None = None) -> Figure:
        """Draw the scores of the first items over time, with their bands.

        Parameters
        ----------
        top : int, optional
            Number of items; 6 by default.
        """
        return self.drawing(top).canvas()

    def drawing(self, top: int | None = None) -> TitledDrawing:
        """Return the drawing of `plot`, as data."""
        place = dict(zip(self.facts["times"], self.x, strict=True))
        return history_drawing(self.table, self.now, place, self.method, self.facts, top, dated=self.dated)


def scores_over_time(log: Log, question: OverTimeQuestion) -> ScoresOverTime:
    """Return the scores of a log's items over time, with bands, and their changes between then and now.

    Raises
    ------
    InputError
        The log cannot be used; with the row.
    SpecError
        It has no times, or one; a unit that it cannot have; an unknown method, or one without such a model.
    """
    settle_runtime()
    source, points = _opened(log, question)
    votes, when, of_covariates = _timed_votes(source, question)
    search = not question.method and len(points) > 1
    with one_blas_thread():
        alike = alike_votes(votes, when.place, when.place > (when.then + len(when.names) - 1) // 2)
        counts = timed_counts(votes, when.place, np.diff(when.x, prepend=when.x[0] - 1.0))
        averaged = _Averaged.over(points, counts, alike, when.then, search=search)
        if votes.covariates is not None and averaged.levels.effects.shape != (len(votes.covariates.names),):
            raise SpecError(f"{points[0].name!r} estimates no effects of covariates: take dynamic-bradley-terry")
        found = _read(votes.items, when.names, counts, alike, averaged.levels, when.then, question.seed)
    said = _notes(votes, alike, averaged.levels.reference, when.names, when.names[when.then], when.unit)
    notes = [*source.notes, *when.notes, *said, *of_covariates]
    if len(averaged.grid) > 1:
        notes.append(said_of_grid(averaged.grid, points, averaged.point, search=search))
    facts = {
        "unit": averaged.point.score_unit(),
        "time_unit": when.unit,
        "times": when.names,
        "then": when.names[when.then],
        "now": when.names[-1],
        "n": votes.count,
        "grid": averaged.grid,
        "seed": question.seed,
        **({"reading": dict(source.stated)} if source.stated else {}),
    }
    effects, axis = _effects(votes, alike, averaged.levels), when.axis
    return ScoresOverTime(
        *found, str(averaged.point), tuple(notes), facts, axis, effects, source.raw.sha256, when.dated
    )


def _opened(log: Log, question: OverTimeQuestion) -> tuple[OpenedLog, list[SequentialAggregator]]:
    """Return an opened log of votes, and the models that are asked about it, or its default ones."""
    told = with_told(question.told, "control", question.control)
    source = open_log(log, columns=told, reader=question.reader, keep=question.keep)
    method = question.method or default_of(source.table, "history")
    points = _points(method)
    if not method:
        raise not_judged(source.name, source.table, "method")
    source = source.judged()
    if source.table.row != "comparisons":
        raise SpecError(f"there are scores over time of votes alone; {source.name} holds {source.table}")
    return source, points


def _timed_votes(source: OpenedLog, question: OverTimeQuestion) -> tuple[Votes, TimesTogether, list[str]]:
    """Return votes, their times, and notes on their covariates."""
    coded = coded_votes(source.frame)
    votes = load_votes(coded)
    check_size(len(votes.items))
    votes, notes = controlled_votes(votes) if question.control else (replace(votes, covariates=None), [])
    if votes.times is None:
        said = votes.order_note().split(":")[0]
        raise SpecError(f"{said}: there are no scores over time")
    return votes, TimesTogether.from_votes(coded, question.time_unit, question.since), notes


class _Averaged(NamedTuple):
    """Scores averaged over the points of a grid.

    Attributes
    ----------
    levels : AveragedHistory
        With its changes.
    point : SequentialAggregator
        The likeliest.
    grid : list of dict
        ``method``, ``log_likelihood`` and ``weight`` of each point.
    """

    levels: AveragedHistory
    point: SequentialAggregator
    grid: list[dict[str, Any]]

    @classmethod
    def over(
        cls, points: list[SequentialAggregator], counts: TimedCounts, alike: DesignEffect, then: int, *, search: bool
    ) -> _Averaged:
        """Return the average over the points, and over points that a search adds."""
        weighed, histories, weights = weighed_models(points, counts, alike.worth, search=search)
        known = has_interval(alike.units)
        levels = changes = AveragedHistory.from_models(histories, weights, then, known)
        if alike.of_changes != alike.worth:
            _, others, chances = weighed_models(points, counts, alike.of_changes, search=search)
            changes = AveragedHistory.from_models(others, chances, then, known)
        grid = [
            {"method": str(one), "log_likelihood": history.evidence, "weight": float(weight)}
            for one, history, weight in zip(weighed, histories, weights, strict=True)
        ]
        return cls(replace(levels, changes=changes.changes), weighed[int(np.argmax(weights))], grid)


def _effects(votes: Votes, alike: DesignEffect, levels: AveragedHistory) -> pl.DataFrame | None:
    """Return the effects of covariates, or None."""
    if votes.covariates is None:
        return None
    se = levels.effects_deviation
    if alike.judges:
        se = se * np.sqrt(effect_design_effects(votes) * alike.points / alike.worth)
    return effects_table(votes.covariates, levels.effects, se, _freedom(alike, np.full(1, alike.units.effective)))


def _points(method: str) -> list[SequentialAggregator]:
    points = contender(Aggregator, parse(method)).grid(Aggregator) if method else []
    for point in points:
        if not isinstance(point, SequentialAggregator):
            raise SpecError(f"aggregator {point.name!r} has no model of scores over time")
    return [point for point in points if isinstance(point, SequentialAggregator)]


def _read(
    items: list[str],
    names: Sequence[str],
    counts: TimedCounts,
    alike: DesignEffect,
    found: AveragedHistory,
    then: int,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return tables of the scores over time and of the current scores."""
    scores = found.scores
    present = np.isfinite(scores)
    centered = told_from(scores, found.reference)
    half = _half_widths(alike, alike.units.df_units) * found.deviation
    cast = np.zeros(scores.shape)
    for judged in (counts.first, counts.second):
        np.add.at(cast, (counts.times, judged), counts.won + counts.lost)
    rows, columns = np.nonzero(present)
    named = pl.Series(items)
    table = pl.DataFrame(
        {
            "time": pl.Series(names, dtype=pl.String).gather(rows),
            "item": named.gather(columns),
            "score": centered[present],
            "lower": (centered - half)[present],
            "upper": (centered + half)[present],
            "votes": cast[present],
        }
    )
    last = len(names) - 1 - np.argmax(cast[::-1] > 0, axis=0)
    known, current = present[then], last >= then
    low, high, first = _places_now(centered[-1], found.now, alike, current, seed)
    change, lower, upper, p = np.full((4, counts.m), np.nan)
    freedom = float(np.maximum(alike.units.df_units[known] - 1, 1.0).min()) if alike.judges else np.inf
    of_known = simultaneous_changes(found.changes, seed, freedom)
    for column, values in zip((change, lower, upper, p), of_known, strict=True):
        column[known] = values
    now = pl.DataFrame(
        {
            "item": named,
            "score": centered[-1],
            "lower": (centered - half)[-1],
            "upper": (centered + half)[-1],
            "rank_low": pl.Series(low).replace(0, None),
            "rank_high": pl.Series(high).replace(0, None),
            "may_be_first": pl.Series(first == 1).set(pl.Series(low == 0), None),
            "votes": cast.sum(axis=0),
            "last": pl.Series(names, dtype=pl.String).gather(last),
            "change": change,
            "change_lower": lower,
            "change_upper": upper,
            "p": p,
        }
    ).with_columns(pl.col("change", "change_lower", "change_upper", "p").fill_nan(None))
    return table, now.sort("score", "item", descending=[True, False])


def _half_widths(alike: DesignEffect, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the half width of a 95% interval in standard deviations, for numbers of judges."""
    from scipy.special import stdtrit

    return np.asarray(-stdtrit(_freedom(alike, units), 0.025))


def _freedom(alike: DesignEffect, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return degrees of freedom of variances, by numbers of judges."""
    return np.minimum(np.maximum(units - 1, 1.0), _NORMAL) if alike.judges else np.full(len(units), _NORMAL)


def _places_now(
    scores: NDArray[np.float64],
    covariance: NDArray[np.float64],
    alike: DesignEffect,
    current: NDArray[np.bool_],
    seed: int,
) -> NDArray[np.int64]:
    """Return first and last places now, and 1 of items that may be first, shape (3, m); 0 of items not judged since."""
    chosen = np.flatnonzero(current)
    units = alike.units
    of = replace(units, items=units.items[chosen], votes=units.votes[chosen], df_units=units.df_units[chosen])
    own = covariance[np.ix_(chosen, chosen)]
    places = np.zeros((3, len(scores)), np.int64)
    scales = np.zeros(len(chosen), np.int64)
    freedom = None if alike.judges else np.full(len(chosen), np.inf)
    deviations = normal_deviations(own, seed)
    low, high, first = item_rank_ranges(scores[chosen], own, scales, of, deviations, freedom=freedom)
    places[:, chosen] = np.array([*ranges_from_first(low, high, first), first])
    return places


def _notes(
    votes: Votes,
    alike: DesignEffect,
    reference: NDArray[np.bool_],
    names: Sequence[str],
    then: str,
    unit: TimeUnit,
) -> list[str]:
    """Return notes for readers of the scores."""
    what = "time" if unit == "time" else unit
    some = "" if reference.all() else " (those whose scores are known well enough)"
    notes = [
        f"scores at {len(names):,} times ({names[0]} to {names[-1]}, by {what}) use all votes, earlier and later. "
        f"The mean of the items judged by then{some} is 0. Each 95% band is for one score alone",
        f"changes are from {then} to {names[-1]}, relative to the mean of the items that had a score at both. "
        "The intervals of all items hold together at 95%",
    ]
    scales = len(votes.counts().connected.sizes)
    if scales > 1:
        notes.append(
            f"no comparison joins the {scales} connected components: the prior alone determines score differences "
            "between components"
        )
    n = votes.count
    if alike.few is not None:
        notes.append(too_few_judges_note(alike.few))
    if alike.judges:
        notes.append(
            f"votes of one judge are alike: the {n:,} votes of {count_text(alike.judges, 'judge')} count as "
            f"{n / alike.worth:,.0f} independent ones in scores, as {n / alike.of_changes:,.0f} in changes"
        )
    if votes.rest is not None and alike.points == 1:
        notes.append(
            "rankbench cannot estimate how grades vary: too few pairs have several graded votes at one time. It counts "
            "each graded vote as a whole vote, so bands, ranks and changes are too wide"
        )
    elif votes.rest is not None:
        but = ", apart from the dependence within judges" if alike.judges else ""
        whole = f"{n / alike.points:,.0f} whole votes"
        notes.append(f"graded votes vary less than whole votes: {n:,} graded votes are worth {whole}{but}")
    return notes
