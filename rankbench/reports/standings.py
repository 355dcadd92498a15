"""Standings have one row for each contender; differences have one for each pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import markdown
from rankbench.interfaces.cell import Direction, Split
from rankbench.interfaces.metric import COLUMN_FACTS
from rankbench.interfaces.suite import matches
from rankbench.reports.document import csv_of
from rankbench.reports.experiment_data import ContenderRuns, ExperimentData, MatchedRuns
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contender_ranks import ranges_from_the_best
from rankbench.stats.contrast_columns import AllPairs, ArmContrast, rounding
from rankbench.stats.contrasts import contrasts, contrasts_over_draws, within_range
from rankbench.stats.multiple_tests import holm
from rankbench.stats.simultaneous import p_values

NAN = math.nan


@dataclass(frozen=True)
class Standing:
    """A row of ``leaderboard.csv``; every column is described in docs/reference/leaderboard-columns.md.

    Attributes are in the order of the columns, with `facts` in place of the columns `COLUMN_FACTS`; nan and None are
    empty cells.
    """

    experiment: str
    dataset: str
    simulated: bool
    n: int
    contender: str
    spec: str
    metric: str
    direction: Direction
    split: Split
    mean: float = NAN
    se: float = NAN
    sd: float = NAN
    lower: float = NAN
    upper: float = NAN
    se_queries: float = NAN
    lower_queries: float = NAN
    upper_queries: float = NAN
    rank_low: int | None = None
    rank_high: int | None = None
    difference: float = NAN
    difference_lower: float = NAN
    difference_upper: float = NAN
    difference_lower_draws: float = NAN
    difference_upper_draws: float = NAN
    p_holm: float = NAN
    wins: float = NAN
    repetitions: int = 0
    planned: int = 0
    queries: int = 0
    status: str = "pending"
    reason: str = ""
    optimality: float = NAN
    facts: Mapping[str, float] = field(default_factory=dict, hash=False)
    equals: str = ""
    oracle: bool = False

    @property
    def shown(self) -> str:
        """The contender as tables name it, in Markdown: an oracle is marked."""
        return markdown(self.contender) + oracle_mark(self.contender, self.oracle)


def oracle_mark(label: str, oracle: bool) -> str:
    """Return the mark behind an oracle's label; empty if the label has the word."""
    return " (oracle)" if oracle and "oracle" not in label.lower() else ""


def standings(data: ExperimentData) -> list[Standing]:
    """Return all rows of an experiment, in the order of its plan."""
    return [
        row
        for matched in data.by_n
        for metric in data.metrics
        for split in data.source.shown_splits()
        for row in _Table(data, matched, metric, split).rows()
    ]


Values: TypeAlias = dict[str, dict[str, Any]]
"""Values of contenders by label and column."""


