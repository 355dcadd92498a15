"""The numbers behind a figure, as CSV: a row for each point, level or dot that it shows."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from rankbench.kinds.figure import Drawing, Plot
from rankbench.text import csv_cell

__all__ = ["FIGURE_COLUMNS", "figure_csv"]

FIGURE_COLUMNS = (
    "row", "column", "title", "x_label", "y_label", "mark", "name", "label", "x", "value", "lower", "upper", "hollow",
)  # fmt: skip
"""Columns of ``figures/NAME.csv``, in order; described in docs/leaderboard.md."""

DIGITS = 6
"""Significant ones: the last bits of a number are the machine's."""


def figure_csv(drawing: Drawing) -> str:
    """Return what a figure shows, from the plot at the top left on, row by row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIGURE_COLUMNS)
    for r, plots in enumerate(drawing.plots):
        for c, plot in enumerate(plots):
            place = (str(r), str(c), *(csv_cell(words) for words in (plot.title, plot.x_label, plot.y_label)))
            writer.writerows((*place, *row) for row in _marks(plot))
    return text.getvalue()


def _marks(plot: Plot) -> Iterator[tuple[str, ...]]:
    for line in plot.lines:
        for i in range(len(line.x)):
            hollow = "" if line.hollow is None else ("true" if line.hollow[i] else "false")
            point = (line.x[i], line.y[i], line.lower[i], line.upper[i])
            yield "point", csv_cell(line.name), csv_cell(line.label), *map(_number, point), hollow
    for level in plot.levels:
        yield "level", csv_cell(level.name), "", "", *map(_number, (level.value, level.lower, level.upper)), ""
    for dot in plot.dots:
        numbers = (dot.value, dot.lower, dot.upper)
        yield "dot", csv_cell(dot.name), csv_cell(dot.row), "", *map(_number, numbers), ""


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{float(value) + 0.0:.{DIGITS}g}"
