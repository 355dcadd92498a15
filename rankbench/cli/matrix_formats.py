"""Shares of wins by pair of items: a table, and files."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING

from rankbench.cli.formats import SCHEMA_VERSION
from rankbench.cli.markdown_tables import markdown_page, table_lines
from rankbench.text import csv_cell, distinct, markdown, one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankbench.cli.formats import Format

__all__ = ["encoded_matrix", "matrix_cells"]


def matrix_cells(items: list[str], shares: NDArray[np.float64]) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells for people; a dash where two items were never compared."""
    cells = [["—" if math.isnan(share) else f"{share:.2f}" for share in row] for row in shares.tolist()]
    names = distinct(items, one_line)
    return ["", *(names[item] for item in items)], [[names[item], *row] for item, row in zip(items, cells, strict=True)]


def encoded_matrix(items: list[str], shares: NDArray[np.float64], form: Format) -> bytes:
    """Return the shares in a format: a row for each item; in JSON each row by the names of the other items."""
    import polars as pl

    values = [[None if math.isnan(share) else share for share in row] for row in shares.tolist()]
    if form == "json":
        found = {item: dict(zip(items, row, strict=True)) for item, row in zip(items, values, strict=True)}
        shown = {"schema_version": SCHEMA_VERSION, "share_of_wins": found}
        return f"{json.dumps(shown, indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "md":
        columns, rows = matrix_cells(items, shares)
        named = [[markdown(row[0]), *row[1:]] for row in rows]
        return markdown_page(table_lines([markdown(cell) for cell in columns], named, (0,)), ())
    names = distinct(items, csv_cell) if form == "csv" else {item: item for item in items}
    first = "item"
    while first in names.values():
        first += "_"
    table = {first: [names[item] for item in items]}
    frame = pl.DataFrame(table).with_columns(
        pl.Series(names[item], [row[j] for row in values], pl.Float64) for j, item in enumerate(items)
    )
    if form == "csv":
        return frame.write_csv().encode()
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
