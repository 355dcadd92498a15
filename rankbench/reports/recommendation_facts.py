"""Recommendation facts tell which methods are significantly better than others.

A page compares methods, and their means with chance levels, by one set of intervals. The set has all differences of two
methods, and all means in metrics with a chance level, in all metrics and evaluations of the recommendation. The
intervals hold together at 95%. Intervals of one table are simultaneous, at 5% divided by the number of tables of
differences and of means. So two sentences cannot contradict each other, a reference may be chosen by the same data, and
at most one page in twenty calls a method wrongly better than another one or than chance. Two methods are *equivalent*
where the interval of their difference lies within the margin, in every metric. Everything else is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rankbench.core.runtime import one_blas_thread
from rankbench.interfaces.cell import Direction
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.standings import Differences, Standing, best_first, differences_of
from rankbench.stats.contrasts import FEWEST

WORDS = {"error": "failed", "timeout": "ran out of time", "diverged": "diverged", "skipped": "was skipped"}


@dataclass(frozen=True)
class Evaluation:
    """One experiment's tables, at its largest n.

    Attributes
    ----------
    name : str
    runs : int
    rows : dict of str to list of Standing
        By metric that the recommendation goes by: contenders with a rank, the best mean first.
    differences : dict of str to Differences
        By metric; the intervals of a page hold together.
    split : bool
        Runs are splits of one log: their means have no interval over queries.
    whole : bool
        A single run is all there is: the intervals are over queries.
    chance : dict of str to float
        Chance levels, by metric that has one.
    failed : dict of str to str
        By contender that is not judged: the failure, and how often it occurred.
    """

    name: str
    runs: int
    rows: Mapping[str, list[Standing]]
    differences: Mapping[str, Differences] = field(default_factory=dict)
    split: bool = True
    whole: bool = False
    chance: Mapping[str, float] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def few(self) -> bool:
        """True if runs are too few for intervals."""
        return self.runs < FEWEST and not (self.whole and self.runs == 1)

    def row(self, metric: str, label: str) -> Standing | None:
        """Return a contender's row, if it has a rank."""
        return next((row for row in self.rows.get(metric, []) if row.contender == label), None)

    @property
    def labels(self) -> list[str]:
        """Contenders with a rank in every metric."""
        found = [{row.contender for row in rows} for rows in self.rows.values()]
        ranked = set.intersection(*found) if found else set()
        return [row.contender for rows in list(self.rows.values())[:1] for row in rows if row.contender in ranked]

    @property
    def tables(self) -> int:
        """Number of tables in which a method might be called better."""
        return 0 if self.few else sum(bool(rows) for rows in self.rows.values())

    def direction(self, metric: str) -> Direction:
        """Return whether less or more is better."""
        return next((row.direction for row in self.rows[metric]), "minimize")

    def sign(self, metric: str) -> int:
        """Return 1 where less is better, else -1."""
        return 1 if self.direction(metric) == "minimize" else -1

    def interval(self, metric: str, label: str, other: str) -> tuple[float, float]:
        """Return the interval of a contender minus another, below 0 if it is better; nan without one."""
        found = self.differences.get(metric)
        return (math.nan, math.nan) if self.few or found is None else found.interval(label, other)

    def gap(self, metric: str, label: str, other: str) -> float:
        """Return a contender's mean minus that of another, below 0 where it is better; nan where one has none."""
        one, two = self.row(metric, label), self.row(metric, other)
        return math.nan if one is None or two is None else self.sign(metric) * (one.mean - two.mean)

    def places(self, metric: str, label: str) -> tuple[int, int]:
        """Return the places that a contender may hold, by the same intervals."""
        found = self.differences.get(metric)
        return (1, len(self.rows[metric])) if self.few or found is None else found.places(label)

    def better(self, label: str, other: str) -> list[str]:
        """Return the metrics in which a contender is significantly better than another."""
        return [metric for metric in self.rows if self.interval(metric, label, other)[1] < 0]

    def worse(self, label: str) -> list[str]:
        """Return the metrics in which some method is significantly better than a contender."""
        return [metric for metric in self.rows if self.places(metric, label)[0] > 1]

    def leaders(self, baseline: str) -> list[str]:
        """Return contenders that beat the baseline significantly in some metric, and that no method beats in any.

        Contenders that beat chance come first, then the best mean in the last metric, which says more than the others.
        """
        found = [label for label in self.labels if self.better(label, baseline) and not self.worse(label)]
        order = [row.contender for row in self.rows[list(self.rows)[-1]]] if self.rows else []
        return sorted(found, key=lambda label: (bool(self.short_of_chance(label)), order.index(label)))

    def interval_of_mean(self, metric: str, label: str) -> tuple[float, float]:
        """Return the interval of a contender's mean, of a metric with a chance level; nan without one."""
        found = self.differences.get(metric)
        return (math.nan, math.nan) if self.few or found is None else found.means.get(label, (math.nan, math.nan))

    def beats_chance(self, metric: str, label: str) -> bool:
        """Return whether a contender is significantly better than the chance level."""
        # By more than rounding.
        ends = self.interval_of_mean(metric, label)
        return all(self.sign(metric) * (bound - self.chance[metric]) < -1e-12 for bound in ends)

    @property
    def of_chance(self) -> list[str]:
        """Metrics with a chance level."""
        return [metric for metric in self.rows if metric in self.chance and self.rows[metric]]

    def short_of_chance(self, label: str) -> list[str]:
        """Return the metrics in which a contender is not significantly better than the chance level."""
        return [metric for metric in self.of_chance if not self.beats_chance(metric, label)]

    @property
    def at_chance(self) -> list[str]:
        """Metrics in which no contender is significantly better than the chance level."""
        beaten = {m for m in self.of_chance if any(self.beats_chance(m, row.contender) for row in self.rows[m])}
        return [metric for metric in self.of_chance if metric not in beaten]


