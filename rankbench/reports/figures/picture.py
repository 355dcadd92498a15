"""A figure that stands alone, outside of a suite."""

from __future__ import annotations

from rankbench.kinds.figure import Cast, Drawing
from rankbench.reports.figures.canvas import canvas_of
from rankbench.reports.figures.cast import assign_looks
from rankbench.reports.figures.style import RC, render, safe

__all__ = ["drawn_alone"]


def drawn_alone(drawing: Drawing, title: str) -> dict[str, bytes]:
    """Return a figure of dots as SVG and as PNG, by suffix; matplotlib's settings are put back."""
    import matplotlib

    names = dict.fromkeys(dot.name for row in drawing.plots for plot in row for dot in plot.dots)
    cast = Cast("picture", tuple(names))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        canvas = canvas_of(drawing, cast, assign_looks([cast]))
        canvas.suptitle("\n".join(map(safe, title.split("\n"))), fontsize=10)
        return render(canvas)
