"""Figures of experiments are drawn, and written as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import one_line
from rankbench.drawing.canvas import titled_canvas
from rankbench.drawing.looks import Look, worded_plots
from rankbench.interfaces.cell import Split
from rankbench.interfaces.figure import CurveIntervals, Drawing, ExperimentResults, Plot
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.suite import Figure
from rankbench.plugin.manager import figure_kind
from rankbench.reports.analysis import curve_steps, curve_values, in_windows
from rankbench.reports.document import csv_of
from rankbench.reports.experiment_data import ContenderRuns, ExperimentData, MatchedRuns
from rankbench.reports.standings import differences_of
from rankbench.stats.contrast_columns import ArmContrast
from rankbench.stats.contrasts import (
    FEWEST,
    MeanIntervals,
    PairedIntervals,
    contrasts,
    mean_intervals,
    too_few,
    within_range,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


FIGURE_COLUMNS = (
    "row", "column", "title", "x_label", "y_label", "mark", "name", "label", "x", "value", "lower", "upper", "hollow",
)  # fmt: skip
"""Columns of ``figures/NAME.csv``, in order; described in docs/reference/leaderboard-columns.md."""


_REPEATED = 1e-12
"""Width of a band over repetitions that differ by rounding alone."""


def figure_csv(drawing: Drawing) -> str:
    """Return the numbers of a figure, from the plot at the top left on, row by row.

    Numbers have six significant digits: the last bits are the machine's.
    """
    rows = (
        (r, c, plot.title, plot.x_label, plot.y_label, *mark)
        for r, plots in enumerate(drawing.plots)
        for c, plot in enumerate(plots)
        for mark in _marks(plot)
    )
    return csv_of(FIGURE_COLUMNS, rows, form="z.6g")


def _marks(plot: Plot) -> Iterator[tuple[object, ...]]:
    for line in plot.lines:
        hollow = [None] * len(line.x) if line.hollow is None else line.hollow.tolist()
        points = zip(line.x, line.y, line.lower, line.upper, hollow, strict=True)
        yield from (("point", line.name, line.label, *point) for point in points)
    for level in plot.levels:
        yield "level", level.name, "", None, level.value, level.lower, level.upper, None
    for dot in plot.dots:
        yield "dot", dot.name, dot.row, None, dot.value, dot.lower, dot.upper, None


def subtitle(data: ExperimentData, figure: Figure, by_n: Sequence[MatchedRuns], drawing: Drawing) -> str:
    """Return the figure's title, and under it the data, n if any, and the kind of its bands."""
    title = one_line(figure.title or data.experiment.title)
    counts = sorted({len(matched.repetitions) for matched in by_n})
    words = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "0"
    source = data.source
    lower = [mark[-3] for plots in drawing.plots for plot in plots for mark in _marks(plot)]
    drawn = np.isfinite(np.array(lower, dtype=np.float64)).any()
    if drawing.bands and (drawn or not (counts and too_few(counts[-1]))):
        bands = drawing.bands
    elif source.layout != "race":
        bands = "exact" if source.layout == "exact" else "95% intervals"
    elif not counts or counts[-1] < 2:
        bands = f"no bands: {words} repetition"
    elif too_few(counts[-1]):
        times = "runs" if source.test_share is not None else "repetitions"
        bands = f"no intervals: {words} {times}, fewer than {FEWEST}"
    elif source.test_share is not None:
        bands = f"{figure.level:.0%} intervals of the corrected resampled t ({words} runs)"
    else:
        bands = f"{figure.level:.0%} bands over {words} repetitions"
    about = "simulated data" if source.simulated else one_line((source.dataset or source.protocol).partition(":")[0])
    n = f"; n = {by_n[0].n:,}" if len(by_n) == 1 and source.counts and source.layout == "race" else ""
    note = f"\n{one_line(drawing.note)}" if drawing.note else ""
    return f"{title}\n{about}{n}; {bands}{note}"


