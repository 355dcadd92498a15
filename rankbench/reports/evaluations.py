"""One experiment's tables, as a recommendation reads them: who is shown to be better than whom, or than a coin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rankbench.reports.analysis import Section
from rankbench.reports.contender_differences import Differences
from rankbench.reports.sample import Race
from rankbench.reports.standings import Standing, best_first
from rankbench.stats.contrasts import FEWEST

__all__ = ["Coin", "Evaluation", "evaluation_of", "last_race"]

Coin: TypeAlias = Literal["better", "no better", "open"]
"""Whether a contender predicts better than a coin."""

WORDS = {"error": "failed", "timeout": "ran out of time", "diverged": "diverged", "skipped": "was skipped"}


@dataclass(frozen=True)
class Evaluation:
    """One experiment's tables, at its largest n.

    Attributes
    ----------
    name : str
    runs, planned : int
    rows : dict of str to list of Standing
        By metric that the recommendation goes by: contenders with a rank, the best mean first; no oracle.
    differences : dict of str to Differences
        By metric; the intervals of a page hold together.
    split : bool
        Runs are splits of one log: their means have no interval over queries.
    whole : bool
        A single run is all there is: the intervals are over queries.
    chance : dict of str to float
        What a coin gets, by metric that knows it.
    failed : dict of str to str
        Of those that are not judged: what happened, and how often.
    """

    name: str
    runs: int
    planned: int
    rows: Mapping[str, list[Standing]]
    differences: Mapping[str, Differences] = field(default_factory=dict)
    split: bool = True
    whole: bool = False
    chance: Mapping[str, float] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def few(self) -> bool:
        """Whether runs are too few to tell anything apart by."""
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

    @property
    def coin_tables(self) -> int:
        """Number of tables in which a method might be called better than a coin."""
        return 0 if self.few else len(self.of_chance)

    def sign(self, metric: str) -> int:
        """Return 1 where less is better, else -1."""
        return -1 if any(row.direction == "maximize" for row in self.rows[metric]) else 1

    def interval(self, metric: str, label: str, other: str) -> tuple[float, float]:
        """Return the interval of a contender minus another, below 0 where it is better; nan where there is none."""
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
        """Return the metrics in which a contender is shown to be better than another."""
        return [metric for metric in self.rows if self.interval(metric, label, other)[1] < 0]

    def worse(self, label: str) -> list[str]:
        """Return the metrics in which some method is shown to be better than a contender."""
        return [metric for metric in self.rows if self.places(metric, label)[0] > 1]

    def leaders(self, baseline: str) -> list[str]:
        """Return who is shown to be better than the baseline in some metric, and worse than nothing in any.

        Who is above a coin comes first, then the best mean in the last metric: it tells more than those before it.
        """
        found = [label for label in self.labels if self.better(label, baseline) and not self.worse(label)]
        order = [row.contender for row in self.rows[list(self.rows)[-1]]] if self.rows else []
        return sorted(found, key=lambda label: (bool(self.short_of_a_coin(label)), order.index(label)))

    def coin(self, metric: str, label: str) -> Coin:
        """Return whether a contender predicts better than a coin, by intervals that hold together."""
        found = self.differences.get(metric)
        if self.few or found is None or label not in found.means:
            return "open"
        low, high = found.means[label]
        sign, chance = self.sign(metric), self.chance[metric]
        low, high = sorted((sign * (low - chance), sign * (high - chance)))
        return "no better" if low >= -1e-12 else "better" if high < 0 else "open"

    def coins(self, metric: str) -> dict[str, Coin]:
        """Return whether contenders predict better than a coin, by label; empty where nobody said what one gets."""
        known = metric in self.chance
        return {row.contender: self.coin(metric, row.contender) for row in self.rows[metric]} if known else {}

    @property
    def of_chance(self) -> list[str]:
        """Metrics that know what a coin gets."""
        return [metric for metric in self.rows if metric in self.chance and self.rows[metric]]

    def short_of_a_coin(self, label: str) -> list[str]:
        """Return the metrics in which a contender is not shown to predict better than a coin."""
        return [metric for metric in self.of_chance if self.coin(metric, label) != "better"]

    def above_nothing(self, metric: str) -> bool:
        """Return whether a metric knows what a coin gets, and nobody is shown to be better than it."""
        found = self.coins(metric)
        return bool(found) and "better" not in found.values()

    def interval_of_mean(self, row: Standing) -> tuple[float, float]:
        """Return the interval of a mean alone: over queries too, but for repeated splits, which have none."""
        return (row.lower, row.upper) if self.split else (row.lower_queries, row.upper_queries)


def last_race(section: Section) -> Race:
    """Return the race at the largest n."""
    return max(section.sampler.races, key=lambda race: race.n)


def evaluation_of(section: Section, metrics: tuple[str, ...]) -> Evaluation:
    """Collect an experiment's tables; what holds together on a page is not known yet."""
    source, race = section.sampler.source, last_race(section)
    judged = source.shown_splits()[-1]  # what was held out, where something was
    ranked = [row for row in section.rows if row.rank_low is not None and not row.oracle]
    own = [row for row in ranked if row.n == race.n and row.split == judged]
    rows = {metric: best_first([row for row in own if row.metric == metric]) for metric in metrics}
    return Evaluation(
        section.sampler.experiment.name,
        len(race.repetitions),
        race.planned,
        rows,
        split=source.test_share is not None,
        whole=source.pool is not None and race.n >= source.pool and len(source.units[judged]) > 1,
        chance={m: level for m in metrics if (level := source.metric(m).chance) is not None},
        failed={
            arm.member.label: f"{WORDS.get(arm.status, arm.status)} in "
            f"{sum(cell.status != 'done' for cell in arm.stored.values())} of {len(arm.cells)} runs"
            for arm in race.arms
            if arm.stored and not arm.racing
        },
    )
