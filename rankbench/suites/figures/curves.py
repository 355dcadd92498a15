"""Curves against steps, as in the paper's figure 2: a column for each panel, a row for each metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rankbench.kinds.figure import (
    Cast,
    Drawing,
    FigureKind,
    Line,
    Omission,
    Plot,
    limited,
    matches,
    order_of,
    unfinished,
)
from rankbench.kinds.results import ArmResults, CurveIntervals, ExperimentResults, RaceResults
from rankbench.kinds.suite import Figure, Panel

__all__ = ["Curves"]

WINDOWS = 2
"""Windows of a decade of steps, for curves that are averaged."""


class _Series(NamedTuple):
    """A contender at one n in a panel; `name` is its own in the figure, `label` what the panel's legend says."""

    name: str
    label: str
    race: RaceResults
    arm: ArmResults


class Curves(FigureKind):
    """Curves against steps: a row for each metric, a column for each panel.

    Bands are t intervals over draws. Where the values' axis is to be logarithmic and a mean is not positive (an
    estimated gap may well be below zero), it is linear.
    """

    name: ClassVar[str] = "curves"
    source: ClassVar[str] = "[DMJ13]_ figure 2"

    metrics: tuple[str, ...] = Field(default=(), description="Curves, as the contenders call them.")
    titles: tuple[str, ...] = Field(default=(), description="What the curves are, in words, in the same order.")
    panels: tuple[Panel, ...] = Field(default=(), description="Which contenders, at which n: title, series, n.")
    averaged: tuple[str, ...] = Field(
        default=(), description="Curves too noisy to be followed: drawn as means of half a decade of steps."
    )
    steps: str = Field(default="step", description="What the steps are, in words.")
    axes: Literal["log", "log-linear", "linear"] = Field(
        default="log", description="Both axes are logarithmic, only that of the steps is, or none."
    )

    def lacks(self) -> str:
        """Return what is missing."""
        if not (self.metrics and self.panels):
            return "a figure of kind 'curves' needs metrics and panels, at least one of each"
        return "" if len(self.titles) in (0, len(self.metrics)) else "titles: one for each of metrics, or none"

    def patterns(self) -> Sequence[str]:
        """Return the labels of all panels."""
        return [pattern for panel in self.panels for pattern in panel.series]

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return which n of a panel is none of the experiment's; curves are a contender's own."""
        other = [each for panel in self.panels for each in panel.n if each not in n]
        return f"a panel is of n = {other[0]}, which is not one of the experiment's n" if other else ""

    def cast(self, figure: Figure, results: ExperimentResults) -> Cast:
        """Return the contenders of the panels; what was added is in every panel of a single n.

        A contender drawn at several n is several series: at the n of the other panels it is the
        contender as it is there, at others a variant in the same color.
        """
        series = [one for panel in self.panels for one in self._series(results, panel)]
        labels = order_of(results)
        asked = {one.arm.label for one in series}
        status = unfinished(results, [label for label in labels if label in asked], {one.race.n for one in series})
        with_curves = [one for one in series if self._has_curves(results, one, figure.level)]
        drawn = {one.arm.label for one in with_curves}
        nowhere = {omission.label for omission in status if not omission.where}
        names, beyond = limited(list(dict.fromkeys(one.name for one in with_curves)))
        metrics = ", ".join(self.metrics)
        single = any(len(panel.n) == 1 for panel in self.panels)
        misfits = {label: f"no curve of {metrics}" for label in labels if label in asked - drawn - nowhere}
        if not single:
            why = "each panel has several n"
            misfits |= {label: why for label in labels if label in results.added and label not in asked}
        label_of = {one.name: one.arm.label for one in series}
        return Cast(
            figure.file,
            names,
            frozenset(name for name in names if label_of[name] in results.added),
            variants={name: label_of[name] for name in names if name != label_of[name]},
            left_out=(
                *(Omission(label, "", "choice") for label in labels if label not in {*asked, *misfits}),
                *status,
                *(Omission(label, why, "misfit") for label, why in misfits.items()),
                *beyond,
            ),
        )

    def drawing(self, figure: Figure, results: ExperimentResults, cast: Cast) -> Drawing:
        """Return the plots, a row for each metric."""
        columns = [
            [one for one in self._series(results, panel) if one.name in cast.names and _drawable(one)]
            for panel in self.panels
        ]
        titles = dict(zip(self.metrics, self.titles, strict=False))
        plots = tuple(
            tuple(
                Plot(
                    "" if r else _title(panel, shown),
                    self.steps if r == len(self.metrics) - 1 else "",
                    "" if c else self._words(titles.get(metric, metric), metric, results),
                    tuple(
                        Line(one.name, steps.astype(np.float64), found.mean, found.lower, found.upper, one.label)
                        for one in shown
                        for steps, found in filter(None, [self._curve(results, one, metric, figure.level)])
                    ),
                )
                for c, (panel, shown) in enumerate(zip(self.panels, columns, strict=True))
            )
            for r, metric in enumerate(self.metrics)
        )
        used = tuple(sorted({one.race.n for shown in columns for one in shown}))
        return Drawing(
            plots,
            "linear" if self.axes == "linear" else "log",
            "log" if self.axes == "log" else "linear",
            same_y=True,
            legends="columns",
            size=(3.6, 1.95),
            n=used,
        )

    def _series(self, results: ExperimentResults, panel: Panel) -> list[_Series]:
        """Return what a panel asks for, whatever became of it."""
        single = len(panel.n) == 1
        own = next((p.n[0] for p in self.panels if len(p.n) == 1 and p.n[0] in panel.n), panel.n[0])
        several = len(panel.series) > 1 or "*" in panel.series[0]
        found = []
        for race in results.races:
            for arm in race.arms if race.n_declared in panel.n else ():
                label = arm.label
                if not (matches(label, panel.series) or (single and label in results.added)):
                    continue
                at = f"{label}, n = {race.n:,}"
                said = label if single else at if several else f"n = {race.n:,}"
                found.append(_Series(label if single or race.n_declared == own else at, said, race, arm))
        return found

    def _has_curves(self, results: ExperimentResults, one: _Series, level: float) -> bool:
        return any(self._curve(results, one, metric, level) is not None for metric in self.metrics)

    def _curve(self, results: ExperimentResults, one: _Series, metric: str, level: float) -> CurveIntervals | None:
        windows = WINDOWS if metric in self.averaged else 0
        return results.curve(one.race.n, one.arm.label, metric, level, per_decade=windows) if _drawable(one) else None

    def _words(self, title: str, metric: str, results: ExperimentResults) -> str:
        means = "mean of half a decade,\n" if metric in self.averaged else ""
        return f"{title}\n({means}{results.metric(metric).better})"


def _title(panel: Panel, shown: Sequence[_Series]) -> str:
    """Return a panel's title, with the n that was drawn where there is one: data may be too few for the suite's."""
    drawn = {one.race.n for one in shown}
    parts = [panel.title, f"n = {drawn.pop():,}" if len(panel.n) == len(drawn) == 1 else ""]
    return ", ".join(filter(None, parts))


def _drawable(one: _Series) -> bool:
    return one.arm.racing and bool(one.race.repetitions)
