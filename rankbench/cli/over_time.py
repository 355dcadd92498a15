"""Scores over time on the terminal, in files and pictures."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankbench.cli.log_digest import log_sha256
from rankbench.cli.markdown_tables import markdown_page, table_lines
from rankbench.cli.shown_rankings import PICTURES, show_encoded, show_notes, show_picture, show_table
from rankbench.text import csv_cell, distinct, grouped_digits, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    from rankbench.cli.shown_rankings import Shown
    from rankbench.ranking.over_time import ScoresOverTime

__all__ = ["encoded_history", "now_cells", "show_over_time"]

SCHEMA_VERSION = 1
"""Of the JSON of scores over time."""

_LEVEL = 0.05


def show_over_time(found: ScoresOverTime, form: Shown, log: str, out: Path | None, top: int | None) -> None:
    """Print what is so now and what changed, or write scores over time into a file, or draw them."""
    show_notes(found.notes)
    if out is not None and out.suffix.lower() in PICTURES and form == "table":
        show_picture(found.plot(top), out)
    elif form == "table":
        show_table(*now_cells(found, top), title=_title(found))
    else:
        show_encoded(encoded_history(found, form, log_sha256(log) if form == "json" else None, top), out)


def _title(found: ScoresOverTime) -> str:
    facts = found.facts
    return f"{found.method}: {grouped_digits(facts['n'])} votes; {facts['now']}, and the change since {facts['then']}"


def now_cells(found: ScoresOverTime, top: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of what is so now, for people."""
    since = found.facts["then"]
    names = [
        "rank",
        "item",
        "score",
        "95% band",
        f"change since {since}",
        "95%, all together",
        "changed",
        "last",
        "votes",
    ]
    rows = []
    for row in found.now.head(top or found.now.height).iter_rows(named=True):
        place = "—" if row["rank_low"] is None else place_range_text(row["rank_low"], row["rank_high"])
        cells = [place, row["item"], number(row["score"])]
        cells.append(f"{number(row['lower'])} to {number(row['upper'])}")
        if row["change"] is None:
            cells += ["—", "—", "not known"]
        else:
            sure = row["p"] <= _LEVEL
            cells += [f"{row['change']:+.4g}", f"{number(row['change_lower'])} to {number(row['change_upper'])}"]
            cells.append(("better" if row["change"] > 0 else "worse") if sure else "not shown")
        rows.append([*cells, row["last"], f"{row['votes']:,.6g}"])
    return names, rows


def encoded_history(found: ScoresOverTime, form: str, sha256: str | None = None, top: int | None = None) -> bytes:
    """Return scores over time in a format: CSV and Parquet have a row for each time and item, JSON also those of now.

    Parameters
    ----------
    found : ScoresOverTime
    form : {"csv", "parquet", "json", "md"}
        Names are as safe as those of `rankbench.cli.formats.encoded`.
    sha256 : str, optional
        Of the data, for JSON.
    top : int, optional
        Only the items that are first now.
    """
    import polars as pl

    now = found.now.head(top or found.now.height)
    table = found.table.join(now.select("item"), on="item", how="semi", maintain_order="left")
    if form == "parquet":
        file = io.BytesIO()
        table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(_record(found, now, table, sha256), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        texts = distinct(table["item"].unique(maintain_order=True), csv_cell)
        return table.with_columns(pl.Series("item", [texts[name] for name in table["item"]])).write_csv().encode()
    names, rows = now_cells(found, top)
    at = names.index("item")
    texts = distinct([row[at] for row in rows], one_line)
    rows = [[markdown(texts[cell]) if place == at else cell for place, cell in enumerate(row)] for row in rows]
    return markdown_page(table_lines(names, rows, (at,)), (_title(found), *found.notes))


def _record(found: ScoresOverTime, now: Any, table: Any, sha256: str | None) -> dict[str, Any]:
    facts = found.facts
    return {
        "schema_version": SCHEMA_VERSION,
        "method": found.method,
        "data": {"sha256": sha256, "n": facts["n"]},
        "seed": facts["seed"],
        "time": {name: facts[name] for name in ("time_unit", "times", "then", "now")},
        "grid": facts["grid"],
        "units": {"score": facts["unit"] or None},
        "notes": list(found.notes),
        "items": now.to_dicts(),
        "over_time": table.to_dicts(),
    }
