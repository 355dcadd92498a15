"""Rankings of score tables: one table with the methods side by side, and files."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from rankbench.cli.formats import Format
from rankbench.cli.markdown_tables import markdown_page, table_lines
from rankbench.text import csv_cell, distinct, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    from rankbench.ranking.score_ranking import ScoreRanking

__all__ = ["encoded_scores", "side_by_side_cells"]


def encoded_scores(found: ScoreRanking, form: Format) -> bytes:
    """Return a ranking of systems in a format; names are as safe as those of `rankbench.cli.formats.encoded`.

    Parameters
    ----------
    found : ScoreRanking
    form : Format
        CSV and Parquet have a row for each method and system.
    """
    if form == "parquet":
        file = io.BytesIO()
        found.table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(found.as_dict(), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        import polars as pl

        texts = distinct(found.table["system"].unique(maintain_order=True), csv_cell)
        safe = pl.Series("system", [texts[name] for name in found.table["system"]])
        return found.table.with_columns(safe).write_csv().encode()
    names, rows = side_by_side_cells(found)
    at = names.index("system")
    texts = distinct([row[at] for row in rows], one_line)
    rows = [[markdown(texts[cell]) if place == at else cell for place, cell in enumerate(row)] for row in rows]
    return markdown_page(table_lines(names, rows, (at,)), found.notes)


def side_by_side_cells(found: ScoreRanking) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells for people: all of the first method, scores and ranks of the others."""
    methods = found.table.partition_by("method", maintain_order=True)
    first, others = methods[0], methods[1:]
    k = found.facts["top_k"]
    names = ["rank", "tier", "system", first["method"][0], "95% interval", "P(first)", f"P(top {k})"]
    names += [name for other in others for name in (other["method"][0], "rank")]
    by_name = [{row["system"]: row for row in other.iter_rows(named=True)} for other in others]
    rows = []
    for row in first.iter_rows(named=True):
        cells = [_rank(row), str(row["tier"]), row["system"], number(row["score"])]
        interval = "" if row["lower"] is None else f"{number(row['lower'])} to {number(row['upper'])}"
        cells += [interval, number(row["p_first"], 3)]
        cells.append(number(row["p_top_k"], 3))
        for other in by_name:
            cells += [number(other[row["system"]]["score"]), _rank(other[row["system"]])]
        rows.append(cells)
    return names, rows


def _rank(row: dict[str, int]) -> str:
    return place_range_text(row["rank_low"], row["rank_high"])
