"""Figures show a dot with its interval for each contender, or for each item that a contender ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from rankbench.core.text import grouped_digits, place_range_text
from rankbench.interfaces.cell import RANKING, VOTES, Split
from rankbench.interfaces.figure import (
    MOST_SERIES,
    ArmResults,
    Dot,
    Drawing,
    ExperimentResults,
    FigureKind,
    Omission,
    Plot,
    RaceResults,
    order_of,
    unfinished,
    unknown_metric,
)
from rankbench.interfaces.suite import Figure, matches
from rankbench.stats.contrasts import MeanIntervals, PairedIntervals

MOST_ITEMS = 80
"""Items of a ranking that have dots: the best ones."""


class Dots(FigureKind):
    """A dot with its interval for each contender, or for each item of a ranking, the best on top.

    In a race a plot for each metric and split (as design and held-out queries), at the largest n: means, or paired
    differences from one contender, with the intervals that the words of the page rest on. In a ranking of items: the
    items of the first contender that matches, with the places that they may hold and, if `votes` is a metric, how many
    votes they have.

    Prefer it for contenders at one n, and for the first items of a ranking.
    """

    name: ClassVar[str] = "dots"
    source: ClassVar[str] = "W. S. Cleveland, The Elements of Graphing Data, 1985: dot charts"

    series: tuple[str, ...] = Field(default=(), description="Labels of contenders, all if none is named.")
    metrics: tuple[str, ...] = Field(default=(), description="Metrics, the headline if none is named.")
    against: str = Field(default="", description="Label of a contender: in a race, differences from it are drawn.")
    unit: str = Field(default="", description="Unit of a ranking's scores, such as log-odds.")

    def patterns(self) -> Sequence[str]:
        """Return the labels of contenders."""
        return (*self.series, *filter(None, [self.against]))

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return which of the metrics is not computed."""
        return unknown_metric(self.metrics, metrics)

    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return rows of dots: of contenders, or of the items of one contender."""
        if results.layout in ("ranking", "series"):
            arm, race = self._ranking(results), results.races[-1] if results.races else None
            finished = {arm.label for arm in race.arms if arm.finished} if race else set()
            why = f"the figure has the items of one contender, {arm.label}" if arm else ""
            score = f"score{f' in {self.unit}' if self.unit else ''} by {arm.label if arm else 'nobody'}"
            counted = ", votes" if VOTES in results.metrics else ""
            # An advantage is neither good nor bad.
            better = "" if results.layout == "series" else f" ({results.metric(RANKING[0]).better})"
            dots = _items(results, arm) if arm else ()
            plots = [Plot(x_label=f"{score}{better}", dots=dots, notes=f"places{counted}")]
            bands = "95% intervals of each score alone; places hold all together"
            drawn = {arm.label} if arm else set()
        else:
            race, why = _last_with_results(results), f"the figure has room for the best {MOST_SERIES}"
            finished = {arm.label for arm in race.racing} if race else set()
            metrics, base = self.metrics or results.metrics[:1], self._base(results)
            after = f" minus {base}" if base else ""
            plots = [
                Plot(
                    title=results.split_title(split) if len(results.splits) > 1 else "",
                    x_label=results.metric(metric).axis(after=after),
                    dots=self._contenders(results, metric, split, figure.level),
                    zero=bool(base),
                )
                for metric in metrics
                for split in results.splits
            ]
            bands = ""
            if base and race is not None:
                bands = results.differences(race.n, [base], base, metrics[0], results.splits[0], figure.level).words
            drawn = {dot.name for plot in plots for dot in plot.dots}
        labels = order_of(results)
        asked = [label for label in labels if self._asked(results, label)]
        without = [label for label in asked if label not in finished]
        left_out = [Omission(label, "", "choice") for label in labels if label not in asked]
        left_out += unfinished(results, without, {race.n} if race else None)
        left_out += [Omission(label, why, "misfit") for label in asked if label in finished - drawn]
        names = tuple(label for label in asked if label in drawn)
        added = results.added & drawn
        return Drawing((tuple(plots),), names, added, left_out=tuple(left_out), legends="none", bands=bands)

    def _base(self, results: ExperimentResults) -> str:
        """Return the contender that differences are from; empty where means are drawn."""
        race = _last_with_results(results)
        return self.against if race and any(arm.label == self.against for arm in race.racing) else ""

    def _asked(self, results: ExperimentResults, label: str) -> bool:
        return not self.series or matches(label, self.series) or label in results.added

    def _ranking(self, results: ExperimentResults) -> ArmResults | None:
        """Return the contender whose items are drawn."""
        own = [arm for arm in results.races[-1].arms if arm.finished] if results.races else []
        return next((arm for arm in own if not self.series or matches(arm.label, self.series)), None)

    def _contenders(self, results: ExperimentResults, metric: str, split: Split, level: float) -> tuple[Dot, ...]:
        race = _last_with_results(results)
        labels = [arm.label for arm in race.racing if self._asked(results, arm.label)] if race else []
        if race is None or not labels:
            return ()
        found: MeanIntervals | PairedIntervals = results.intervals(race.n, labels, metric, split, level)
        sign = 1 if results.metric(metric).direction == "minimize" else -1
        order = np.argsort(sign * found.mean, kind="stable")[:MOST_SERIES]
        if base := self._base(results):
            found = results.differences(race.n, labels, base, metric, split, level)
        rows = np.column_stack([found.mean, found.lower, found.upper]).tolist()
        return tuple(Dot(labels[i], labels[i], *rows[i]) for i in order)


def _last_with_results(results: ExperimentResults) -> RaceResults | None:
    """Return the race at the largest n that has results."""
    return next((race for race in reversed(results.races) if race.racing and race.repetitions), None)


def _items(results: ExperimentResults, arm: ArmResults) -> tuple[Dot, ...]:
    n, split = results.races[-1].n, results.splits[0]
    units = results.units(split)
    score, lower, upper, low, high = (results.values(n, arm.label, metric, split) for metric in RANKING)
    votes = results.values(n, arm.label, VOTES, split) if VOTES in results.metrics else None
    order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))[:MOST_ITEMS]
    if results.layout == "series":
        # The last ones, in the order of time.
        order = list(range(len(units)))[-MOST_ITEMS:]
    notes = [place_range_text(round(low[i]), round(high[i])) for i in range(len(units))]
    if votes is not None:
        notes = [f"{note},  {grouped_digits(round(votes[i]))}" for i, note in enumerate(notes)]
    return tuple(Dot(arm.label, units[i], float(score[i]), float(lower[i]), float(upper[i]), notes[i]) for i in order)
