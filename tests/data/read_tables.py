"""Small files in memory, read as a reading says."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankbench.data.tables.checks import table_kind
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable, ReadTable


def told(columns: str, words: str = "", **more: object) -> Reading:
    """Return what options say; `more` are other attributes."""
    return Reading.told(columns, words).model_copy(update=more)


def csv_table(*lines: str) -> RawTable:
    """Return a CSV file's cells, all of them texts; rows are numbered as in the file."""
    header, *rows = (line.split(",") for line in lines)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    return RawTable(frame.lazy(), Path("own.csv"), header=1)


def checked_rows(read: ReadTable, kind: str) -> pl.DataFrame:
    """Return a read table after the check of its kind, whose batches are small."""
    check = table_kind(kind).check(read.table)()
    frame = read.table.frame.collect()
    parts = [check.feed(frame.slice(at, 3)) for at in range(0, frame.height, 3)]
    check.end()
    return pl.concat(parts)
