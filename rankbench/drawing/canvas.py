"""The canvas draws a figure's data on paper, or alone in a file."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import shortened
from rankbench.drawing.looks import (
    COLORS,
    ON_SCREEN,
    FileForms,
    Look,
    assign_looks,
    equal_limits,
    groups,
    legend,
    legend_entries,
    pages,
    render,
    safe,
    styled,
    titles,
)
from rankbench.interfaces.figure import Drawing, Level, Line, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


LETTER = 0.085
"""Inches of a letter of a tick's words, with room between words."""

TITLE_LETTER = 0.072
"""Inches of a letter of a figure's title, on average."""

BESIDE = 0.8
"""Inches of a plot that stand beside its axis: numbers and words of the other axis."""


@dataclass(frozen=True)
class LogAxis:
    """Places of a parameter's values: log10, with infinity to the right and zero to the left.

    Attributes
    ----------
    places : dict of float to float
    """

    places: dict[float, float]

    @classmethod
    def with_places_for(cls, values: Iterable[float]) -> LogAxis:
        """Place `values`, all of them >= 0."""
        known = sorted(set(values))
        inner = [value for value in known if 0 < value < math.inf]
        places = {value: math.log10(value) for value in inner}
        left, right = min(places.values(), default=0.0), max(places.values(), default=0.0)
        gap = max(0.14 * (right - left), 0.45)
        if 0.0 in known:
            places[0.0] = left - gap
        if math.inf in known:
            places[math.inf] = right + gap
        return cls(places)

    def labeled(self, length: float) -> list[float]:
        """Return the values whose labels fit side by side on so many inches, always with zero and infinity."""
        inner = sorted(value for value in self.places if 0 < value < math.inf)
        letters = {value: len(re.sub(r"\\cdot |[${}^]", "", _tick_label(value, inner))) for value in inner}
        spaced = inner[:1]
        for value in inner[1:]:
            room = LETTER * (letters[spaced[-1]] + letters[value]) / 2 / length
            if self.places[value] - self.places[spaced[-1]] >= room * (self.places[inner[-1]] - self.places[inner[0]]):
                spaced.append(value)
        return [value for value in self.places if value in spaced or value in (0.0, math.inf)]

    def ticks(self, axes: Axes, columns: int = 1) -> None:
        """Put a tick at every value, in one of so many columns; labels that would touch earlier ones are left out."""
        inner = sorted(value for value in self.places if 0 < value < math.inf)
        shown = self.labeled(axes.figure.bbox.width / axes.figure.dpi / columns - BESIDE)
        axes.set_xticks([self.places[value] for value in shown], [_tick_label(value, inner) for value in shown])
        axes.set_xticks([place for value, place in self.places.items() if value not in shown], minor=True)
        axes.tick_params(axis="x", length=2.5, which="both")
        if math.inf in self.places and inner:
            edge = (self.places[math.inf] + self.places[inner[-1]]) / 2
            axes.axvline(edge, color="#BBBBBB", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)


def _tick_label(value: float, inner: list[float]) -> str:
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if min(inner) < 0.01 or max(inner) >= 1e5:
        exponent = math.floor(math.log10(value) + 1e-9)
        factor = value / 10**exponent
        return f"$10^{{{exponent}}}$" if abs(factor - 1) < 1e-6 else f"${factor:g}\\cdot 10^{{{exponent}}}$"
    return f"{value:g}"


ZERO = "0.4"
"""Gray of the line at 0, where values are differences."""

DECADE = 10
"""Means that span less than this factor are drawn on a linear axis: a logarithmic one would be all but empty."""

_MOST_TICKS = 6
"""Intervals between ticks below dots: more, and their numbers touch beside long names."""

LONGEST = 40
"""Letters of a name beside its dot."""


def canvas_of(drawing: Drawing, looks: Mapping[str, Look]) -> Canvas:
    """Return a canvas with all plots; more series than a plot has room for are drawn in several pages."""
    if any(plot.dots for row in drawing.plots for plot in row) or drawing.legends == "none":
        return _rows_of_dots(drawing)
    return _lines(drawing, looks)


