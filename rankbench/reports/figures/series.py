"""Series of a history as small multiples, with their levels and where these changed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankbench.drawing.style import COLORS, render, safe, styled
from rankbench.reports.history import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_SHOWN", "draw_history"]

MOST_SHOWN = 24
"""Series in a figure: those that changed come first."""


def draw_history(series: Sequence[Series]) -> dict[str, bytes]:
    """Return the picture of a history as SVG and as PNG, by suffix: one panel a series, shaded where a change lies."""
    from matplotlib.figure import Figure

    shown = sorted(series, key=lambda one: not one.changes)[:MOST_SHOWN]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    with styled():
        figure = Figure(figsize=(max(6.4, 4.2 * columns), 2.3 * rows + 0.8), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, one in zip(grid.flat, shown, strict=False):
            _draw_series(axes, one)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        changed = sum(bool(one.changes) for one in series)
        more = f", {len(shown)} of them shown" if len(shown) < len(series) else ""
        words = f"{changed} of {len(series)} series changed{more}"
        if changed:
            words += "\nshaded: where a change may lie (95%), orange to the worse, green to the better"
        figure.suptitle(words, fontsize=10)
        return render(figure)


def _draw_series(axes: Axes, one: Series) -> None:
    x = np.arange(len(one.values))
    if len(x) == 1:
        axes.plot(x, one.values, "o", color=COLORS[0])
        axes.set_xticks([])
        axes.set_xlim(-1, 1)
        _words_of(axes, one, f"one run, {one.dates[0]:%Y-%m-%d}: nothing to compare it with yet")
        return
    axes.plot(x, one.values, ".", color="0.45", markersize=3)
    edges = [0, *(change.at for change in one.changes), len(x)]
    for low, high in itertools.pairwise(edges):
        level = float(np.median(one.values[low:high]))
        axes.plot([low - 0.5, high - 0.5], [level, level], color=COLORS[0], linewidth=1.6)
    for change in one.changes:
        axes.axvspan(change.low - 0.5, change.high + 0.5, color=COLORS[1 if one.worse(change) else 2], alpha=0.25)
    _words_of(axes, one, f"runs from {one.dates[0]:%Y-%m-%d} to {one.dates[-1]:%Y-%m-%d}")


def _words_of(axes: Axes, one: Series, x_label: str) -> None:
    title = one.name if len(one.name) <= 60 else f"…{one.name[-59:]}"
    axes.set_title(safe(title), fontsize=7)
    axes.set_xlabel(x_label, fontsize=7)
    axes.set_ylabel("less is better" if one.direction == "minimize" else "more is better", fontsize=7)
