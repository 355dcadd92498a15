"""Rankings as files: CSV, Markdown, JSON and Parquet."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

from rankbench.text import csv_cell, distinct, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    import polars as pl

    from rankbench.ranking.aggregate import Aggregation

__all__ = ["Format", "encoded", "score_cells"]

Format: TypeAlias = Literal["csv", "parquet", "json", "md"]


def encoded(found: Aggregation, form: Format) -> bytes:
    """Return a ranking in a format.

    Names are safe where they are read by more than a parser: in CSV and Markdown they have no
    control characters, and one that a spreadsheet would take for a formula begins with an
    apostrophe; names that would become the same have escapes instead. JSON (ASCII) and Parquet have them as they are.

    Parameters
    ----------
    found : Aggregation
    form : Format
    """
    if form == "parquet":
        file = io.BytesIO()
        found.table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        text = json.dumps(
            {"method": found.method, "notes": list(found.notes), "items": found.table.to_dicts()},
            indent=1,
            allow_nan=False,
        )
        return f"{text}\n".encode("ascii")
    if form == "csv":
        return _safe_names(found.table).write_csv().encode()
    names, rows = score_cells(found.table)
    for place, name in enumerate(names):
        if name in ("item", "query"):
            texts = distinct([row[place] for row in rows], one_line)
            for row in rows:
                row[place] = texts[row[place]]
    foreign = [name in ("item", "query") for name in names]
    kept = [[markdown(cell) if given else cell for cell, given in zip(row, foreign, strict=True)] for row in rows]
    rule = [":--" if given else "--:" for given in foreign]
    lines = ["| " + " | ".join(row) + " |" for row in (names, rule, *kept)]
    notes = [f"\n{markdown(note)}" for note in found.notes]
    return ("\n".join([*lines, *notes]) + "\n").encode()


def score_cells(table: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of a ranking for people; the scale only where there are several."""
    known = table["lower"].null_count() < table.height
    several = table["scale"].n_unique() > 1
    query = ["query"] if "query" in table.columns else []
    names = [*query, "rank", "item", "score", *(["95% interval"] if known else []), *(["scale"] if several else [])]
    rows = []
    for row in table.iter_rows(named=True):
        cells = [row["query"]] if query else []
        cells += [place_range_text(row["rank_low"], row["rank_high"]), row["item"], number(row["score"])]
        if known:
            lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
            cells.append("—" if math.isnan(lower) else f"{number(lower)} to {number(upper)}")
        if several:
            cells.append(str(row["scale"]))
        rows.append(cells)
    return names, rows


def _safe_names(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    names = [name for name in ("query", "item") if name in table.columns]
    columns = []
    for name in names:
        texts = distinct(table[name], csv_cell)
        columns.append(pl.Series(name, [texts[text] for text in table[name]]))
    return table.with_columns(columns)
