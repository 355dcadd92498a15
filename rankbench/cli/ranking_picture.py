"""A ranking as a picture for a slide: scores with their intervals, places and counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankbench.text import grouped_digits, one_line, place_range_text

if TYPE_CHECKING:
    from rankbench.kinds.figure import Dot
    from rankbench.ranking.aggregate import Aggregation

__all__ = ["MOST_DRAWN", "picture"]

MOST_DRAWN = 21
"""Items of a picture of 16 to 9; --top says another number."""


def picture(found: Aggregation, suffix: str, top: int | None) -> bytes:
    """Return the first items of a ranking as SVG or PNG.

    Parameters
    ----------
    found : Aggregation
        Of a whole log.
    suffix : {"svg", "png"}
    top : int, optional

    Raises
    ------
    SpecError
        There is a ranking for each query.
    """
    from rankbench.errors import SpecError
    from rankbench.kinds.figure import Drawing, Plot
    from rankbench.reports.figures.picture import drawn_alone

    if "query" in found.table.columns:
        raise SpecError("a picture has one ranking, and there is one for each query")
    facts, rows = found.facts, found.table.head(top or MOST_DRAWN)
    certain = facts["intervals"] is not None
    dots = tuple(_dot(found.method, row) for row in rows.iter_rows(named=True))
    unit = f" in {facts['unit']}" if facts["unit"] else ""
    places = "places" if certain else "place by score"
    plot = Plot(x_label=f"score{unit} (more is better)", dots=dots, notes=f"{places}, {facts['votes']}")
    bands = f"95% intervals ({facts['intervals']}) of each score alone; places hold all together"
    shown = (
        f"first {len(dots)} of {found.table.height} items" if len(dots) < found.table.height else f"{len(dots)} items"
    )
    title = f"{one_line(found.method)}: {shown}\n{grouped_digits(facts['n'])} judgments; "
    words = title + (bands if certain else "no intervals: how certain places are is not known")
    return drawn_alone(Drawing(((plot,),), legends="none", size=(8.1, 2.6)), words)[suffix]


def _dot(method: str, row: dict[str, Any]) -> Dot:
    from rankbench.kinds.figure import Dot

    lower, upper = (math.nan if row[end] is None else row[end] for end in ("lower", "upper"))
    note = f"{place_range_text(row['rank_low'], row['rank_high'])},  {grouped_digits(round(row['votes']))}"
    return Dot(method, row["item"], row["score"], lower, upper, note)
