"""Figures show curves over steps, growth with n, and dots with intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rankbench.core.text import grouped_digits, place_range_text
from rankbench.interfaces.cell import MAY_BE_FIRST, RANKING, VOTES, Split
from rankbench.interfaces.figure import (
    MOST_SERIES,
    ContenderResults,
    CurveIntervals,
    Dot,
    Drawing,
    ExperimentResults,
    FigureKind,
    Line,
    MatchedResults,
    Omission,
    Plot,
    limited,
    order_of,
    unfinished,
    unknown_metric,
)
from rankbench.interfaces.suite import Figure, Panel, matches
from rankbench.stats.contrasts import MeanIntervals, PairedIntervals

WINDOWS = 2
"""Windows of a decade of steps, for curves that are averaged."""


class _Series(NamedTuple):
    """A contender at one n in a panel; `name` identifies it in the figure, `label` is its legend in the panel."""

    name: str
    label: str
    matched: MatchedResults
    runs: ContenderResults

    @property
    def drawable(self) -> bool:
        """True if it has numbers to draw."""
        return self.runs.compared and bool(self.matched.repetitions)

    def place(self, metric: str) -> tuple[int, str, str]:
        """Return the key of its curve of a metric."""
        return self.matched.n, self.runs.label, metric


class Curves(FigureKind):
    """Curves against steps: a row for each metric, a column for each panel.

    Bands are t intervals over repetitions. Where the values' axis is to be logarithmic and a mean is not positive (an
    estimated gap may well be below zero), it is linear.

    Prefer it for what changes along the steps of an optimizer.
    """

    name: ClassVar[str] = "curves"
    source: ClassVar[str] = "[DMJ13]_ figure 2"

    metrics: tuple[str, ...] = Field(default=(), description="Curves, as the contenders call them.")
    titles: tuple[str, ...] = Field(default=(), description="Titles of the curves, in the same order.")
    panels: tuple[Panel, ...] = Field(default=(), description="Panels, each with its title, contenders (series) and n.")
    averaged: tuple[str, ...] = Field(
        default=(), description="Curves too noisy to be followed: drawn as means of half a decade of steps."
    )
    steps: str = Field(default="step", description="Name of the steps.")
    axes: Literal["log", "log-linear", "linear"] = Field(
        default="log", description="Logarithmic axes: both, only the axis of the steps, or none."
    )

    def lacks(self) -> str:
        """Return an error text for missing parameters, or ``""``."""
        if not (self.metrics and self.panels):
            return "a figure of kind 'curves' needs metrics and panels, at least one of each"
        return "" if len(self.titles) in (0, len(self.metrics)) else "titles: one for each of metrics, or none"

    def patterns(self) -> Sequence[str]:
        """Return the labels of all panels."""
        return [pattern for panel in self.panels for pattern in panel.series]

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return an error text for an n of a panel that the experiment lacks; curves are a contender's own."""
        other = [each for panel in self.panels for each in panel.n if each not in n]
        return f"a panel is of n = {other[0]}, which is not one of the experiment's n" if other else ""

    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return the plots, a row for each metric; added contenders are in every panel of a single n.

        A contender drawn at several n is several series: at the n of the other panels it is the
        contender as it is there, at others a variant in the same color.
        """
        panels = [self._series(results, panel) for panel in self.panels]
        series = [one for panel in panels for one in panel]
        labels, asked = order_of(results), {one.runs.label for one in series}
        status = unfinished(results, [label for label in labels if label in asked], {one.matched.n for one in series})
        curves = self._curves(results, series, figure.level)
        with_curves = [one for one in series if any(one.place(metric) in curves for metric in self.metrics)]
        names, beyond = limited(list(dict.fromkeys(one.name for one in with_curves)))
        known = {one.runs.label for one in with_curves} | {omission.label for omission in status if not omission.where}
        misfits = {label: f"no curve of {', '.join(self.metrics)}" for label in labels if label in asked - known}
        if all(len(panel.n) > 1 for panel in self.panels):
            why = "each panel has several n"
            misfits |= {label: why for label in labels if label in results.added and label not in asked}
        label_of = {one.name: one.runs.label for one in series}
        columns = [[one for one in panel if one.name in names and one.drawable] for panel in panels]
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
                        for steps, found in filter(None, [curves.get(one.place(metric))])
                    ),
                )
                for c, (panel, shown) in enumerate(zip(self.panels, columns, strict=True))
            )
            for r, metric in enumerate(self.metrics)
        )
        return Drawing(
            plots,
            names,
            frozenset(name for name in names if label_of[name] in results.added),
            variants={name: label_of[name] for name in names if name != label_of[name]},
            left_out=(
                *(Omission(label, "", "choice") for label in labels if label not in {*asked, *misfits}),
                *status,
                *(Omission(label, why, "misfit") for label, why in misfits.items()),
                *beyond,
            ),
            x_scale="linear" if self.axes == "linear" else "log",
            y_scale="log" if self.axes == "log" else "linear",
            same_y=True,
            legends="columns",
            size=(3.6, 1.95),
            n=tuple(sorted({one.matched.n for shown in columns for one in shown})),
        )

    def _series(self, results: ExperimentResults, panel: Panel) -> list[_Series]:
        """Return the series of a panel, finished or not."""
        single = len(panel.n) == 1
        own = next((p.n[0] for p in self.panels if len(p.n) == 1 and p.n[0] in panel.n), panel.n[0])
        several = len(panel.series) > 1 or "*" in panel.series[0]
        found = []
        for matched in results.by_n:
            for runs in matched.contenders if matched.n_declared in panel.n else ():
                label = runs.label
                if not (matches(label, panel.series) or (single and label in results.added)):
                    continue
                at = f"{label}, n = {matched.n:,}"
                said = label if single else at if several else f"n = {matched.n:,}"
                found.append(_Series(label if single or matched.n_declared == own else at, said, matched, runs))
        return found

    def _curves(
        self, results: ExperimentResults, series: Sequence[_Series], level: float
    ) -> dict[tuple[int, str, str], CurveIntervals]:
        """Return the curves of drawable series, by key."""
        found = {}
        for one in (one for one in series if one.drawable):
            for metric in self.metrics:
                windows = WINDOWS if metric in self.averaged else 0
                curve = results.curve(one.matched.n, one.runs.label, metric, level, per_decade=windows)
                if curve is not None:
                    found[one.place(metric)] = curve
        return found

    def _words(self, title: str, metric: str, results: ExperimentResults) -> str:
        means = "mean of half a decade,\n" if metric in self.averaged else ""
        return f"{title}\n({means}{results.metric(metric).better})"


def _title(panel: Panel, shown: Sequence[_Series]) -> str:
    """Return a panel's title, with the n drawn if single: data may be too few for the suite's n."""
    drawn = {one.matched.n for one in shown}
    parts = [panel.title, f"n = {drawn.pop():,}" if len(panel.n) == len(drawn) == 1 else ""]
    return ", ".join(filter(None, parts))


class Growth(FigureKind):
    """Means of metrics against n, a line for each contender and thin gray ones for references.

    Both axes are logarithmic, with a tick at each n; that of values is linear where a mean is not positive. Bands are
    t intervals over repetitions.

    Prefer it for learning curves: a metric against n.
    """

    name: ClassVar[str] = "growth"
    source: ClassVar[str] = "rankbench: learning curves with intervals over repetitions"

    series: tuple[str, ...] = Field(
        default=(), description="Labels of contenders with lines of their own, all if none is named."
    )
    references: tuple[str, ...] = Field(default=(), description="Labels of contenders with gray lines.")
    metrics: tuple[str, ...] = Field(default=(), description="Metrics, all of the experiment's if none is named.")

    def patterns(self) -> Sequence[str]:
        """Return the labels of lines."""
        return (*self.series, *self.references)

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return an error text for a metric that is not computed."""
        return unknown_metric(self.metrics, metrics)

    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return lines of added contenders and of `series`, and gray ones of `references`; one split: side by side."""
        labels = order_of(results)
        references = [label for label in labels if matches(label, self.references)]
        series = [
            label
            for label in labels
            if label in results.added or (matches(label, self.series) if self.series else label not in references)
        ]
        references = [label for label in references if label not in series]
        choice = [Omission(label, "", "choice") for label in labels if label not in {*series, *references}]
        status = unfinished(results, [*series, *references])
        nowhere = {omission.label for omission in status if not omission.where}
        names, beyond = limited([label for label in (*series, *references) if label not in nowhere])
        metrics, splits = self.metrics or results.metrics, results.splits
        flat = [
            Plot(
                results.split_title(split) if len(splits) > 1 else "",
                "",
                results.metric(metric).axis(before="mean ", lines=2),
                _lines(results, names, metric, split, figure.level),
            )
            for metric in metrics
            for split in splits
        ]
        columns = len(metrics) if len(splits) == 1 else len(splits)
        rows = [flat[start : start + columns] for start in range(0, len(flat), columns)]
        x_label = f"n, {results.counts}"
        rows[-1] = [Plot(plot.title, x_label, plot.y_label, plot.lines) for plot in rows[-1]]
        return Drawing(
            tuple(map(tuple, rows)),
            names,
            results.added & set(names),
            frozenset(references) & set(names),
            left_out=(*choice, *status, *beyond),
            x_scale="ticks",
            y_scale="log",
        )


def _lines(
    results: ExperimentResults, names: Sequence[str], metric: str, split: Split, level: float
) -> tuple[Line, ...]:
    found = []
    for name in names:
        n = [
            matched.n
            for matched in results.by_n
            if matched.repetitions and name in {runs.label for runs in matched.compared}
        ]
        means = [results.intervals(each, [name], metric, split, level) for each in n]
        y, lower, upper = (np.array([getattr(one, edge)[0] for one in means]) for edge in ("mean", "lower", "upper"))
        if n:
            found.append(Line(name, np.array(n, dtype=np.float64), y, lower, upper))
    return tuple(found)


MOST_ITEMS = 80
"""Items of a ranking that have dots: the best ones."""


class Dots(FigureKind):
    """A dot with its interval for each contender, or for each item of a ranking, the best on top.

    In a race a plot for each metric and split (as design and held-out queries), at the largest n: means, or paired
    differences from one contender, with the intervals that the words of the page rest on. In a ranking of items: the
    items of the first contender that matches, with the places that they may hold, a star where they may be first, and,
    if `votes` is a metric, how many votes they have.

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
        """Return an error text for a metric that is not computed."""
        return unknown_metric(self.metrics, metrics)

    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return rows of dots: of contenders, or of the items of one contender."""
        if results.layout in ("ranking", "series"):
            runs, matched = self._ranking(results), results.by_n[-1] if results.by_n else None
            finished = {runs.label for runs in matched.contenders if runs.finished} if matched else set()
            why = f"the figure has the items of one contender, {runs.label}" if runs else ""
            score = f"score{f' in {self.unit}' if self.unit else ''} by {runs.label if runs else 'nobody'}"
            counted = ", votes" if VOTES in results.metrics else ""
            # An advantage is neither good nor bad.
            better = "" if results.layout == "series" else f" ({results.metric(RANKING[0]).better})"
            dots = _items(results, runs) if runs else ()
            plots = [Plot(x_label=f"{score}{better}", dots=dots, notes=f"places{counted}")]
            bands = "95% intervals of each score alone; places hold all together"
            bands += "; *: may be first" * (MAY_BE_FIRST in results.metrics)
            drawn = {runs.label} if runs else set()
        else:
            matched, why = _last_with_results(results), f"the figure has room for the best {MOST_SERIES}"
            finished = {runs.label for runs in matched.compared} if matched else set()
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
            if base and matched is not None:
                bands = results.differences(matched.n, [base], base, metrics[0], results.splits[0], figure.level).words
            drawn = {dot.name for plot in plots for dot in plot.dots}
        labels = order_of(results)
        asked = [label for label in labels if self._asked(results, label)]
        without = [label for label in asked if label not in finished]
        left_out = [Omission(label, "", "choice") for label in labels if label not in asked]
        left_out += unfinished(results, without, {matched.n} if matched else None)
        left_out += [Omission(label, why, "misfit") for label in asked if label in finished - drawn]
        names = tuple(label for label in asked if label in drawn)
        added = results.added & drawn
        return Drawing((tuple(plots),), names, added, left_out=tuple(left_out), legends="none", bands=bands)

    def _base(self, results: ExperimentResults) -> str:
        """Return the contender that differences are from, or ``""`` if means are drawn."""
        matched = _last_with_results(results)
        return self.against if matched and any(runs.label == self.against for runs in matched.compared) else ""

    def _asked(self, results: ExperimentResults, label: str) -> bool:
        return not self.series or matches(label, self.series) or label in results.added

    def _ranking(self, results: ExperimentResults) -> ContenderResults | None:
        """Return the contender whose items are drawn."""
        own = [runs for runs in results.by_n[-1].contenders if runs.finished] if results.by_n else []
        return next((runs for runs in own if not self.series or matches(runs.label, self.series)), None)

    def _contenders(self, results: ExperimentResults, metric: str, split: Split, level: float) -> tuple[Dot, ...]:
        matched = _last_with_results(results)
        labels = [runs.label for runs in matched.compared if self._asked(results, runs.label)] if matched else []
        if matched is None or not labels:
            return ()
        found: MeanIntervals | PairedIntervals = results.intervals(matched.n, labels, metric, split, level)
        sign = 1 if results.metric(metric).direction == "minimize" else -1
        order = np.argsort(sign * found.mean, kind="stable")[:MOST_SERIES]
        if base := self._base(results):
            found = results.differences(matched.n, labels, base, metric, split, level)
        rows = np.column_stack([found.mean, found.lower, found.upper]).tolist()
        return tuple(Dot(labels[i], labels[i], *rows[i]) for i in order)


def _last_with_results(results: ExperimentResults) -> MatchedResults | None:
    """Return the comparison at the largest n that has results."""
    return next((matched for matched in reversed(results.by_n) if matched.compared and matched.repetitions), None)


def _items(results: ExperimentResults, runs: ContenderResults) -> tuple[Dot, ...]:
    n, split = results.by_n[-1].n, results.splits[0]
    units = results.units(split)
    score, lower, upper, low, high = (results.values(n, runs.label, metric, split) for metric in RANKING)
    votes = results.values(n, runs.label, VOTES, split) if VOTES in results.metrics else None
    order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))[:MOST_ITEMS]
    if results.layout == "series":
        # The last ones, in the order of time.
        order = list(range(len(units)))[-MOST_ITEMS:]
    first = results.values(n, runs.label, MAY_BE_FIRST, split) == 1 if MAY_BE_FIRST in results.metrics else low < 0
    notes = [place_range_text(round(low[i]), round(high[i]), first=bool(first[i])) for i in range(len(units))]
    if votes is not None:
        notes = [f"{note},  {grouped_digits(round(votes[i]))}" for i, note in enumerate(notes)]
    return tuple(Dot(runs.label, units[i], float(score[i]), float(lower[i]), float(upper[i]), notes[i]) for i in order)