class _Table(NamedTuple):
    """One metric of the contenders of a comparison, on one split."""

    data: ExperimentData
    matched: MatchedRuns
    metric: str
    split: Split

    def rows(self) -> list[Standing]:
        found: Values = {runs.label: {} for runs in self.matched.contenders}
        if self.matched.compared and self.matched.repetitions:
            self._add_means(found)
            self._add_ranks(found)
            self._add_differences(found)
        for runs in (runs for runs in self.matched.contenders if runs.done and not runs.compared):
            means = self.data.means(runs, self.metric, self.split, sorted(runs.done))
            found[runs.label] = {"mean": means.mean(), "repetitions": len(means)}
        return [self.row(runs, found[runs.label]) for runs in self.matched.contenders]

    def means(self, runs: ContenderRuns) -> NDArray[np.float64]:
        return self.data.means(runs, self.metric, self.split, self.matched.repetitions)

    def _sample(self, contenders: Sequence[ContenderRuns]) -> Crossed:
        return self.data.sample(contenders, self.metric, self.split, self.matched.repetitions)

    def _add_means(self, found: Values) -> None:
        compared, repetitions = self.matched.compared, self.matched.repetitions
        sample = self._sample(compared)
        over_draws = self.data.intervals(compared, self.metric, self.split, repetitions)
        ends_of_metric = self.data.source.metric(self.metric).ends
        for i, runs in enumerate(compared):
            found[runs.label] = {name: getattr(over_draws, name)[i] for name in ("mean", "se", "sd", "lower", "upper")}
            found[runs.label]["repetitions"] = len(repetitions)
            over_both = contrasts(sample, ArmContrast(i))
            ends = within_range(over_both.estimate, over_both.lower, over_both.upper, ends_of_metric)
            for name, (value,) in zip(("se", "lower", "upper"), (over_both.se, *ends), strict=True):
                found[runs.label][f"{name}_queries"] = value

    def _add_ranks(self, found: Values) -> None:
        """Rank every distinct contender but oracles; one that equals k = inf shares that one's range."""
        ranked = [runs for runs in self.matched.compared if not matches(runs.label, self.data.experiment.oracles)]
        distinct = [runs for runs in ranked if self.matched.same_as(runs) not in ranked]
        if not distinct or (sample := self._sample(distinct)).alike or not self.data.source.metric(self.metric).quality:
            return  # there are no intervals, or no better values
        maximize = self.data.source.direction(self.metric) == "maximize"
        ranges = ranges_from_the_best(sample, maximize=maximize)
        by_label = {runs.label: pair for runs, pair in zip(distinct, ranges, strict=True)}
        for runs in ranked:
            low, high = by_label[runs.label if runs in distinct else runs.equals]
            found[runs.label] |= {"rank_low": int(low), "rank_high": int(high)}

    def _add_differences(self, found: Values) -> None:
        compared, base = self.matched.compared, self.matched.runs(self.data.experiment.baseline)
        if base is None or not base.compared:
            return
        others = [runs for runs in compared if runs is not base]
        sample, place = self._sample(compared), compared.index(base)
        pairs = [ArmContrast(i, place) for i, runs in enumerate(compared) if runs is not base]
        over_both = [contrasts(sample, pair) for pair in pairs]
        own = dict(zip([runs.label for runs in others], p_values(over_both), strict=True))
        tested = [runs.label for runs in others if self.matched.same_as(runs) is None]
        adjusted = holm(np.array([own[label] for label in tested], dtype=np.float64))
        by_label = dict(zip(tested, adjusted, strict=True))
        for runs, pair, both in zip(others, pairs, over_both, strict=True):
            draws = contrasts_over_draws(sample, pair)
            found[runs.label] |= {
                "difference": both.estimate[0],
                "difference_lower": both.lower[0],
                "difference_upper": both.upper[0],
                "difference_lower_draws": draws.lower[0],
                "difference_upper_draws": draws.upper[0],
                "p_holm": by_label.get((self.matched.same_as(runs) or runs).label, NAN),
                "wins": self._wins(runs, base),
            }

    def _wins(self, runs: ContenderRuns, base: ContenderRuns) -> float:
        """Return the number of repetitions in which a contender is better than the baseline; ties count half."""
        sign = 1 if self.data.source.direction(self.metric) == "minimize" else -1
        ours, theirs = self.means(runs), self.means(base)
        margins = sign * (theirs - ours)
        even = np.abs(margins) <= rounding(margins, float(np.abs(theirs).max(initial=0.0)))
        return float((margins[~even] > 0).sum() + 0.5 * even.sum())

    def row(self, runs: ContenderRuns, values: Mapping[str, Any]) -> Standing:
        source, experiment = self.data.source, self.data.experiment
        return Standing(
            experiment=experiment.name,
            dataset=source.dataset,
            simulated=source.simulated,
            n=self.matched.n,
            contender=runs.label,
            spec=runs.spec,
            metric=self.metric,
            direction=source.direction(self.metric),
            split=self.split,
            planned=self.matched.planned,
            queries=len(source.units[self.split]),
            status=runs.status,
            reason=runs.reason,
            optimality=runs.optimality,
            facts={fact.name: runs.info(fact.name) for fact in COLUMN_FACTS},
            equals=runs.equals,
            oracle=matches(runs.label, experiment.oracles),
            **{name: value if isinstance(value, int) else float(value) for name, value in values.items()},  # type: ignore[arg-type]
        )


def best_first(rows: Sequence[Standing]) -> list[Standing]:
    """Return rows from the best mean to the worst, then rows without rank."""
    sign = -1 if rows and rows[0].direction == "maximize" else 1

    def place(row: Standing) -> tuple[bool, bool, float]:
        placed = row.status == "done" and not math.isnan(row.mean)
        return row.rank_low is None, not placed, round(sign * row.mean, 12) if placed else 0.0

    return sorted(rows, key=place)