def _lines(drawing: Drawing, looks: Mapping[str, Look]) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    rows, columns = len(drawing.plots), len(drawing.plots[0])
    together = _together(drawing)
    parts = max(len(column) for column in together)
    width, height = drawing.size
    canvas = Canvas(figsize=(max(width * columns + 0.7, 6.4), (height * rows + 1.4) * parts), layout="constrained")
    axis = LogAxis.with_places_for(
        x for row in drawing.plots for plot in row for line in plot.lines for x in line.x.tolist()
    )
    shown = titles(drawing.names)
    grids: list[NDArray[Any]] = []
    for part, page in enumerate(pages(canvas, parts)):
        grid = page.subplots(rows, columns, squeeze=False, sharex=True, sharey="row" if drawing.same_y else False)
        grids.append(grid)
        for c in range(columns):
            names = together[c][part] if part < len(together[c]) else ()
            for r in range(rows):
                _plot(grid[r][c], drawing, drawing.plots[r][c], names, shown, looks, axis)
            if drawing.legends == "columns":
                handles, folded, wide = legend_entries(grid[:, c], width)
                if handles:
                    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.28)}
                    grid[-1][c].legend(handles, folded, ncols=wide, **place)
        if drawing.legends == "figure":
            legend(page, grid.flat, last=drawing.hollow)
    _scales(drawing, grids)
    return canvas


def _together(drawing: Drawing) -> list[list[tuple[str, ...]]]:
    """Return by column which series share a page: the figure's, or a column's with a legend of its own."""
    columns = list(zip(*drawing.plots, strict=True))
    if drawing.legends == "columns":
        own = [list(dict.fromkeys(line.name for plot in column for line in plot.lines)) for column in columns]
        return [groups(names) for names in own]
    return [groups(drawing.names)] * len(columns)


def _plot(
    axes: Axes,
    drawing: Drawing,
    plot: Plot,
    names: Collection[str],
    shown: Mapping[str, str],
    looks: Mapping[str, Look],
    axis: LogAxis,
) -> None:
    lines = [line for line in plot.lines if line.name in names]
    own = titles(line.label for line in lines if line.label)
    for line in lines:
        title = own[line.label] if line.label else shown[line.name]
        if drawing.x_scale == "ticks":
            _line_over_ticks(axes, axis, line, title, looks[line.name], drawing.hollow)
        else:
            _line(axes, line, title, looks[line.name])
    for level in (level for level in plot.levels if level.name in names):
        _level(axes, level, shown[level.name], looks[level.name])
    if drawing.x_scale == "ticks":
        axis.ticks(axes, len(drawing.plots[0]))
    elif drawing.x_scale == "time":
        axes.xaxis_date()
    else:
        axes.set_xscale(drawing.x_scale)
    if plot.zero:
        axes.axhline(0.0, color=ZERO, linewidth=0.8)
    if plot.title:
        axes.set_title(_words(plot.title))
    if plot.x_label:
        axes.set_xlabel(_words(plot.x_label))
    if plot.y_label:
        axes.set_ylabel(_words(plot.y_label))


def _words(text: str) -> str:
    return "\n".join(safe(line) for line in text.split("\n"))


def _line(axes: Axes, line: Line, title: str, style: Look) -> None:
    every = max(len(line.x) // 8, 1)
    axes.plot(
        line.x, line.y, color=style.color, linestyle=style.dashes, marker=style.marker, markevery=every, label=title
    )
    if np.isfinite(line.lower).any():
        axes.fill_between(line.x, line.lower, line.upper, color=style.color, alpha=0.18, linewidth=0)


def _line_over_ticks(axes: Axes, axis: LogAxis, line: Line, title: str, style: Look, words: str) -> None:
    """Draw a line with its band; to infinity it is dotted, and the band is a bar of its own."""
    x = np.array([axis.places[value] for value in line.x.tolist()])
    inner = np.isfinite(line.x) & (line.x > 0)
    hollow = np.zeros(len(x), np.bool_) if line.hollow is None else line.hollow
    dots: dict[str, Any] = {"color": style.color, "marker": style.marker, "linestyle": ""}
    if not inner.all():
        axes.plot(x, line.y, color=style.color, linestyle=":", linewidth=1)
    axes.plot(x[inner], line.y[inner], color=style.color, linestyle=style.dashes)
    axes.plot(x[~hollow], line.y[~hollow], **dots)
    axes.plot(x[hollow], line.y[hollow], **dots, markerfacecolor="white", zorder=3)
    axes.plot([], [], color=style.color, linestyle=style.dashes, marker=style.marker, label=title)
    if hollow.any():
        axes.plot([], [], "o", color="#555555", markerfacecolor="white", label=words)
    if not np.isfinite(line.lower).all():
        return
    band: dict[str, Any] = {"color": style.color, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(x[inner], line.lower[inner], line.upper[inner], **band)
    # A point without neighbors has a bar, as one at infinity has.
    for i in np.flatnonzero(~inner if inner.sum() > 1 else np.ones(len(x), np.bool_)):
        axes.fill_between([x[i] - 0.1, x[i] + 0.1], line.lower[i], line.upper[i], **band)


def _level(axes: Axes, level: Level, title: str, style: Look) -> None:
    """Draw a value without a place on the horizontal axis: markers at the edges, where no points are."""
    across = axes.get_yaxis_transform()
    axes.plot(
        [0, 0.02, 0.98, 1], [level.value] * 4, color=style.color, linestyle=style.dashes, marker=style.marker,
        markevery=[1, 2], transform=across, label=title,
    )  # fmt: skip
    if math.isfinite(level.lower):
        axes.axhspan(level.lower, level.upper, color=style.color, alpha=0.18, linewidth=0)


def _scales(drawing: Drawing, grids: Sequence[NDArray[Any]]) -> None:
    """Give small multiples the same scales; values have a logarithmic one if all means are positive."""
    places = [[axes for axes in column] for column in zip(*(grid.flat for grid in grids), strict=True)]
    if drawing.y_scale == "log":
        by_row = [[axes for grid in grids for axes in grid[r]] for r in range(len(drawing.plots))]
        for same in by_row if drawing.same_y else places:
            _logarithmic(same)
    for same in places if len(grids) > 1 else []:
        equal_limits(same)


def _logarithmic(same: Sequence[Axes]) -> None:
    lines = [line for axes in same for line in axes.get_lines()]
    means = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines] or [np.empty(0)])
    finite = means[np.isfinite(means)]
    for axes in same if len(finite) else ():
        if finite.min() > 0 and finite.max() >= DECADE * finite.min():
            # Bands may reach below zero.
            axes.set_yscale("log", nonpositive="clip")
            axes.set_ylim(finite.min() / 1.5, finite.max() * 1.5)
        else:
            if finite.min() <= 0:
                axes.axhline(0.0, color=ZERO, linewidth=0.8)
            axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 5))


