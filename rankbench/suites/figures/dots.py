"""A dot with its interval for each contender, or for each item that a contender ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from rankbench.kinds.cell import RANKING
from rankbench.kinds.figure import (
    MOST_SERIES,
    Cast,
    Dot,
    Drawing,
    FigureKind,
    Omission,
    Plot,
    matches,
    order_of,
    unfinished,
)
from rankbench.kinds.results import ArmResults, ExperimentResults, RaceResults
from rankbench.kinds.suite import Figure

__all__ = ["Dots"]

MOST_ITEMS = 80
"""Items of a ranking that have dots: the best ones."""


class Dots(FigureKind):
    """A dot with its interval for each contender, or for each item of a ranking, the best on top.

    In a race a plot for each of the metrics, at the largest n. In a ranking of items: the items of the first
    contender that matches.
    """

    name: ClassVar[str] = "dots"
    source: ClassVar[str] = "W. S. Cleveland, The Elements of Graphing Data, 1985: dot charts"

    series: tuple[str, ...] = Field(default=(), description="Labels of contenders, all if none is named.")
    metrics: tuple[str, ...] = Field(default=(), description="Metrics, the headline if none is named.")

    def patterns(self) -> Sequence[str]:
        """Return the labels of contenders."""
        return self.series

    def cast(self, figure: Figure, results: ExperimentResults) -> Cast:
        """Return the contenders that have dots, or the one whose items have."""
        labels = order_of(results)
        asked = [label for label in labels if self._asked(results, label)]
        omissions = [Omission(label, "", "choice") for label in labels if label not in asked]
        if results.layout == "ranking":
            arm = self._ranking(results)
            drawn, race, why = {arm.label} if arm else set(), _last_declared(results), ""
            finished = {arm.label for arm in race.arms if arm.finished} if race else set()
            if arm:
                why = f"the figure has the items of one contender, {arm.label}"
        else:
            race, why = _last_with_results(results), f"the figure has room for the best {MOST_SERIES}"
            finished = {arm.label for arm in race.racing} if race else set()
            metrics = self.metrics or results.metrics[:1]
            drawn = {dot.name for metric in metrics for dot in self._contenders(results, metric, figure.level)}
        beyond = [label for label in asked if label in finished - drawn]
        omissions += unfinished(
            results, [label for label in asked if label not in finished], {race.n} if race else None
        )
        omissions += [Omission(label, why, "misfit") for label in beyond]
        return Cast(
            figure.file, tuple(label for label in asked if label in drawn), results.added & drawn,
            left_out=tuple(omissions),
        )  # fmt: skip

    def drawing(self, figure: Figure, results: ExperimentResults, cast: Cast) -> Drawing:
        """Return rows of dots."""
        if results.layout == "ranking":
            arm = self._ranking(results)
            dots = _items(results, arm) if arm else ()
            plots = [Plot(x_label=f"score, {arm.label if arm else 'nobody'}", dots=dots)]
        else:
            metrics = self.metrics or results.metrics[:1]
            words = [f"{metric} ({results.metric(metric).better})" for metric in metrics]
            plots = [
                Plot(x_label=title, dots=self._contenders(results, metric, figure.level))
                for metric, title in zip(metrics, words, strict=True)
            ]
        return Drawing((tuple(plots),), legends="none")

    def _asked(self, results: ExperimentResults, label: str) -> bool:
        return not self.series or matches(label, self.series) or label in results.added

    def _ranking(self, results: ExperimentResults) -> ArmResults | None:
        """Return the contender whose items are drawn."""
        race = _last_declared(results)
        own = [arm for arm in race.arms if arm.finished] if race else []
        return next((arm for arm in own if not self.series or matches(arm.label, self.series)), None)

    def _contenders(self, results: ExperimentResults, metric: str, level: float) -> tuple[Dot, ...]:
        race, split = _last_with_results(results), results.splits[0]
        labels = [arm.label for arm in race.racing if self._asked(results, arm.label)] if race else []
        if race is None or not labels:
            return ()
        found = results.intervals(race.n, labels, metric, split, level)
        sign = 1 if results.metric(metric).direction == "minimize" else -1
        order = np.argsort(sign * found.mean, kind="stable")[:MOST_SERIES]
        return tuple(
            Dot(labels[i], labels[i], float(found.mean[i]), float(found.lower[i]), float(found.upper[i])) for i in order
        )


def _last_declared(results: ExperimentResults) -> RaceResults | None:
    return results.races[-1] if results.races else None


def _last_with_results(results: ExperimentResults) -> RaceResults | None:
    """Return the race at the largest n that has results."""
    return next((race for race in reversed(results.races) if race.racing and race.repetitions), None)


def _items(results: ExperimentResults, arm: ArmResults) -> tuple[Dot, ...]:
    n, split = results.races[-1].n, results.splits[0]
    units = results.units(split)
    score, lower, upper = (results.values(n, arm.label, metric, split) for metric in RANKING[:3])
    order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))[:MOST_ITEMS]
    return tuple(Dot(arm.label, units[i], float(score[i]), float(lower[i]), float(upper[i])) for i in order)
