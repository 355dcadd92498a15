"""Periods cut votes by calendar years: who leads in each, and by how much the left has an advantage."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.core.component import Component
from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.cell import RANKING, VOTES, CellResult, Layout, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import RANKING_METRICS, Fact, Metric
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import BlockPart, BlockTask, Prepared, pack, unpack
from rankbench.logs.count import count_pairs
from rankbench.logs.votes import Votes, coded_votes, load_votes
from rankbench.plugin.manager import reference
from rankbench.protocols.judging import each_cell
from rankbench.protocols.log_votes import LogProtocol, misfit_of, unchanged
from rankbench.ranking.rank import normal_deviations
from rankbench.ranking.rank_ranges import (
    item_rank_ranges,
    less_known_mean,
    reference_items,
    relative_covariance,
    score_intervals,
)
from rankbench.ranking.ranked_log import CountedVotes
from rankbench.ranking.sampling_units import ENOUGH, Units, has_interval

_FLAGS = {"true": True, "false": False}


DatedVotes: TypeAlias = tuple[Votes, dict[str, NDArray[Any]], NDArray[np.int64]]
"""Votes in the log's order; columns of them, shape (n,); the first and the last year of each period, shape (P, 2).

Columns are ``winners``, ``losers``, ``ties``, ``weights`` and ``period``, the number of a vote's period. With sides
there are ``lefts``, whether the winner is the left item, ``sided``, whether sides mean something, and ``won``, the left
item's share. The last period ends with the votes.
"""


def dated_votes(dataset: Dataset, years: int, *, sides: bool = False, unless: str = "") -> DatedVotes:
    """Load votes with their periods.

    Parameters
    ----------
    dataset : Dataset
        Of comparisons with dates.
    years : int
        That a period has; periods begin where the year is a multiple of it.
    sides : bool
        The log must name the item on the left.
    unless : str
        A column of true and false: where it is true, sides mean nothing.

    Raises
    ------
    InputError
        There are no dates, no sides, or votes without them; or the column holds something else.
    SpecError
        The data set has no such column.
    """
    import polars as pl

    frame = dataset.scan_as(f"query={unless}") if unless else dataset.scan()
    names = frame.collect_schema()
    if "time" not in names or not names["time"].is_temporal():
        raise InputError(f"{dataset!s} does not say on which day votes were cast", column="time")
    if sides and "first" not in names:
        raise InputError(f"{dataset!s} does not say which item was on the left", column="first")
    kept = ["query_id", "winner", "loser", *(name for name in ("weight", "tie", REST) if name in names)]
    whole = frame.select(*kept, *(["first"] if sides else []), year=pl.col("time").dt.year()).collect().lazy()
    beside = whole.select("year", *(["first"] if sides else []), "query_id").collect()
    if beside.null_count().sum_horizontal().item():
        raise InputError(f"{dataset!s} has votes without a time or a side")
    votes = load_votes(coded_votes(whole.select(kept)))
    begin = beside["year"].to_numpy().astype(np.int64) // years * years
    last = int(beside["year"].max())  # type: ignore[arg-type]  # of a column of years
    first, period = np.unique(begin, return_inverse=True)
    ends = np.column_stack([first, np.minimum(first + years - 1, last)])
    columns = {
        "winners": votes.winners,
        "losers": votes.losers,
        "ties": votes.ties,
        "weights": np.array(votes.weights),
        "period": period.reshape(-1).astype(np.int64),
    }
    if not sides:
        return votes, columns, ends
    sided = np.ones(len(votes), np.bool_)
    if unless:
        said = beside["query_id"].cast(pl.String).str.to_lowercase()
        if not said.is_in(list(_FLAGS)).all():
            raise SpecError(f"column {unless!r} says more than true and false")
        sided = (said == "false").to_numpy()
    lefts = beside["first"].to_numpy().astype(np.bool_)
    won = votes.share_won(np.where(lefts, votes.winners, votes.losers))
    return votes, columns | {"lefts": lefts, "sided": sided, "won": won}, ends


def counts_of_votes(
    stored: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> tuple[PairCounts, NDArray[np.int32]]:
    """Return the sums by pair of some rows of packed votes, and the items that these are about, called by numbers."""
    winners, losers, ties, weights = (stored[name][rows] for name in ("winners", "losers", "ties", "weights"))
    there = np.unique(np.concatenate([winners, losers]))
    won, lost = np.searchsorted(there, winners), np.searchsorted(there, losers)
    given = None if (weights == 1).all() else weights
    counts = count_pairs(won, lost, ties=ties, weights=given, items=[str(item) for item in there])
    return counts, there


def years_text(first: int, last: int) -> str:
    """Return the name of a period: ``1990 to 1999``, ``1990``."""
    return str(first) if first == last else f"{first} to {last}"


PeriodRows: TypeAlias = tuple[Sequence[str], Mapping[str, NDArray[Any]], tuple[str, ...]]
"""A name for each row of a series, what its protocol keeps beside the votes and stretches, and what to note."""


class PeriodProtocol(LogProtocol):
    """A series over periods of years: each contender has a result in each period."""

    facts: ClassVar[tuple[Fact, ...]] = ()
    layout: ClassVar[Layout] = "series"

    @abstractmethod
    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with their stretches."""

    @abstractmethod
    def rows(self, log: DatedVotes) -> PeriodRows:
        """Return the rows of the series.

        Raises
        ------
        SpecError
            There are none.
        """

    @abstractmethod
    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Return a contender's results by metric, a number a row."""

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes with their periods, and the rows of the series."""
        dataset = self.required(dataset)
        fingerprint = dataset.fingerprint()
        log = self.dated(dataset)
        unchanged(dataset, fingerprint)
        names, more, notes = self.rows(log)
        votes, columns, _ = log
        arrays = pack("dated", **columns, **more)
        return Prepared(self, dataset, fingerprint, {"design": tuple(names)}, arrays, float(votes.count), notes)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Return every contender's results."""

        def judged(cell: str, contender: Contender) -> CellResult:
            of_rows = self.series(prepared, contender.component(Aggregator), task.key.seed)
            return CellResult(cell, "done", losses={(name, _DESIGN): values for name, values in of_rows.items()})

        return each_cell(task, judged)


