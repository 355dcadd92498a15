"""Standings have one row for each contender; differences have one for each pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import markdown
from rankbench.interfaces.cell import Direction, Split
from rankbench.interfaces.figure import matches
from rankbench.interfaces.metric import COLUMN_FACTS
from rankbench.reports.document import csv_of
from rankbench.reports.experiment_data import Arm, Race, Sampler
from rankbench.stats.contrast_columns import AllPairs, OneArm, OnePair, rounding
from rankbench.stats.contrasts import contender_rank_ranges, contrasts, contrasts_over_draws, too_few
from rankbench.stats.multiple_tests import holm
from rankbench.stats.simultaneous import p_values

NAN = math.nan


@dataclass(frozen=True)
class Standing:
    """A row of ``leaderboard.csv``; every column is described in docs/leaderboard.md.

    Attributes are in the order of the columns, `facts` standing for those of `COLUMN_FACTS`; nan and None are
    written as nothing.
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
    """Return what is written behind an oracle's label; nothing where the label says it."""
    return " (oracle)" if oracle and "oracle" not in label.lower() else ""


def standings(sampler: Sampler) -> list[Standing]:
    """Return all rows of an experiment, in the order of its plan."""
    return [
        row
        for race in sampler.races
        for metric in sampler.metrics
        for split in sampler.source.shown_splits()
        for row in _rows(sampler, race, metric, split)
    ]


def _rows(sampler: Sampler, race: Race, metric: str, split: Split) -> list[Standing]:
    direction = sampler.source.direction(metric)
    found: dict[str, dict[str, float | int | None]] = {}
    racing = race.racing
    if racing and race.repetitions:
        sample = sampler.sample(racing, metric, split, race.repetitions)
        over_draws = sampler.intervals(racing, metric, split, race.repetitions)
        few = too_few(len(race.repetitions))
        for i, arm in enumerate(racing):
            single = contrasts(sample, OneArm(i))
            found[arm.member.label] = {
                "mean": over_draws.mean[i],
                "se": over_draws.se[i],
                "sd": over_draws.sd[i],
                "lower": over_draws.lower[i],
                "upper": over_draws.upper[i],
                "se_queries": single.se[0],
                "lower_queries": NAN if few else single.lower[0],
                "upper_queries": NAN if few else single.upper[0],
                "repetitions": len(race.repetitions),
            }
        _ranks(sampler, race, metric, split, found)
        _differences(sampler, race, metric, split, found)
    for arm in race.arms:
        if arm.done and not arm.racing:
            means = sampler.means(arm, metric, split, sorted(arm.done))
            found[arm.member.label] = {"mean": float(means.mean()), "repetitions": len(means)}
    return [_row(sampler, race, arm, metric, split, direction, found.get(arm.member.label, {})) for arm in race.arms]


def standings_so_far(sampler: Sampler, race: Race, metric: str, split: Split) -> list[Standing]:
    """Return the rows of who has results, with means alone: those of the repetitions that all of them finished."""
    direction, found = sampler.source.direction(metric), list[Standing]()
    for arm in (arm for arm in race.arms if arm.stored):
        known = arm.racing and bool(race.repetitions)
        mean = float(sampler.means(arm, metric, split, race.repetitions).mean()) if known else NAN
        found.append(_row(sampler, race, arm, metric, split, direction, {"mean": mean}))
    return found


def _ranks(
    sampler: Sampler, race: Race, metric: str, split: Split, found: dict[str, dict[str, float | int | None]]
) -> None:
    """Rank every distinct arm; one that equals k = inf shares that one's range."""
    distinct = [arm for arm in race.racing if race.twin(arm) is None]
    sample = sampler.sample(distinct, metric, split, race.repetitions)
    if sample.alike:
        return  # nothing to tell anything apart by
    ranges = contender_rank_ranges(sample, maximize=sampler.source.direction(metric) == "maximize")
    by_label = {arm.member.label: pair for arm, pair in zip(distinct, ranges, strict=True)}
    for arm in race.racing:
        low, high = by_label[(race.twin(arm) or arm).label]
        found[arm.member.label] |= {"rank_low": int(low), "rank_high": int(high)}


def _differences(
    sampler: Sampler, race: Race, metric: str, split: Split, found: dict[str, dict[str, float | int | None]]
) -> None:
    base = race.arm(sampler.experiment.baseline)
    if base is None or not base.racing:
        return
    others = [arm for arm in race.racing if arm is not base]
    sample, place = sampler.sample(race.racing, metric, split, race.repetitions), race.racing.index(base)
    pairs = [OnePair(i, place) for i, arm in enumerate(race.racing) if arm is not base]
    over_both = [contrasts(sample, pair) for pair in pairs]
    for arm, pair, both, p in zip(others, pairs, over_both, p_values(over_both), strict=True):
        draws = contrasts_over_draws(sample, pair)
        found[arm.member.label] |= {
            "difference": both.estimate[0],
            "difference_lower": both.lower[0],
            "difference_upper": both.upper[0],
            "difference_lower_draws": draws.lower[0],
            "difference_upper_draws": draws.upper[0],
            "p_holm": p,
            "wins": _wins(sampler, arm, base, metric, split, race.repetitions),
        }
    tested = [arm.label for arm in others if race.twin(arm) is None]
    adjusted = holm(np.array([found[label]["p_holm"] for label in tested], dtype=np.float64))
    by_label = dict(zip(tested, adjusted, strict=True))
    for arm in others:
        found[arm.member.label]["p_holm"] = by_label.get((race.twin(arm) or arm).label, NAN)