def evaluation_of(section: Section, metrics: tuple[str, ...]) -> Evaluation:
    """Collect an experiment's tables, without intervals that hold together on a page."""
    source, matched = section.data.source, section.data.by_n[-1]
    judged = source.shown_splits()[-1]  # the held-out one, where there is one
    ranked = [row for row in section.rows if row.rank_low is not None]
    own = [row for row in ranked if row.n == matched.n and row.split == judged]
    rows = {metric: best_first([row for row in own if row.metric == metric]) for metric in metrics}
    return Evaluation(
        section.data.experiment.name,
        len(matched.repetitions),
        rows,
        split=source.test_share is not None,
        whole=source.pool is not None and matched.n >= source.pool and len(source.units[judged]) > 1,
        chance={m: level for m in metrics if (level := source.metric(m).chance) is not None},
        failed={
            runs.label: f"{WORDS.get(runs.status, runs.status)} in "
            f"{sum(cell.status != 'done' for cell in runs.stored.values())} of {len(runs.cells)} runs"
            for runs in matched.contenders
            if runs.stored and not runs.compared
        },
    )


ALPHA = 0.05
"""Share of pages on which a method may be called better wrongly."""


@dataclass(frozen=True)
class Case:
    """Facts about the methods of an experiment that asks for a recommendation.

    Attributes
    ----------
    main : Evaluation
    others : tuple of Evaluation
        Of the same data, cut otherwise, in the metrics that both have.
    baseline : str
    margins : dict of str to float
        By metric.
    counts : str
        Predicted judgments: votes, sessions.
    purpose : str
    specs : dict of str to str
        By label.
    confirmed_by : tuple of str, optional
        Names of the other evaluations that must not contradict it; None: all.
    views : str
        Reason for which other evaluations answer another question.
    """

    main: Evaluation
    baseline: str
    others: tuple[Evaluation, ...] = ()
    margins: Mapping[str, float] = field(default_factory=dict)
    counts: str = "votes"
    purpose: str = ""
    specs: Mapping[str, str] = field(default_factory=dict)
    confirmed_by: tuple[str, ...] | None = None
    views: str = ""

    @property
    def confirming(self) -> tuple[Evaluation, ...]:
        """The other evaluations that must not contradict the recommendation."""
        return tuple(one for one in self.others if self.confirmed_by is None or one.name in self.confirmed_by)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of the recommendation, the headline first."""
        return tuple(self.main.rows)

    @property
    def told_by(self) -> tuple[Evaluation, ...]:
        """All evaluations whose intervals hold together."""
        return tuple(one for one in (self.main, *self.others) if one.tables)

    @property
    def tables(self) -> int:
        """Number of tables of differences of all evaluations."""
        return sum(one.tables for one in self.told_by)

    @property
    def level(self) -> float:
        """Of the intervals of each table, of differences or of means: all of them hold together at 95%."""
        return 1 - ALPHA / (self.tables + sum(len(one.of_chance) for one in self.told_by))

    @cached_property
    def winner(self) -> str:
        """The contender that leads (`Evaluation.leaders`); empty: none."""
        return next(iter(self.main.leaders(self.baseline)), "")

    @property
    def reference(self) -> str:
        """The contender that others are compared with."""
        return self.winner or self.baseline

    @cached_property
    def better(self) -> dict[str, list[str]]:
        """Metrics in which contenders are significantly better than the baseline, by label."""
        found = {label: self.main.better(label, self.baseline) for label in self.main.labels}
        return {label: metrics for label, metrics in found.items() if metrics}

    def equivalent(self) -> list[str]:
        """Return the contenders that are within the margin of the reference in every metric."""
        return [
            label
            for label in self.main.labels
            if label != self.reference
            and all(self.within(self.main, metric, label, self.reference) for metric in self.metrics)
        ]

    def within(self, one: Evaluation, metric: str, label: str, other: str) -> bool:
        """Return whether the interval of a difference lies within the margin."""
        margin = self.margins.get(metric, 0.0)
        low, high = one.interval(metric, label, other)
        return -margin < low and high < margin

    def contradicted(self, label: str) -> list[str]:
        """Return the confirming evaluations in which some method is significantly better than a contender."""
        return [other.name for other in self.confirming if other.worse(label)]


def asking(analysis: Analysis) -> list[Section]:
    """Return the experiments with a recommendation: the first that asks for one, of each data set."""
    found: dict[str, Section] = {}
    for section in analysis.sections:
        if section.data.experiment.recommend and section.rows:
            found.setdefault(section.data.source.dataset, section)
    return list(found.values())


def together_level(section: Section, analysis: Analysis) -> float | None:
    """Return the level of each table's differences on a page that recommends something; None on others."""
    if section not in asking(analysis):
        return None
    case, _ = _tables_of(section, analysis)
    return case.level if case.tables else None