_DESIGN: Split = "design"


class PeriodLeaders(PeriodProtocol):
    """The first item of each stretch of years, with its score and the places that it may hold.

    `method` names the first item: it has the highest score of the items with ten votes, among the items that chains of
    comparisons connect with most others. Contenders rank all items of the stretch by its votes alone, with
    intervals by formula; a row is what they say of that item. Its rank range is among all items of its stretch:
    those that fewer than ten votes are about, and those on other scales, may hold any place. So 1 alone means that
    it is significantly above each other item, and that each other one was judged.
    Rows of different stretches are not compared. Stretches follow one another, or one ends `every` so many years, and
    then they overlap: neighbors share votes.

    Prefer it to tell who was first when, and how certain that is.
    """

    name: ClassVar[str] = "period-leaders"
    source: ClassVar[str] = "[MWR24]_"
    metrics: ClassVar[tuple[Metric, ...]] = (*RANKING_METRICS, Metric(VOTES, "maximize", "Votes that the item is in."))
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time, and who was first"}

    years: int = Field(default=1, ge=1, le=1000, description="Years of a stretch.")
    every: int = Field(
        default=0, ge=0, le=1000, description="Years from the end of a stretch to that of the next one; 0: as `years`."
    )
    method: Annotated[Aggregator, reference(Aggregator)] = Field(
        default="bradley-terry:penalty=firth", validate_default=True, description="By whose scores an item is first."
    )

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if self.every and self.years % self.every:
            raise ValueError(f"every={self.every} does not divide years={self.years}")
        return self

    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with the steps of time that periods consist of."""
        return dated_votes(dataset, self.every or self.years)

    def rows(self, log: DatedVotes) -> PeriodRows:
        """Return the periods that have a first item, and that item."""
        votes, columns, years = log
        names, first, kept = [], [], []
        since = years[:, 0] + ((self.every or self.years) - self.years)
        begins = np.searchsorted(years[:, 0], since)
        lasts = years[:, 1].tolist()
        for p, (begin, year, last) in enumerate(zip(begins.tolist(), since.tolist(), lasts, strict=True)):
            found = self._first(_of_periods(columns, begin, p))
            if found is not None:
                names.append(f"{years_text(year, last)}: {votes.items[found]}")
                first.append(found)
                kept.append((begin, p))
        if not names:
            raise SpecError(f"no stretch of {self.years} years has an item with ten votes")
        left = len(years) - len(names)
        notes = (f"{left} of {len(years)} stretches have no item with ten votes.",) if left else ()
        return names, {"first": np.array(first), "kept": np.array(kept)}, notes

    def _first(self, log: CountedVotes) -> int | None:
        judged = log.tallies.judged
        scales = log.scales(self.method)
        known = (judged >= ENOUGH) & (scales == np.bincount(scales).argmax())
        if not known.any():
            return None
        scores = np.where(known, log.scores(self.method), -np.inf)
        return int(log.items[int(scores.argmax())])

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank a period's items with intervals, or ``""``."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        return "" if isinstance(contender, WithCovariance) else f"{contender.name!r} has no formula for intervals"

    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Rank the items of each period, and return the contender's results on the period's first item."""
        stored = unpack(prepared.arrays, "dated")
        lines = [
            _row(_of_periods(stored, begin, end), aggregator, str(item), seed)
            for (begin, end), item in zip(stored["kept"].tolist(), stored["first"].tolist(), strict=True)
        ]
        columns = np.array(lines, dtype=np.float64).T
        return {name: np.ascontiguousarray(column) for name, column in zip((*RANKING, VOTES), columns, strict=True)}

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return the block with some stretches of all the time."""
        names = prepared.units["design"]
        rows = np.unique(np.linspace(0, len(names) - 1, max(round(len(names) * share), 1)).astype(np.int64))
        some = {f"dated.{name}": prepared.arrays[f"dated.{name}"][rows] for name in ("first", "kept")}
        units: dict[Split, tuple[str, ...]] = {"design": tuple(names[row] for row in rows)}
        fewer = replace(prepared, units=units, arrays={**prepared.arrays, **some})
        return BlockPart(fewer, task, len(rows) / len(names))


def _of_periods(stored: Mapping[str, NDArray[Any]], begin: int, end: int) -> CountedVotes:
    """Return the votes of the periods from one to another; items are called by their numbers."""
    rows = np.flatnonzero((begin <= stored["period"]) & (stored["period"] <= end))
    return CountedVotes(counts_of_votes(stored, rows)[0])


def _row(log: CountedVotes, aggregator: Aggregator, item: str, seed: int) -> tuple[float, ...]:
    """Return an aggregator's result for an item: score, interval, places among all items of the log, and votes."""
    scores, scales, units = log.scores(aggregator), log.scales(aggregator), log.units
    covariance, known = log.covariance(aggregator, scores)[0], has_interval(units)
    if aggregator.only_differences():
        reference = reference_items(covariance, scales, known)
        covariance = relative_covariance(covariance, scales, reference)
        scores = less_known_mean(scores[None], scales, reference)[0]
    at = log.items.index(item)
    lower, upper = score_intervals(scores, np.sqrt(np.maximum(np.diag(covariance), 0)), units, aggregator.bounds())
    # Items with few votes, and items on another scale, may hold any place.
    kept = np.flatnonzero(known & (scales == scales[at]))
    some = Units(units.count, units.effective, units.items[kept], units.votes[kept], units.df_units[kept])
    errors = log.range_errors(aggregator, scores, scales, covariance, 0, seed)
    block = (covariance if errors is None else errors.covariance)[np.ix_(kept, kept)]
    freedom = None if errors is None else errors.freedom[kept]
    deviations = normal_deviations(block, seed)
    low, high, _ = item_rank_ranges(scores[kept], block, scales[kept], some, deviations, freedom=freedom)
    place = int(np.searchsorted(kept, at))
    ends = (low[place], high[place] + len(scores) - len(kept)) if at in kept else (1, len(scores))
    return float(scores[at]), float(lower[at]), float(upper[at]), *map(float, ends), float(log.tallies.judged[at])