@dataclass(frozen=True)
class Differences:
    """Intervals of the differences between all contenders of a table, for any reference.

    An interval from a reference that was named beforehand would be shorter, but no longer hold where the data choose
    the reference, as the best mean does.

    Attributes
    ----------
    labels : tuple of str
        C contenders.
    lower, upper : ndarray of float64, shape (C, C)
        Of the row's mean minus that of the column, with the sign that has less be better; nan where there is none.
    means : dict of str to (float, float)
        Intervals of the means, by label, of a metric with a chance level.
    """

    labels: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    means: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def interval(self, label: str, other: str) -> tuple[float, float]:
        """Return the interval of a contender minus another, below 0 where the contender is better."""
        if label not in self._place or other not in self._place:
            return np.nan, np.nan
        at = self._place[label], self._place[other]
        return float(self.lower[at]), float(self.upper[at])

    def places(self, label: str) -> tuple[int, int]:
        """Return the best and the worst place that a contender may hold."""
        if label not in self._place:
            return 1, len(self.labels)
        at = self._place[label]
        beaten, beating = int((self.lower[at] > 0).sum()), int((self.upper[at] < 0).sum())
        return 1 + beaten, len(self.labels) - beating


def differences_of(
    data: ExperimentData, matched: MatchedRuns, metric: str, split: Split, level: float, *, oracles: bool = True
) -> Differences:
    """Return the differences of all, oracles or not, and their means; either's intervals hold together."""
    known = () if oracles else data.experiment.oracles
    compared = [runs for runs in matched.compared if not matches(runs.label, known)]
    labels = tuple(runs.label for runs in compared)
    lower = np.full((len(labels), len(labels)), np.nan)
    upper = lower.copy()
    means: dict[str, tuple[float, float]] = {}
    sample = data.sample(compared, metric, split, matched.repetitions) if labels else None
    if sample is not None and data.source.metric(metric).chance is not None:
        # Repeated splits of one log have no interval over queries.
        of_means = contrasts if data.source.test_share is None else contrasts_over_draws
        each = of_means(sample, np.eye(len(labels)), level)
        ends = within_range(each.estimate, each.lower, each.upper, data.source.metric(metric).ends)
        means = dict(zip(labels, zip(*(end.tolist() for end in ends), strict=True), strict=True))
    if sample is not None and len(labels) > 1:
        found = contrasts(sample, AllPairs(len(labels)), level)
        low, high = found.lower, found.upper
        if data.source.direction(metric) == "maximize":
            low, high = -high, -low
        first, second = np.triu_indices(len(labels), 1)
        lower[first, second], upper[first, second] = low, high
        lower[second, first], upper[second, first] = -high, -low
    return Differences(labels, lower, upper, means)


COLUMNS: tuple[str, ...] = tuple(
    name
    for field in fields(Standing)
    for name in ([fact.name for fact in COLUMN_FACTS] if field.name == "facts" else [field.name])
)
"""Columns of ``leaderboard.csv``, in order; described in docs/reference/leaderboard-columns.md."""


def values_of(row: Standing) -> list[Any]:
    """Return a row's values in the order of `COLUMNS`."""
    return [row.facts[name] if name in row.facts else getattr(row, name) for name in COLUMNS]


UNIT_COLUMNS = ("experiment", "dataset", "n", "contender", "split", "unit", "metric", "value")
"""Columns of ``units.csv``, in order; described in docs/reference/leaderboard-columns.md."""


def units_csv(experiments: Sequence[ExperimentData]) -> str:
    """Return the values of all experiments without comparisons, or ``""``.

    A bound of an interval that is not known is an empty cell.
    """
    rows = [row for data in experiments if data.source.layout != "race" for row in _unit_rows(data)]
    return csv_of(UNIT_COLUMNS, rows) if rows else ""


def _unit_rows(data: ExperimentData) -> list[tuple[object, ...]]:
    names = data.experiment.name, data.source.dataset
    return [
        (*names, matched.n, runs.label, split, unit, metric, float(value))
        for matched in data.by_n
        for runs in matched.contenders
        if runs.done
        for metric in data.metrics
        for split in data.source.shown_splits()
        for unit, value in zip(data.source.units[split], data.values(runs, metric, split), strict=True)
    ]