class SampledResults(ExperimentResults):
    """View of an experiment's data for kinds of figures.

    Parameters
    ----------
    data : ExperimentData
    together : float, optional
        Level at which the differences between all contenders hold together, in each table of a page that
        recommends something; None: each difference has an interval of its own.
    """

    def __init__(self, data: ExperimentData, together: float | None = None) -> None:
        source = data.source
        super().__init__(data.metrics, source.shown_splits(), data.by_n, data.added, source.layout, source.counts)
        self._sampler, self.together = data, together

    def metric(self, name: str) -> Metric:
        """Return the declaration of a metric, or of a curve."""
        source = self._sampler.source
        return source.metric(name) if name in self.metrics else Metric(name, source.curve(name)[1])

    def units(self, split: Split) -> Sequence[str]:
        """Return the names of a split's units."""
        return self._sampler.source.units[split]

    def split_title(self, split: Split) -> str:
        """Return a short title of a split."""
        return self._sampler.source.short(split)

    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        """Return the means of contenders compared at an n, with their intervals over repetitions."""
        matched = self._matched(n)
        contenders = [runs for label in labels for runs in matched.compared if runs.label == label]
        return self._sampler.intervals(contenders, metric, split, matched.repetitions, level)

    def differences(
        self, n: int, labels: Sequence[str], base: str, metric: str, split: Split, level: float
    ) -> PairedIntervals:
        """Return the means of contenders compared at an n minus that of `base`, with the intervals of the page."""
        data = self._sampler
        matched = self._matched(n)
        at = {runs.label: i for i, runs in enumerate(matched.compared)}
        means = data.intervals(matched.compared, metric, split, matched.repetitions).mean
        estimate = np.array([means[at[label]] - means[at[base]] for label in labels])
        if self.together is not None:
            known = differences_of(data, matched, metric, split, self.together)
            pairs = np.array([known.interval(label, base) for label in labels]).reshape(-1, 2)
            sign = -1 if data.source.direction(metric) == "maximize" else 1
            lower, upper = np.sort(sign * pairs, axis=1).T
            words = "95% intervals of the differences between all contenders, which hold together"
            return PairedIntervals(estimate, lower, upper, words)
        sample = data.sample(matched.compared, metric, split, matched.repetitions)
        found = [contrasts(sample, ArmContrast(at[label], at[base]), level) for label in labels]
        lower, upper = (np.array([getattr(one, end)[0] for one in found]) for end in ("lower", "upper"))
        resampled = data.source.test_share is not None
        units = f"over {data.source.judged_on} and repetitions"
        words = f"{level:.0%} {'by the corrected resampled t' if resampled else units}"
        if too_few(len(matched.repetitions)) and np.isnan(lower).all():
            words = f"no intervals with fewer than {FEWEST} repetitions"
        return PairedIntervals(estimate, lower, upper, words)

    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition."""
        return self._sampler.values(self._arm(n, label), metric, split)

    def curve(self, n: int, label: str, metric: str, level: float, *, per_decade: int = 0) -> CurveIntervals | None:
        """Return a contender's curve with intervals over repetitions; None unless all repetitions have it."""
        matched, runs = self._matched(n), self._arm(n, label)
        steps = curve_steps(self._sampler, runs, metric)
        if not len(steps):
            return None
        if (values := curve_values(self._sampler, runs, metric, steps.tolist(), matched.repetitions)) is None:
            return None
        if per_decade:
            steps, values = in_windows(steps, values, per_decade)
        return steps, mean_intervals(values, level)

    def _matched(self, n: int) -> MatchedRuns:
        return next(matched for matched in self._sampler.by_n if matched.n == n)

    def _arm(self, n: int, label: str) -> ContenderRuns:
        return next(runs for runs in self._matched(n).contenders if runs.label == label)


MOST_PANELS = 2
"""Plots of the figure that a page begins with."""


