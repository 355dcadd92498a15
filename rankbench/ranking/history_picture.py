"""Scores over time as a picture: a line with its band for each of the first items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankbench.drawing.picture import lines_canvas
from rankbench.kinds.figure import Drawing, Line, Plot
from rankbench.text import grouped_digits, one_line

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Canvas

__all__ = ["MOST_LINES", "history_canvas"]

MOST_LINES = 6
"""Items of a picture; who draws may say another number."""

_SIZE = (8.1, 4.2)


def history_canvas(
    table: pl.DataFrame,
    now: pl.DataFrame,
    place: Mapping[str, float],
    method: str,
    facts: dict[str, Any],
    top: int | None,
) -> Canvas:
    """Return the scores of the first items over time as a figure; those are first that are so now.

    Parameters
    ----------
    table, now, method, facts
        As of `rankbench.ranking.over_time.ScoresOverTime`.
    place : mapping of str to float
        Where each time stands on the axis.
    top : int, optional
    """
    lines = []
    for item in now["item"].head(top or MOST_LINES):
        own = table.filter(item=item)
        x = np.array([place[time] for time in own["time"]])
        score, lower, upper = (own[name].to_numpy() for name in ("score", "lower", "upper"))
        lines.append(Line(item, x, score, lower, upper))
    unit = f" in {facts['unit']}" if facts["unit"] else ""
    plot = Plot(x_label="time", y_label=f"score{unit}, less the mean of its time", lines=tuple(lines))
    words = (
        f"{one_line(method)}: first {len(lines)} of {now.height} items now\n"
        f"{grouped_digits(facts['n'])} votes; 95% bands of each score alone"
    )
    return lines_canvas(Drawing(((plot,),), size=_SIZE), words)