def _wins(sampler: Sampler, arm: Arm, base: Arm, metric: str, split: Split, repetitions: tuple[int, ...]) -> float:
    """Count the repetitions in which an arm is better than the baseline; equal ones count half."""
    sign = 1 if sampler.source.direction(metric) == "minimize" else -1
    ours, theirs = (sampler.means(each, metric, split, repetitions) for each in (arm, base))
    margins = sign * (theirs - ours)
    even = np.abs(margins) <= rounding(margins, float(np.abs(theirs).max(initial=0.0)))
    return float((margins[~even] > 0).sum() + 0.5 * even.sum())


def _row(
    sampler: Sampler,
    race: Race,
    arm: Arm,
    metric: str,
    split: Split,
    direction: Direction,
    values: dict[str, float | int | None],
) -> Standing:
    source = sampler.source
    return Standing(
        experiment=sampler.experiment.name,
        dataset=source.dataset,
        simulated=source.simulated,
        n=race.n,
        contender=arm.member.label,
        spec=arm.member.spec,
        metric=metric,
        direction=direction,
        split=split,
        planned=race.planned,
        queries=len(source.units[split]),
        status=arm.status,
        reason=arm.reason,
        optimality=arm.optimality,
        facts={fact.name: arm.info(fact.name) for fact in COLUMN_FACTS},
        equals=arm.equals,
        oracle=matches(arm.label, sampler.experiment.oracles),
        **{name: value if value is None or isinstance(value, int) else float(value) for name, value in values.items()},  # type: ignore[arg-type]
    )


def _place(row: Standing, sign: int) -> tuple[bool, float]:
    """Return by what rows are sorted among those with a rank, and among those without."""
    placed = row.status == "done" and not math.isnan(row.mean)
    return not placed, round(sign * row.mean, 12) if placed else 0.0


def best_first(rows: Sequence[Standing]) -> list[Standing]:
    """Return rows from the best mean to the worst; what has no rank comes last."""
    sign = -1 if rows and rows[0].direction == "maximize" else 1
    order = range(len(rows))
    return [
        rows[i]
        for i in sorted(
            order,
            key=lambda i: (rows[i].rank_low is None, *_place(rows[i], sign), i),
        )
    ]


@dataclass(frozen=True)
class Differences:
    """Intervals of the differences between all contenders of a table, whoever they are compared with.

    An interval from a reference that was named beforehand would be shorter, but no longer hold where the data choose
    the reference, as the best mean does.

    Attributes
    ----------
    labels : tuple of str
        C contenders.
    lower, upper : ndarray of float64, shape (C, C)
        Of the row's mean minus that of the column, with the sign that has less be better; nan where there is none.
    means : dict of str to (float, float)
        Intervals of the means, by label, where it is known what a coin gets.
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
    lower, upper = _nothing(labels), _nothing(labels)
    means: dict[str, tuple[float, float]] = {}
    sample = sampler.sample(racing, metric, split, race.repetitions) if labels else None
    if sample is not None and sampler.source.metric(metric).chance is not None:
        # Repeated splits of one log have no interval over queries.
        of_means = contrasts if sampler.source.test_share is None else contrasts_over_draws
        each = of_means(sample, np.eye(len(labels)), level)
        means = dict(zip(labels, zip(each.lower.tolist(), each.upper.tolist(), strict=True), strict=True))
    if sample is not None and len(labels) > 1:
        found = contrasts(sample, AllPairs(len(labels)), level)
        low, high = found.lower, found.upper
        if sampler.source.direction(metric) == "maximize":
            low, high = -high, -low
        first, second = np.triu_indices(len(labels), 1)
        lower[first, second], upper[first, second] = low, high
        lower[second, first], upper[second, first] = -high, -low
    return Differences(labels, lower, upper, means)


def _nothing(labels: Sequence[str]) -> NDArray[np.float64]:
    return np.full((len(labels), len(labels)), np.nan)


COLUMNS: tuple[str, ...] = tuple(
    name
    for field in fields(Standing)
    for name in ([fact.name for fact in COLUMN_FACTS] if field.name == "facts" else [field.name])
)
"""Columns of ``leaderboard.csv``, in order; described in docs/leaderboard.md."""

_EXPONENT = frozenset({"optimality"})


def leaderboard_csv(rows: Sequence[Standing]) -> str:
    """Return standings as CSV."""
    return csv_of(COLUMNS, [values_of(row) for row in rows], _EXPONENT)


def values_of(row: Standing) -> list[Any]:
    """Return a row's values in the order of `COLUMNS`."""
    return [row.facts[name] if name in row.facts else getattr(row, name) for name in COLUMNS]


UNIT_COLUMNS = ("experiment", "dataset", "n", "contender", "split", "unit", "metric", "value")
"""Columns of ``units.csv``, in order; described in docs/leaderboard.md."""


def units_csv(samplers: Sequence[Sampler]) -> str:
    """Return the values of all experiments that compare nothing; empty if there are none.

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
