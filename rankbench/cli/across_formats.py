"""Rankings of categories side by side: a table for people, and files."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from rankbench.cli.markdown_tables import markdown_page, table_lines
from rankbench.cli.output import standard_output, terminal_width
from rankbench.text import csv_cell, distinct, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    import polars as pl

    from rankbench.cli.formats import Format
    from rankbench.ranking.across import RankingsAcross
    from rankbench.ranking.aggregate import Aggregation

    AcrossCells: TypeAlias = Literal["ranks", "scores"]

__all__ = ["MOST_ON_A_PAGE", "across_cells", "encoded_across", "shown_across"]

MOST_ON_A_PAGE = 12
"""Categories of a table for people: more columns than that are not read side by side."""

_GAP = 2


def across_cells(across: RankingsAcross, cells: AcrossCells, limit: int) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells for people, of the first `limit` categories; a dash where an item is missing."""
    categories = distinct(across.categories, one_line)
    items = distinct(across.items, one_line)
    columns = ["item", *(categories[name] for name in across.categories[:limit])]
    rows = []
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        texts = [number(score) for score in scores[:limit]]
        if cells == "ranks":
            texts = [place_range_text(low, high) if low else "—" for low, high in ranks[:limit]]
        rows.append([items[item], *texts])
    return columns, rows


def shown_across(across: RankingsAcross, cells: AcrossCells) -> tuple[list[str], list[list[str]], str]:
    """Return columns and cells that a terminal has room for, and what is said of the others."""
    columns, rows = across_cells(across, cells, MOST_ON_A_PAGE)
    count = len(columns) - 1
    if standard_output().isatty():
        widths = [max(len(row[at]) for row in (columns, *rows)) + _GAP for at in range(len(columns))]
        room = terminal_width()
        count = max(1, sum(sum(widths[: at + 2]) - _GAP <= room for at in range(count)))
    return columns[: count + 1], [row[: count + 1] for row in rows], _others(across, count)


def encoded_across(found: Aggregation, across: RankingsAcross, cells: AcrossCells, form: Format) -> bytes:
    """Return rankings side by side in a format: Markdown has the largest categories, the others all.

    CSV and Parquet have a column for each category: its scores, or ``NAME rank_low`` and ``NAME rank_high``, without
    intervals ``NAME place_low`` and ``NAME place_high``.
    """
    if form == "json":
        return _json(found, across)
    if form == "md":
        columns, rows = across_cells(across, cells, MOST_ON_A_PAGE)
        named = [[markdown(row[0]), *row[1:]] for row in rows]
        notes = [note for note in (_others(across, len(columns) - 1), *found.notes) if note]
        return markdown_page(table_lines([markdown(cell) for cell in columns], named, (0,)), notes)
    frame = _frame(across, cells, _place(found), csv_cell if form == "csv" else str)
    if form == "csv":
        return frame.write_csv().encode()
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _place(found: Aggregation) -> str:
    """Return what places are called: without intervals they are no ranks that something may hold."""
    return "rank" if found.facts["intervals"] else "place"


def _frame(across: RankingsAcross, cells: AcrossCells, place: str, safe: Callable[[str], str]) -> pl.DataFrame:
    import polars as pl

    items, categories = distinct(across.items, safe), distinct(across.categories, safe)
    first = "item"
    while first in categories.values():
        first += "_"
    columns = [pl.Series(first, [items[item] for item in across.items], pl.String)]
    for at, name in enumerate(across.categories):
        if cells == "scores":
            columns.append(pl.Series(categories[name], across.scores[:, at]).fill_nan(None))
            continue
        for side, end in enumerate(("low", "high")):
            column = pl.Series(f"{categories[name]} {place}_{end}", across.ranks[:, at, side])
            columns.append(column.set(column == 0, None))
    return pl.DataFrame(columns)


def _json(found: Aggregation, across: RankingsAcross) -> bytes:
    rows, place = [], _place(found)
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        there = {
            name: {"score": score, f"{place}_low": low, f"{place}_high": high}
            for name, (low, high), score in zip(across.categories, ranks, scores, strict=True)
            if not math.isnan(score)
        }
        rows.append({"item": item, "categories": there})
    record = {
        "schema_version": 1,
        "method": found.method,
        "intervals": found.facts["intervals"],
        "categories": [
            {"name": name, "votes": votes}
            for name, votes in zip(across.categories, across.judged.tolist(), strict=True)
        ],
        "items": rows,
        "notes": list(found.notes),
    }
    return f"{json.dumps(record, indent=1, allow_nan=False)}\n".encode("ascii")


def _others(across: RankingsAcross, shown: int) -> str:
    left = len(across.categories) - shown
    if not left:
        return ""
    return (
        f"{shown} of {len(across.categories)} categories are shown, those with the most judgments; --format csv has all"
    )