_STEPS = 50
_FEWEST = 10


class LeftAdvantage(PeriodProtocol):
    r"""The advantage of the left item, in log-odds, for each stretch of years, beside the scores of a contender.

    It is the h at which the votes of the stretch went as was expected:

    .. math:: \sum_t w_t \big( y_t - \sigma(s_{left(t)} - s_{right(t)} + h) \big) = 0

    with y 1, 1/2 or 0 for a win of the left, a tie and a win of the right, and s what the contender makes of all votes
    of the stretch. Its variance is the sandwich's, with votes for clusters: the scores are taken for known, as each is
    of many votes and an item is on both sides. A stretch with fewer than ten votes has no interval. Ranks are of the
    stretches, all together at 95%: whether the advantage was larger in one than in another.

    Prefer it where a side has an advantage that may change over the years, as the home side in football.
    """

    name: ClassVar[str] = "left-advantage"
    source: ClassVar[str] = "[BT52]_"
    metrics: ClassVar[tuple[Metric, ...]] = (
        replace(RANKING_METRICS[0], chance=0.0),  # where sides mean nothing
        *RANKING_METRICS[1:],
        Metric(VOTES, "maximize", "Votes with sides."),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time"}

    years: int = Field(default=10, ge=1, le=1000, description="Years of a stretch.")
    unless: str = Field(default="", description="Column of true and false; where it is true, sides mean nothing.")

    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with their sides and stretches."""
        return dated_votes(dataset, self.years, sides=True, unless=self.unless)

    def rows(self, log: DatedVotes) -> PeriodRows:
        """Return the stretches."""
        votes, columns, years = log
        away = int((~columns["sided"]).sum())
        notes = (f"{away:,} of {votes.count:,} votes have no sides ({self.unless}).",) if away else ()
        return [years_text(*pair) for pair in years.tolist()], {}, notes

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot predict the expected outcome, or ``""``."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        if contender.score_unit() != "log-odds" or not isinstance(contender, CountAggregator):
            return f"{contender.name!r} makes no log-odds of counts, beside which an advantage is one"
        return ""

    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Estimate the advantage of each stretch beside the contender's scores."""
        return _advantages(unpack(prepared.arrays, "dated"), prepared.units["design"], aggregator, seed)


def _advantages(
    stored: Mapping[str, NDArray[Any]], stretches: Sequence[str], aggregator: Aggregator, seed: int
) -> dict[str, NDArray[np.float64]]:
    count = len(stretches)
    score, se, votes = np.zeros(count), np.zeros(count), np.zeros(count)
    for p in range(count):
        rows = np.flatnonzero(stored["period"] == p)
        lefts, sided = stored["lefts"][rows], stored["sided"][rows]
        if not sided.any():
            raise InputError(f"no vote of {stretches[p]} has sides")
        counts, items = counts_of_votes(stored, rows)
        scores = call_aggregator(aggregator, counts, counts.m)
        winner, loser = (np.searchsorted(items, stored[name][rows]) for name in ("winners", "losers"))
        lead = scores[winner] - scores[loser]
        lead = np.where(lefts, lead, -lead)[sided]
        won, weights = stored["won"][rows][sided], stored["weights"][rows][sided]
        score[p], se[p] = _advantage(lead, won, weights)
        votes[p] = weights.sum()
    units = Units(count, float(count), votes, votes, votes)
    covariance = np.diag(se**2)
    lower, upper = score_intervals(score, np.where(votes >= _FEWEST, se, 0.0), units)
    deviations = normal_deviations(covariance, seed)
    low, high, _ = item_rank_ranges(score, covariance, np.zeros(count, np.int64), units, deviations)
    ends = {"rank-low": low.astype(np.float64), "rank-high": high.astype(np.float64)}
    return {"score": score, "lower": lower, "upper": upper, VOTES: votes, **ends}


def _advantage(
    lead: NDArray[np.float64], won: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """Return h and its standard error, by Newton's method; half a vote each way is added, so that h is finite."""
    from scipy.special import expit

    found = 0.0
    for _ in range(_STEPS):
        chance, even = expit(lead + found), float(expit(found))
        slope = float(weights @ (won - chance)) + 0.5 - even
        bend = float(weights @ (chance * (1 - chance))) + even * (1 - even)
        step = slope / bend
        found += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-12:
            break
    chance = expit(lead + found)
    middle = float((weights**2) @ (won - chance) ** 2)
    return found, math.sqrt(middle) / bend
