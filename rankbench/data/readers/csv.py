"""Tables as comma-separated values."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.errors import InputError
from rankbench.kinds.reader import Reader, existing
from rankbench.text import listed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CsvReader"]


class CsvReader(Reader):
    """Comma-separated (``.csv``) or tab-separated (``.tsv``) values with a header line.

    Features of items stand in columns ``x_0, x_1, ...``; lists (items shown, positions
    clicked) are texts with spaces between, rankings and candidates of orders are JSON. Other columns than the schema's
    are ignored. Rows in errors count the header as row 1.
    """

    name: ClassVar[str] = "csv"
    source: ClassVar[str] = "RFC 4180"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons, one of them a tie."""
        return b"query_id,winner,loser,weight,tie\na,x,y,1,false\na,y,z,2.5,true\nb,u,v,1,false\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line names columns of the schema."""
        names = {name.strip(b' "\t\r') for name in head.split(b"\n", 1)[0].replace(b"\t", b",").split(b",")}
        from rankbench.data.tables.recognize import clear, table_kinds

        columns = [name.decode("utf-8", "replace") for name in names]
        try:
            return clear(columns) or any(kind.known(columns) for kind in table_kinds())
        except InputError:
            return True  # of one of them, and `scan` says what is wrong

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        import polars as pl

        from rankbench.data.readers.csv_lines import blank_end, check_lines
        from rankbench.data.readers.text_lines import chunks
        from rankbench.data.tables.checks import checked

        existing(path)
        blank = blank_end(path)  # which reads all of the file: it is text in UTF-8
        first = next(chunks(path, 1 << 16)).data.split(b"\n", 1)[0]
        separator = "\t" if b"\t" in first and b"," not in first else ","
        header = first.decode("utf-8").rstrip("\r")
        if header.count('"') % 2:
            check_lines(path, separator)
        _distinct(_names(header, separator, path), path)
        raw = pl.scan_csv(path, separator=separator, infer_schema=False, glob=False)
        if blank:
            raw = raw.filter(~pl.all_horizontal(pl.all().is_null()))
        # Everything is read as text and converted by the checks, which know the row.
        return checked(
            raw,
            path=path,
            header=1,
            columns=self.columns,
            diagnose=lambda: check_lines(path, separator),
        )


def _names(header: str, separator: str, path: Path) -> list[str]:
    """Return the names that a header gives, of its first line."""
    try:
        return next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        raise InputError(
            "the header has a carriage return in it: lines end with one alone, as on an old Mac, or it is a stray one; "
            "write the file anew with line feeds",
            path=path,
            row=1,
        ) from error


def _distinct(names: list[str], path: Path) -> None:
    """Refuse a header that gives a name twice: Polars would rename the second column."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise InputError(f"the header names columns twice: {listed(twice)}; remove or rename one", path=path, row=1)
