"""A figure of dots or lines that stands alone, outside of a suite: as matplotlib has it, and as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankbench.drawing.canvas import canvas_of
from rankbench.drawing.cast import assign_looks
from rankbench.drawing.style import render, safe, styled
from rankbench.kinds.figure import Cast, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["dots_canvas", "lines_canvas", "picture_bytes"]


def dots_canvas(drawing: Drawing, title: str) -> Canvas:
    """Return a figure of dots under a title of a few lines; matplotlib's settings are put back."""
    return _titled(drawing, [dot.name for row in drawing.plots for plot in row for dot in plot.dots], title)


def lines_canvas(drawing: Drawing, title: str) -> Canvas:
    """Return a figure of lines under a title of a few lines; matplotlib's settings are put back."""
    return _titled(drawing, [line.name for row in drawing.plots for plot in row for line in plot.lines], title)


def _titled(drawing: Drawing, series: Sequence[str], title: str) -> Canvas:
    names = dict.fromkeys(series)
    cast = Cast("picture", tuple(names))
    with styled():
        canvas = canvas_of(drawing, cast, assign_looks([cast]))
        canvas.suptitle("\n".join(map(safe, title.split("\n"))), fontsize=10)
    return canvas


def picture_bytes(canvas: Canvas) -> dict[str, bytes]:
    """Return a figure as SVG and as PNG, by suffix; the same figure gives the same bytes."""
    with styled():
        return render(canvas)
