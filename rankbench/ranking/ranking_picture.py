"""A ranking as a picture for a slide: scores with their intervals, places and counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankbench.drawing.picture import dots_canvas
from rankbench.errors import SpecError
from rankbench.kinds.figure import Dot, Drawing, Plot
from rankbench.text import grouped_digits, one_line, place_range_text

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Canvas

__all__ = ["MOST_DRAWN", "items_canvas", "systems_canvas"]

MOST_DRAWN = 21
"""Items of a picture of 16 to 9; who draws may say another number."""

_SIZE = (8.1, 2.6)


def items_canvas(table: pl.DataFrame, method: str, facts: dict[str, Any], top: int | None) -> Canvas:
    """Return the first items of a ranking as a figure.

    Parameters
    ----------
    table : DataFrame
    method : str
    facts : dict
        These three as of `rankbench.Aggregation`.
    top : int, optional

    Raises
    ------
    SpecError
        There is a ranking for each query.
    """
    if "query" in table.columns:
        raise SpecError("a picture has one ranking, and there is one for each query")
    rows, certain = table.head(top or MOST_DRAWN), facts["intervals"] is not None
    dots = tuple(_dot(method, row["item"], row, row["votes"]) for row in rows.iter_rows(named=True))
    unit = f" in {facts['unit']}" if facts["unit"] else ""
    places = "places" if certain else "place by score"
    plot = Plot(x_label=f"score{unit} (more is better)", dots=dots, notes=f"{places}, {facts['votes']}")
    bands = f"95% intervals ({facts['intervals']}) of each score alone; places hold all together"
    words = f"{one_line(method)}: {_shown(len(dots), table.height, 'items')}\n{grouped_digits(facts['n'])} judgments; "
    words += bands if certain else "no intervals: how certain places are is not known"
    return dots_canvas(Drawing(((plot,),), legends="none", size=_SIZE), words)


def systems_canvas(table: pl.DataFrame, method: str, facts: dict[str, Any], top: int | None) -> Canvas:
    """Return the first systems of a score table by one method as a figure.

    Parameters
    ----------
    table : DataFrame
    method : str
    facts : dict
        As of `rankbench.ScoreRanking`; the method is one of its methods.
    top : int, optional
    """
    own = table.filter(method=method)
    rows = own.head(top or MOST_DRAWN)
    known = facts["methods"][method]
    better = "more is better" if known["direction"] == "maximize" else "less is better"
    dots = tuple(_dot(method, row["system"], row) for row in rows.iter_rows(named=True))
    unit = f", unit: {known['unit']}" if known["unit"] else ""
    plot = Plot(x_label=f"score{unit} ({better})", dots=dots, notes="places")
    words = (
        f"{one_line(method)}: {_shown(len(dots), own.height, 'systems')}\n{grouped_digits(facts['n']['tasks'])} tasks; "
        "95% intervals of each score alone; places hold all together"
    )
    return dots_canvas(Drawing(((plot,),), legends="none", size=_SIZE), words)


def _shown(drawn: int, known: int, what: str) -> str:
    return f"first {drawn} of {known} {what}" if drawn < known else f"{drawn} {what}"


def _dot(method: str, name: str, row: dict[str, Any], votes: float | None = None) -> Dot:
    lower, upper = (math.nan if row[end] is None else row[end] for end in ("lower", "upper"))
    places = place_range_text(row["rank_low"], row["rank_high"])
    note = places if votes is None else f"{places},  {grouped_digits(round(votes))}"
    return Dot(method, name, row["score"], lower, upper, note)