def _rows_of_dots(drawing: Drawing) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    plots = [plot for row in drawing.plots for plot in row]
    shown = _short({dot.row for plot in plots for dot in plot.dots})
    height = 0.19 * max((len(plot.dots) for plot in plots), default=1) + 1.4
    canvas = Canvas(figsize=(max(6.4, drawing.size[0] * len(plots) + 1.5), height), layout="constrained")
    grid = canvas.subplots(1, len(plots), squeeze=False)[0]
    for axes, plot in zip(grid, plots, strict=True):
        _dots(axes, plot, shown)
        axes.set_xlabel(_words(plot.x_label))
        if plot.title:
            axes.set_title(_words(plot.title))
    return canvas


def _dots(axes: Axes, plot: Plot, shown: Mapping[str, str]) -> None:
    """Draw dots in one color: rows are named, and eight colors would recur among many rows."""
    dots, color = plot.dots, COLORS[0]
    if plot.zero:
        axes.axvline(0.0, color=ZERO, linewidth=0.8)
    for place, dot in enumerate(dots):
        if np.isfinite(dot.lower) and np.isfinite(dot.upper):
            axes.plot([dot.lower, dot.upper], [place, place], color=color, linewidth=1.2)
        axes.plot([dot.value], [place], marker="o", linestyle="", color=color, label=safe(dot.name))
    rows = range(len(dots))
    axes.set_yticks(rows, [shown[dot.row] for dot in dots])
    axes.set_ylim(max(len(dots), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.locator_params(axis="x", nbins=_MOST_TICKS)
    if plot.notes:
        right = axes.secondary_yaxis("right")
        right.set_yticks(rows, [safe(dot.note) for dot in dots])
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        axes.set_title(_words(plot.notes), loc="right", fontsize=8)


def _short(names: Iterable[str]) -> dict[str, str]:
    """Return names cut to a length, except names that would look alike."""
    full = titles(names)
    cut = shortened(full.values(), LONGEST)
    return {name: cut[text] for name, text in full.items()}


class TitledDrawing(NamedTuple):
    """A figure by itself, under a title of a few lines.

    Attributes
    ----------
    drawing : Drawing
    title : str
    """

    drawing: Drawing
    title: str

    def canvas(self) -> Canvas:
        """Return the figure as a matplotlib figure."""
        return titled_canvas(self.drawing, self.title)


def titled_canvas(drawing: Drawing, title: str, looks: Mapping[str, Look] | None = None) -> Canvas:
    """Return a figure under a title of a few lines; matplotlib's settings are put back.

    A figure that stands alone needs no `looks`.
    """
    with styled():
        canvas = canvas_of(drawing, assign_looks([drawing]) if looks is None else looks)
        most = int(canvas.get_figwidth() / TITLE_LETTER)
        lines = [part for line in title.split("\n") for part in textwrap.wrap(safe(line), most)]
        canvas.suptitle("\n".join(lines), fontsize=10)
    return canvas


def picture_bytes(canvas: Canvas, forms: FileForms = ON_SCREEN) -> dict[str, bytes]:
    """Return a figure by suffix, as SVG and PNG by default; the same figure gives the same bytes."""
    with styled(forms.settings):
        return render(canvas, forms)