def case_of(section: Section, analysis: Analysis) -> Case:
    """Collect the facts about an experiment that asks for a recommendation."""
    case, cut_otherwise = _tables_of(section, analysis)
    if not case.tables:
        return case
    with one_blas_thread():
        main = _compared(case.main, section, case.level)
        others = [_compared(one, other, case.level) for one, other in zip(case.others, cut_otherwise, strict=True)]
    return replace(case, main=main, others=tuple(others))


def _tables_of(section: Section, analysis: Analysis) -> tuple[Case, list[Section]]:
    """Return a case without its intervals, and the sections of its other evaluations."""
    data = section.data
    experiment, source = data.experiment, data.source
    metrics = tuple(m for i, m in enumerate(data.metrics) if not i or m in experiment.margin)
    cut_otherwise = [
        other
        for other in analysis.sections
        if other is not section and other.rows and other.data.source.layout == "race"
        and other.data.source.dataset == source.dataset
        and any(metric in other.data.metrics for metric in metrics)
    ]  # fmt: skip
    case = Case(
        evaluation_of(section, metrics),
        experiment.baseline,
        tuple(evaluation_of(one, tuple(m for m in metrics if m in one.data.metrics)) for one in cut_otherwise),
        dict(experiment.margin),
        source.counts,
        experiment.purpose,
        {row.contender: row.spec for row in section.rows},
        experiment.confirmed_by,
        experiment.views,
    )
    return case, cut_otherwise


def _compared(one: Evaluation, section: Section, level: float) -> Evaluation:
    """Add the simultaneous intervals of all differences of a table, and of all its means."""
    if one.few:
        return one
    matched = section.data.by_n[-1]
    found = {
        metric: differences_of(section.data, matched, metric, rows[0].split, level, oracles=False)
        for metric, rows in one.rows.items()
        if rows
    }
    return replace(one, differences=found)