class DrawnFigure(NamedTuple):
    """A figure of an experiment, as the suite asks for it and as data.

    Attributes
    ----------
    data : ExperimentData
    figure : Figure
    drawing : Drawing
    title : str
        Its title, where it is of several experiments; `data` is that of the first.
    short : bool
        It is a part of a figure, see `figure_in_short`.
    """

    data: ExperimentData
    figure: Figure
    drawing: Drawing
    title: str = ""
    short: bool = False

    def canvas(self, looks: Mapping[str, Look]) -> Canvas:
        """Return it as matplotlib has it, with the looks that `rankbench.drawing.looks.assign_looks` gives a suite.

        Nothing global is touched: no pyplot, and matplotlib's settings are put back.
        """
        n = self.drawing.n
        by_n = [matched for matched in self.data.by_n if n is None or matched.n in n]
        title = self.title or subtitle(self.data, self.figure, by_n, self.drawing)
        return titled_canvas(self.drawing, title, looks)


def drawn_figures(data: ExperimentData, together: float | None = None) -> list[DrawnFigure]:
    """Return the figures of an experiment, in their order; `together` as `SampledResults` takes it."""
    return [DrawnFigure(data, figure, _drawing(data, figure, together)) for figure in data.experiment.figures]


def _drawing(data: ExperimentData, figure: Figure, together: float | None) -> Drawing:
    """Return a figure with bands over repetitions, or over units too if most contenders repeat their values exactly."""
    drawing, source = figure_kind(figure).drawing(figure, SampledResults(data, together)), data.source
    marks = (mark for plots in drawing.plots for plot in plots for mark in _marks(plot))
    widths = np.diff(np.array([mark[-3:-1] for mark in marks], dtype=np.float64).reshape(-1, 2))
    widths = widths[np.isfinite(widths)]
    if drawing.bands or source.layout != "race" or not len(widths) or np.median(widths) > _REPEATED:
        return drawing
    wide = figure_kind(figure).drawing(figure, _OverUnits(data, together))
    return replace(wide, bands=f"{figure.level:.0%} bands over {source.judged_on} and repetitions")


class _OverUnits(SampledResults):
    """View whose intervals of means are over units and repetitions."""

    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        """Return the means of contenders compared at an n, each with its own interval over units and repetitions."""
        found, data, matched = super().intervals(n, labels, metric, split, level), self._sampler, self._matched(n)
        source = data.source
        if source.layout != "race" or source.test_share is not None:
            return found
        contenders = [runs for label in labels for runs in matched.compared if runs.label == label]
        sample = data.sample(contenders, metric, split, matched.repetitions)
        each = [contrasts(sample, ArmContrast(i), level) for i in range(len(contenders))]
        mean, lower, upper = (
            np.array([getattr(one, part)[0] for one in each]) for part in ("estimate", "lower", "upper")
        )
        lower, upper = within_range(mean, lower, upper, source.metric(metric).ends)
        return replace(found, lower=lower, upper=upper)


def over_units(one: DrawnFigure, together: float | None = None) -> Drawing:
    """Return a figure with means over units and repetitions; `together` as `SampledResults` takes it."""
    if one.title:
        return one.drawing
    drawing = figure_kind(one.figure).drawing(one.figure, _OverUnits(one.data, together))
    return _excerpt(drawing) if one.short else drawing


def figure_in_short(one: DrawnFigure) -> list[DrawnFigure]:
    """Return the part of a figure that a page begins with; nothing where all of it is one row, or short enough."""
    if len(one.drawing.plots) == 1 or sum(map(len, one.drawing.plots)) <= MOST_PANELS:
        return []
    figure = one.figure.model_copy(update={"file": f"{one.figure.file}-in-short"})
    return [one._replace(figure=figure, drawing=_excerpt(one.drawing), short=True)]


def _excerpt(drawing: Drawing) -> Drawing:
    """Return the last plots of the last column, which are those of the largest n."""
    chosen = [row[-1] for row in worded_plots(drawing)][-MOST_PANELS:]
    return replace(drawing, plots=(tuple(chosen),), same_y=False)
