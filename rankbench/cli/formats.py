"""Rankings as files: CSV, Markdown, JSON and Parquet."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rankbench.cli.markdown_tables import markdown_page, table_lines
from rankbench.text import csv_cell, distinct, grouped_digits, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    import polars as pl

    from rankbench.ranking.aggregate import Aggregation

__all__ = ["Format", "encoded", "said_of", "score_cells"]

Format: TypeAlias = Literal["csv", "parquet", "json", "md"]

SCHEMA_VERSION = 1
"""Of the JSON of a ranking."""


def encoded(found: Aggregation, form: Format, sha256: str | None = None) -> bytes:
    """Return a ranking in a format.

    Names are safe where they are read by more than a parser: in CSV and Markdown they have no
    control characters, and one that a spreadsheet would take for a formula begins with an
    apostrophe; names that would become the same have escapes instead. JSON (ASCII) and Parquet have them as they are.

    Parameters
    ----------
    found : Aggregation
    form : Format
    sha256 : str, optional
        Of the data, for JSON.
    """
    if form == "parquet":
        file = io.BytesIO()
        _honest(found).write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(_record(found, sha256), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        return _safe_names(_honest(found)).write_csv().encode()
    names, rows = score_cells(found)
    foreign = [name == "item" or (place == 0 and "query" in found.table.columns) for place, name in enumerate(names)]
    names[0] = markdown(names[0])
    for place, given in enumerate(foreign):
        if given:
            texts = distinct([row[place] for row in rows], one_line)
            for row in rows:
                row[place] = texts[row[place]]
    kept = [[markdown(cell) if given else cell for cell, given in zip(row, foreign, strict=True)] for row in rows]
    lines = table_lines(names, kept, [place for place, given in enumerate(foreign) if given])
    if found.effects is not None:
        from rankbench.cli.effect_formats import effect_lines

        lines += ["", *effect_lines(found)]
    return markdown_page(lines, (said_of(found), *found.notes))


def said_of(found: Aggregation) -> str:
    """Return in a line which method made a ranking, of how much, and what its scores are in."""
    facts = found.facts
    unit = f"; scores in {facts['unit']}" if facts["unit"] else ""
    how = "places by score: --intervals shows how certain they are"
    if facts["intervals"]:
        how = f"95% intervals ({facts['intervals']}) of each score alone, ranks of all together"
    return f"{found.method}: {grouped_digits(facts['n'])} judgments{unit}; {how}"


def _honest(found: Aggregation) -> pl.DataFrame:
    """Return the table; without intervals its places are called places by score, not ranks that something may hold."""
    if found.facts["intervals"]:
        return found.table
    renamed = [name for name in found.table.columns if "rank_" in name]
    return found.table.rename({name: name.replace("rank_", "place_") for name in renamed})


def _record(found: Aggregation, sha256: str | None) -> dict[str, Any]:
    facts = found.facts
    intervals = None
    if facts["intervals"]:
        intervals = {
            "kind": facts["intervals"], "level": 0.95, "scores": "each alone", "ranks": "all together",
            "resamples": facts["resamples"], "seed": facts["seed"],
        }  # fmt: skip
    shared: dict[str, Any] = {name: facts[name] for name in ("pool", "mix") if name in facts}
    return {
        "schema_version": SCHEMA_VERSION,
        "method": found.method,
        "data": {"sha256": sha256, "n": facts["n"]},
        "seed": facts["seed"],
        "intervals": intervals,
        "units": {"score": facts["unit"] or None, "votes": facts["votes"], "wins": facts["wins"]},
        **shared,
        "notes": list(found.notes),
        "items": _honest(found).to_dicts(),
    } | ({} if found.effects is None else {"effects": found.effects.to_dicts()})


def score_cells(found: Aggregation) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of a ranking for people; the scale only where there are several."""
    table, facts = found.table, found.facts
    known = table["lower"].null_count() < table.height
    several = table["scale"].n_unique() > 1
    query = [facts.get("by") or "query"] if "query" in table.columns else []
    place = "rank" if facts["intervals"] else "place"
    names = [*query, place, "item", "score", *(["95% interval"] if known else []), facts["votes"], facts["wins"]]
    names += ["scale"] if several else []
    before = "unadjusted_score" in table.columns
    names += ["unadjusted score", f"unadjusted {place}"] if before else []
    rows = []
    for row in table.iter_rows(named=True):
        cells = [row["query"]] if query else []
        cells += [place_range_text(row["rank_low"], row["rank_high"]), row["item"], number(row["score"])]
        if known:
            lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
            cells.append("—" if math.isnan(lower) else f"{number(lower)} to {number(upper)}")
        cells += [_count(row["votes"]), _count(row["wins"])]
        if several:
            cells.append(str(row["scale"]))
        if before:
            places = place_range_text(row["unadjusted_rank_low"], row["unadjusted_rank_high"])
            cells += [number(row["unadjusted_score"]), places]
        rows.append(cells)
    return names, rows


def _count(value: float) -> str:
    """Return a sum of weights: whole where it is whole."""
    return grouped_digits(round(value)) if value == round(value) else f"{value:,.1f}"


def _safe_names(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    names = [name for name in ("query", "item") if name in table.columns]
    columns = []
    for name in names:
        texts = distinct(table[name], csv_cell)
        columns.append(pl.Series(name, [texts[text] for text in table[name]]))
    return table.with_columns(columns)
