"""Pictures show rankings, and scores over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from rankbench.core.text import count_text, grouped_digits, one_line, place_range_text
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import SpecError
from rankbench.interfaces.figure import Dot, Drawing, Line, Plot

MOST_DRAWN = 21
"""Items of a picture of 16 to 9; who draws may say another number."""

_RANKING_SIZE = (8.1, 2.6)

_MOST_BESIDE, _MOST_PLOTS, _BESIDE_SIZE = 12, 4, (2.6, 2.6)
"""Items and categories of a picture of several rankings; width and height of a plot."""


def items_drawing(table: pl.DataFrame, method: str, facts: dict[str, Any], top: int | None) -> TitledDrawing:
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
        raise SpecError(f"a picture has one ranking, and there is one for each {facts.get('by') or 'query'}")
    certain, unit = facts["intervals"] is not None, f" in {facts['unit']}" if facts["unit"] else ""
    places = "places" if certain else "place by score"
    bands = f"95% intervals ({intervals_words(facts)}) of each score alone; places hold all together; *: may be first"
    words = f"{judgments_text(facts)}; "
    if certain and not table["lower"].count():
        words += "no item has votes enough for an interval; places hold all together at 95%"
    else:
        words += bands if certain else "no intervals: how certain places are is not known"
    label, notes = f"score{unit} (more is better)", f"{places}, {facts['votes']}"
    return _ranking(table, top, method, "item", label, notes, words)


def categories_drawing(
    table: pl.DataFrame, method: str, facts: dict[str, Any], items: Sequence[str], categories: Sequence[str]
) -> TitledDrawing:
    """Return the first items in the largest categories as a figure: a plot for each category.

    Parameters
    ----------
    table, method, facts
        As of `rankbench.Aggregation`, with a ranking for each category.
    items, categories : sequence of str
        See `rankbench.ranking.rankings_across.RankingsAcross`.
    """
    shown, unit = items[:_MOST_BESIDE], f" in {facts['unit']}" if facts["unit"] else ""
    plots = []
    for category in categories[:_MOST_PLOTS]:
        rows = {row["item"]: row for row in table.filter(query=category).iter_rows(named=True)}
        dots = tuple(_dot(method, item, rows[item]) for item in shown if item in rows)
        plots.append(Plot(title=f"{facts.get('by') or 'query'} {category}", x_label=f"score{unit}", dots=dots))
    words = f"first {len(shown)} of {len(items)} items, the {len(plots)} largest of {len(categories)} categories"
    bands = "; 95% intervals of each score alone" if facts["intervals"] else ""
    drawing = Drawing((tuple(plots),), legends="none", size=_BESIDE_SIZE)
    return TitledDrawing(drawing, f"{one_line(method)}: {words}\n{judgments_text(facts)}{bands}")


def judgments_text(facts: dict[str, Any]) -> str:
    """Return the number of judgments behind a ranking as text: ``2 ballots of 5 voters``."""
    n, voters = facts["n"], facts.get("voters")
    if not voters:
        return count_text(n, "judgment")
    return count_text(n, "ballot") + (f" of {count_text(voters, 'voter')}" if voters != n else "")


def intervals_words(facts: dict[str, Any]) -> str:
    """Return a text on the intervals: their kind, and the units that they are over."""
    if (facts["sampled"] or "").startswith("votes of"):
        return f"{facts['intervals']}, {facts['sampled']}"
    return f"{facts['intervals']}{' by judge' if facts['by_judge'] and facts['intervals'] == 'sandwich' else ''}"


def systems_drawing(table: pl.DataFrame, method: str, facts: dict[str, Any], top: int | None) -> TitledDrawing:
    """Return the first systems of a score table by one method as a figure.

    Parameters
    ----------
    table : DataFrame
    method : str
    facts : dict
        As of `rankbench.ScoreRanking`; the method is one of its methods.
    top : int, optional
    """
    known = facts["methods"][method]
    better = "more is better" if known["direction"] == "maximize" else "less is better"
    label = f"score, unit: {known['unit']} ({better})" if known["unit"] else f"score ({better})"
    tasks = count_text(facts["n"]["tasks"], "task")
    words = f"{tasks}; 95% intervals of each score alone; places hold all together; *: may be first"
    return _ranking(table.filter(method=method), top, method, "system", label, "places", words)


def _ranking(
    table: pl.DataFrame, top: int | None, method: str, name: str, label: str, notes: str, words: str
) -> TitledDrawing:
    """Return the first rows of a ranking as a figure; `name` is the column of the ranked names."""
    rows = table.head(top or MOST_DRAWN)
    dots = tuple(_dot(method, row[name], row) for row in rows.iter_rows(named=True))
    shown = f"first {len(dots)} of {table.height}" if len(dots) < table.height else str(len(dots))
    plot = Plot(x_label=label, dots=dots, notes=notes)
    drawing = Drawing(((plot,),), legends="none", size=_RANKING_SIZE)
    return TitledDrawing(drawing, f"{one_line(method)}: {shown} {name}s\n{words}")


def _dot(method: str, name: str, row: dict[str, Any]) -> Dot:
    lower, upper = (math.nan if row[end] is None else row[end] for end in ("lower", "upper"))
    places = place_range_text(row["rank_low"], row["rank_high"], first=row["may_be_first"])
    note = f"{places},  {grouped_digits(round(row['votes']))}" if "votes" in row else places
    return Dot(method, name, row["score"], lower, upper, note)


MOST_LINES = 6
"""Items of a picture; who draws may say another number."""

_HISTORY_SIZE = (8.1, 4.2)


def history_drawing(
    table: pl.DataFrame,
    now: pl.DataFrame,
    place: Mapping[str, float],
    method: str,
    facts: dict[str, Any],
    top: int | None,
    *,
    dated: bool,
) -> TitledDrawing:
    """Return the scores over time as a figure, of the items that are first now.

    Parameters
    ----------
    table, now, method, facts
        As of `rankbench.ranking.over_time.ScoresOverTime`.
    place : mapping of str to float
        Where each time stands on the axis.
    top : int, optional
    dated : bool
        Whether places are days since 1970.
    """
    lines = []
    for item, first in now.select("item", "may_be_first").head(top or MOST_LINES).iter_rows():
        own = table.filter(item=item)
        x = np.array([place[time] for time in own["time"]])
        score, lower, upper = (own[name].to_numpy() for name in ("score", "lower", "upper"))
        lines.append(Line(f"{item} *" if first else item, x, score, lower, upper))
    unit = f" in {facts['unit']}" if facts["unit"] else ""
    plot = Plot(x_label="time", y_label=f"score{unit}, less the mean of its time", lines=tuple(lines))
    words = (
        f"{one_line(method)}: first {len(lines)} of {now.height} items now\n"
        f"{count_text(facts['n'], 'vote')}; 95% bands of each score alone; *: may be first now"
    )
    names = tuple(line.name for line in lines)
    scale: Literal["time", "linear"] = "time" if dated else "linear"
    return TitledDrawing(Drawing(((plot,),), names, x_scale=scale, size=_HISTORY_SIZE), words)
