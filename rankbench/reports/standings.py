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
from rankbench.reports.experiment_data import Arm, Race, Sampler
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import AllPairs, ArmContrast, rounding
from rankbench.stats.contrasts import contender_rank_ranges, contrasts, contrasts_over_draws, within_range
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


def standings(sampler: Sampler) -> list[Standing]:
    """Return all rows of an experiment, in the order of its plan."""
    return [
        row
        for race in sampler.races
        for metric in sampler.metrics
        for split in sampler.source.shown_splits()
        for row in _Table(sampler, race, metric, split).rows()
    ]


def standings_so_far(sampler: Sampler, race: Race, metric: str, split: Split) -> list[Standing]:
    """Return the rows of contenders with results, with means alone over the repetitions that all of them finished."""
    table = _Table(sampler, race, metric, split)
    return [
        table.row(arm, {"mean": table.means(arm).mean()} if arm.racing and race.repetitions else {})
        for arm in race.arms
        if arm.stored
    ]


Values: TypeAlias = dict[str, dict[str, Any]]
"""Values of contenders by label and column."""


class _Table(NamedTuple):
    """One metric of the contenders of a race, on one split."""

    sampler: Sampler
    race: Race
    metric: str
    split: Split

    def rows(self) -> list[Standing]:
        found: Values = {arm.label: {} for arm in self.race.arms}
        if self.race.racing and self.race.repetitions:
            self._add_means(found)
            self._add_ranks(found)
            self._add_differences(found)
        for arm in (arm for arm in self.race.arms if arm.done and not arm.racing):
            means = self.sampler.means(arm, self.metric, self.split, sorted(arm.done))
            found[arm.label] = {"mean": means.mean(), "repetitions": len(means)}
        return [self.row(arm, found[arm.label]) for arm in self.race.arms]

    def means(self, arm: Arm) -> NDArray[np.float64]:
        return self.sampler.means(arm, self.metric, self.split, self.race.repetitions)

    def _sample(self, arms: Sequence[Arm]) -> Crossed:
        return self.sampler.sample(arms, self.metric, self.split, self.race.repetitions)

    def _add_means(self, found: Values) -> None:
        racing, repetitions = self.race.racing, self.race.repetitions
        sample = self._sample(racing)
        over_draws = self.sampler.intervals(racing, self.metric, self.split, repetitions)
        ends_of_metric = self.sampler.source.metric(self.metric).ends
        for i, arm in enumerate(racing):
            found[arm.label] = {name: getattr(over_draws, name)[i] for name in ("mean", "se", "sd", "lower", "upper")}
            found[arm.label]["repetitions"] = len(repetitions)
            over_both = contrasts(sample, ArmContrast(i))
            ends = within_range(over_both.estimate, over_both.lower, over_both.upper, ends_of_metric)
            for name, (value,) in zip(("se", "lower", "upper"), (over_both.se, *ends), strict=True):
                found[arm.label][f"{name}_queries"] = value

    def _add_ranks(self, found: Values) -> None:
        """Rank every distinct arm; one that equals k = inf shares that one's range."""
        distinct = [arm for arm in self.race.racing if self.race.twin(arm) is None]
        sample = self._sample(distinct)
        if sample.alike or not self.sampler.source.metric(self.metric).quality:
            return  # there are no intervals, or no better values
        maximize = self.sampler.source.direction(self.metric) == "maximize"
        ranges = contender_rank_ranges(sample, maximize=maximize)
        by_label = {arm.label: pair for arm, pair in zip(distinct, ranges, strict=True)}
        for arm in self.race.racing:
            low, high = by_label[(self.race.twin(arm) or arm).label]
            found[arm.label] |= {"rank_low": int(low), "rank_high": int(high)}

    def _add_differences(self, found: Values) -> None:
        racing, base = self.race.racing, self.race.arm(self.sampler.experiment.baseline)
        if base is None or not base.racing:
            return
        others = [arm for arm in racing if arm is not base]
        sample, place = self._sample(racing), racing.index(base)
        pairs = [ArmContrast(i, place) for i, arm in enumerate(racing) if arm is not base]
        over_both = [contrasts(sample, pair) for pair in pairs]
        own = dict(zip([arm.label for arm in others], p_values(over_both), strict=True))
        tested = [arm.label for arm in others if self.race.twin(arm) is None]
        adjusted = holm(np.array([own[label] for label in tested], dtype=np.float64))
        by_label = dict(zip(tested, adjusted, strict=True))
        for arm, pair, both in zip(others, pairs, over_both, strict=True):
            draws = contrasts_over_draws(sample, pair)
            found[arm.label] |= {
                "difference": both.estimate[0],
                "difference_lower": both.lower[0],
                "difference_upper": both.upper[0],
                "difference_lower_draws": draws.lower[0],
                "difference_upper_draws": draws.upper[0],
                "p_holm": by_label.get((self.race.twin(arm) or arm).label, NAN),
                "wins": self._wins(arm, base),
            }

    def _wins(self, arm: Arm, base: Arm) -> float:
        """Return the number of repetitions in which an arm is better than the baseline; ties count half."""
        sign = 1 if self.sampler.source.direction(self.metric) == "minimize" else -1
        ours, theirs = self.means(arm), self.means(base)
        margins = sign * (theirs - ours)
        even = np.abs(margins) <= rounding(margins, float(np.abs(theirs).max(initial=0.0)))
        return float((margins[~even] > 0).sum() + 0.5 * even.sum())

    def row(self, arm: Arm, values: Mapping[str, Any]) -> Standing:
        source, experiment = self.sampler.source, self.sampler.experiment
        return Standing(
            experiment=experiment.name,
            dataset=source.dataset,
            simulated=source.simulated,
            n=self.race.n,
            contender=arm.label,
            spec=arm.spec,
            metric=self.metric,
            direction=source.direction(self.metric),
            split=self.split,
            planned=self.race.planned,
            queries=len(source.units[self.split]),
            status=arm.status,
            reason=arm.reason,
            optimality=arm.optimality,
            facts={fact.name: arm.info(fact.name) for fact in COLUMN_FACTS},
            equals=arm.equals,
            oracle=matches(arm.label, experiment.oracles),
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
    sampler: Sampler, race: Race, metric: str, split: Split, level: float, *, oracles: bool = True
) -> Differences:
    """Return the differences of all that race, oracles or not, and their means; either's intervals hold together."""
    known = () if oracles else sampler.experiment.oracles
    racing = [arm for arm in race.racing if not matches(arm.label, known)]
    labels = tuple(arm.label for arm in racing)
    lower = np.full((len(labels), len(labels)), np.nan)
    upper = lower.copy()
    means: dict[str, tuple[float, float]] = {}
    sample = sampler.sample(racing, metric, split, race.repetitions) if labels else None
    if sample is not None and sampler.source.metric(metric).chance is not None:
        # Repeated splits of one log have no interval over queries.
        of_means = contrasts if sampler.source.test_share is None else contrasts_over_draws
        each = of_means(sample, np.eye(len(labels)), level)
        ends = within_range(each.estimate, each.lower, each.upper, sampler.source.metric(metric).ends)
        means = dict(zip(labels, zip(*(end.tolist() for end in ends), strict=True), strict=True))
    if sample is not None and len(labels) > 1:
        found = contrasts(sample, AllPairs(len(labels)), level)
        low, high = found.lower, found.upper
        if sampler.source.direction(metric) == "maximize":
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


def units_csv(samplers: Sequence[Sampler]) -> str:
    """Return the values of all experiments without comparisons, or ``""``.

    A bound of an interval that is not known is an empty cell.
    """
    rows = [row for sampler in samplers if sampler.source.layout != "race" for row in _unit_rows(sampler)]
    return csv_of(UNIT_COLUMNS, rows) if rows else ""


def _unit_rows(sampler: Sampler) -> list[tuple[object, ...]]:
    names = sampler.experiment.name, sampler.source.dataset
    return [
        (*names, race.n, arm.label, split, unit, metric, float(value))
        for race in sampler.races
        for arm in race.arms
        if arm.done
        for metric in sampler.metrics
        for split in sampler.source.shown_splits()
        for unit, value in zip(sampler.source.units[split], sampler.values(arm, metric, split), strict=True)
    ]
