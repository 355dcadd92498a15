"""What a recommendation rests on: what was shown, by which interval, and what was not.

Everything is against the baseline that was named before the run. A method is *shown to be
better* than it by tests of all methods, metrics and evaluations of a page together: Holm's method
over the methods of a table, times the number of tables, at 5%. It is *as good* where simultaneous
95% intervals of the differences of all methods lie within the margin, in every metric.
Everything else is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rankbench.results.analysis import Analysis, Section
from rankbench.results.sample import Race
from rankbench.results.standings import Standing, best_first
from rankbench.results.stats.contrasts import contrasts, too_few

__all__ = ["ALPHA", "COINS", "Case", "Evaluation", "case_of", "interval_of"]

ALPHA = 0.05
"""Share of pages on which any method may be called better than the baseline wrongly."""

COINS = {"disagreement": 0.5, "log-loss": math.log(2)}
"""What a coin gets: it is wrong about half of the votes, and its log loss is ln 2."""

Against: TypeAlias = Mapping[tuple[str, str], tuple[float, float]]
"""By metric and label: the interval of a difference, below 0 where better; all of a table together at 95%."""


class Told(NamedTuple):
    """Who is shown to be worse than a method, better, within the margin of it, and who nothing of that."""

    worse: list[str]
    better: list[str]
    within: list[str]
    unclear: list[str]


@dataclass(frozen=True)
class Evaluation:
    """One experiment's tables, at its largest n.

    Attributes
    ----------
    name : str
    runs, planned : int
    rows : dict of str to list of Standing
        By metric that the recommendation goes by: contenders with a rank, the best mean first.
    split : bool
        Runs are splits of one log: their means have no interval over queries.
    """

    name: str
    runs: int
    planned: int
    rows: Mapping[str, list[Standing]]
    split: bool = True

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
        return 0 if too_few(self.runs) else sum(bool(rows) for rows in self.rows.values())

    def better(self, label: str, tables: int) -> list[str]:
        """Return the metrics in which a contender is shown to be better than the baseline."""
        if too_few(self.runs):
            return []
        rows = {metric: self.row(metric, label) for metric in self.rows}
        return [
            metric
            for metric, row in rows.items()
            if row is not None and row.p_holm * tables < ALPHA and _sign(row) * row.difference < 0
        ]

    def worse(self, label: str) -> list[str]:
        """Return the metrics in which a method is better than a contender: some method by ranks, or the baseline."""
        rows = {metric: self.row(metric, label) for metric in self.rows}
        return [metric for metric, row in rows.items() if row is not None and (_beaten(row) or _below(row))]

    def leaders(self, tables: int) -> list[str]:
        """Return who is shown to be better than the baseline in some metric, and worse than nothing in any.

        The best mean in the last metric first: it tells more than those before it.
        """
        found = [label for label in self.labels if self.better(label, tables) and not self.worse(label)]
        order = [row.contender for row in self.rows[list(self.rows)[-1]]] if self.rows else []
        return sorted(found, key=order.index)


def _sign(row: Standing) -> int:
    return 1 if row.direction == "minimize" else -1


def _beaten(row: Standing) -> bool:
    return row.rank_low is not None and row.rank_low > 1


def _below(row: Standing) -> bool:
    """Return whether the baseline is better, by the interval of that difference alone."""
    return min(_sign(row) * row.difference_lower, _sign(row) * row.difference_upper) > 0


def interval_of(row: Standing, split: bool) -> tuple[float, float]:
    """Return the interval of a mean: over queries too, but for repeated splits of one log, which have none."""
    return (row.lower, row.upper) if split else (row.lower_queries, row.upper_queries)


@dataclass(frozen=True)
class Case:
    """What is known about the methods of an experiment that asks for a recommendation.

    Attributes
    ----------
    main : Evaluation
    others : tuple of Evaluation
        Of the same data, cut otherwise, in the metrics that both have.
    baseline : str
    margins : dict of str to float
        By metric.
    counts : str
        What was predicted: votes, sessions.
    purpose : str
    specs : dict of str to str
        By label.
    against : Against
        Of all others from `reference`.
    no_intervals : frozenset of str
        Labels of those whose rankings of the items have no intervals.
    finished : bool
        Whether any method finished.
    caveats : tuple of str
        Sentences.
    """

    main: Evaluation
    baseline: str
    others: tuple[Evaluation, ...] = ()
    margins: Mapping[str, float] = field(default_factory=dict)
    counts: str = "votes"
    purpose: str = ""
    specs: Mapping[str, str] = field(default_factory=dict)
    against: Against = field(default_factory=dict)
    no_intervals: frozenset[str] = frozenset()
    finished: bool = True
    caveats: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """What the recommendation goes by, the headline first."""
        return tuple(self.main.rows)

    @cached_property
    def tables(self) -> int:
        """Number of tables of all evaluations, for which p-values are adjusted."""
        return sum(one.tables for one in (self.main, *self.others))

    @cached_property
    def winner(self) -> str:
        """Who is shown to be better than the baseline, and worse than nothing; empty: nobody."""
        return next(iter(self.main.leaders(self.tables)), "")

    @property
    def reference(self) -> str:
        """Who others are compared with."""
        return self.winner or self.baseline

    @cached_property
    def better(self) -> dict[str, list[str]]:
        """Metrics in which contenders are shown to be better than the baseline, by label."""
        found = {label: self.main.better(label, self.tables) for label in self.main.labels}
        return {label: metrics for label, metrics in found.items() if metrics}

    def doubts(self) -> list[tuple[Evaluation, Literal["absent", "worse", "not better"]]]:
        """Return the other evaluations that do not confirm the winner, and why.

        It was not run there; some method, or the baseline, is better there; or its mean is not better than the
        baseline's where it is in the main evaluation.
        """
        found: list[tuple[Evaluation, Literal["absent", "worse", "not better"]]] = []
        for other in self.others:
            rows = [other.row(metric, self.winner) for metric in other.rows if metric in self.better[self.winner]]
            if self.winner not in other.labels:
                found.append((other, "absent"))
            elif other.worse(self.winner):
                found.append((other, "worse"))
            elif any(row is not None and not _sign(row) * row.difference < 0 for row in rows):
                found.append((other, "not better"))
        return found

    def alike(self) -> list[str]:
        """Return who is as good as the reference: within the margin in every metric."""
        return [
            label
            for label in self.main.labels
            if label != self.reference and all(self._within(metric, label) for metric in self.metrics)
        ]

    def _within(self, metric: str, label: str) -> bool:
        margin = self.margins.get(metric, 0.0)
        low, high = self.against.get((metric, label), (math.nan, math.nan))
        return -margin < low and high < margin

    def contradicted(self, label: str) -> list[str]:
        """Return the other evaluations in which some method, or the baseline, is better than a contender."""
        return [other.name for other in self.others if other.worse(label)]

    def told(self, metric: str) -> Told:
        """Return how the others stand to the reference in a metric."""
        found = Told([], [], [], [])
        for row in self.main.rows[metric]:
            low, high = self.against.get((metric, row.contender), (math.nan, math.nan))
            if row.contender == self.reference:
                continue
            if low > 0:
                found.worse.append(row.contender)
            elif high < 0:
                found.better.append(row.contender)
            else:
                (found.within if self._within(metric, row.contender) else found.unclear).append(row.contender)
        return found

    @cached_property
    def coins(self) -> dict[str, Literal["better", "no better", "open"]]:
        """Whether contenders predict better than a coin, in every metric that knows what one gets."""
        found: dict[str, Literal["better", "no better", "open"]] = {}
        for metric in (metric for metric in self.metrics if metric in COINS):
            for row in self.main.rows[metric]:
                low, high = interval_of(row, self.main.split)
                if low >= COINS[metric] - 1e-12 or found.get(row.contender) == "no better":
                    found[row.contender] = "no better"
                elif high < COINS[metric] and found.get(row.contender) != "open":
                    found[row.contender] = "better"
                else:
                    found[row.contender] = "open"
        return found


def case_of(section: Section, analysis: Analysis) -> Case:
    """Collect what is known about an experiment that asks for a recommendation."""
    sampler = section.sampler
    experiment, source = sampler.experiment, sampler.source
    metrics = tuple(m for i, m in enumerate(sampler.metrics) if not i or m in experiment.margin)
    main = _evaluation(section, metrics)
    others = [
        _evaluation(other, tuple(metric for metric in metrics if metric in other.sampler.metrics))
        for other in analysis.sections
        if other is not section and other.rows and other.sampler.source.layout == "race"
        and other.sampler.source.dataset == source.dataset
        and any(metric in other.sampler.metrics for metric in metrics)
    ]  # fmt: skip
    case = Case(
        main,
        experiment.baseline,
        tuple(others),
        dict(experiment.margin),
        source.counts,
        experiment.purpose,
        {row.contender: row.spec for row in section.rows},
        {},
        _without_intervals(analysis),
        any(row.status == "done" and row.repetitions for row in section.rows),
        experiment.caveats,
    )
    return replace(case, against=_against(section, case))


def _evaluation(section: Section, metrics: tuple[str, ...]) -> Evaluation:
    race = _last(section)
    ranked = [row for row in section.rows if row.n == race.n and row.rank_low is not None]
    source = section.sampler.source
    judged = source.shown_splits()[-1]  # what was held out, where something was
    own = [row for row in ranked if row.split == judged]
    rows = {metric: best_first([row for row in own if row.metric == metric]) for metric in metrics}
    split = source.test_share is not None
    return Evaluation(section.sampler.experiment.name, len(race.repetitions), race.planned, rows, split)


def _last(section: Section) -> Race:
    return max(section.sampler.races, key=lambda race: race.n)


def _against(section: Section, case: Case) -> Against:
    """Compare all with the reference, by intervals that hold for all of a table at once."""
    sampler, race = section.sampler, _last(section)
    reference = race.arm(case.reference)
    if reference is None or not reference.racing:
        return {}
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for metric, rows in case.main.rows.items():
        others = [arm for arm in race.racing if arm is not reference]
        if not others or not rows:
            continue
        sample = sampler.sample([reference, *others], metric, rows[0].split, race.repetitions)
        matrix = np.vstack([-np.ones(len(others)), np.eye(len(others))])
        sign = _sign(rows[0])
        bounds = contrasts(sample, matrix)
        for arm, lower, upper in zip(others, bounds.lower, bounds.upper, strict=True):
            low, high = sorted((sign * float(lower), sign * float(upper)))
            found[metric, arm.member.label] = (low, high)
    return found


def _without_intervals(analysis: Analysis) -> frozenset[str]:
    """Return the contenders that rank the items too, in this suite, without any intervals."""
    found = set()
    for section in analysis.sections:
        sampler = section.sampler
        if sampler.source.layout != "ranking":
            continue
        for arm in (arm for race in sampler.races for arm in race.arms if arm.done):
            lower = [sampler.values(arm, "lower", split) for split in sampler.source.shown_splits()]
            if np.isnan(np.concatenate(lower)).all():
                found.add(arm.member.label)
    return frozenset(found)
