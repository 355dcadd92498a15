"""Tables as comma-separated values, and what spreadsheets and other countries make of them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.errors import InputError
from rankbench.kinds.reader import Reader, existing
from rankbench.text import listed, short_repr

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CsvReader", "distinct_header"]

_SEPARATORS = (",", "\t", ";", "|")
_LOOKED_AT = 200
"""Rows that tell whether the first one is a header, and whether numbers have a comma."""

_COMMA = r"^\s*[+-]?\d+,\d+\s*$"
_WHOLE = r"^\s*[+-]?\d*(,\d+)?\s*$"


class CsvReader(Reader):
    """Values with commas, semicolons, tabs or bars between them (``.csv .tsv``), with or without a header line.

    Features of items stand in columns ``x_0, x_1, ...``; lists (items shown, positions
    clicked) are texts with spaces between, rankings and candidates of orders are JSON. Other columns than the schema's
    are ignored. Rows in errors count the header as row 1. Where values have semicolons between them, numbers may have a
    decimal comma. Without a header columns are called 1, 2, ...
    """

    name: ClassVar[str] = "csv"
    source: ClassVar[str] = "RFC 4180"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")
    header: bool | None = Field(
        default=None,
        description="Whether the first line names the columns; null: as it looks, or `columns` are numbers.",
    )

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons, one of them a tie."""
        return b"query_id,winner,loser,weight,tie\na,x,y,1,false\na,y,z,2.5,true\nb,u,v,1,false\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line names columns of the schema."""
        names = {name.strip(b' "\t\r') for name in re.split(rb"[,\t;|]", head.split(b"\n", 1)[0])}
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
        from rankbench.data.readers.text_lines import marked
        from rankbench.data.tables.checks import checked

        existing(path)
        blank = blank_end(path)  # which reads all of the file: it is text in UTF-8
        form = _Form.of_file(path)
        names = form.first
        headed = self.header if self.header is not None else _headed(form, self.columns)
        if not headed:
            names = [str(number) for number in range(1, len(names) + 1)]
        elif form.line.count('"') % 2:
            check_lines(path, form.separator, form.skipped)
        distinct_header(names, path, form.skipped + 1)
        held = marked(path, utf8=False)  # Polars skips that mark itself
        raw = pl.scan_csv(
            path if held is None else held,
            separator=form.separator,
            has_header=headed,
            new_columns=None if headed else names,
            skip_lines=form.skipped,
            infer_schema=False,
            glob=False,
        )
        if blank:
            spaces = pl.nth(0).str.strip_chars(" ").fill_null("") == ""
            others = [pl.nth(at).is_null() for at in range(1, len(names))]
            raw = raw.filter(~pl.all_horizontal(spaces, *others))
        # Everything is read as text and converted by the checks, which know the row.
        return checked(
            _with_points(raw, form),
            path=path,
            header=form.skipped + headed,
            columns=self.columns,
            diagnose=lambda: check_lines(path, form.separator, form.skipped),
        )


@dataclass(frozen=True)
class _Form:
    """How a file is written.

    Attributes
    ----------
    separator : str
    skipped : int
        Lines before the first: Excel's ``sep=;``, and comments.
    line : str
        The first line.
    first : list of str
        The values of the first row.
    rows : list of list of str
        Some rows after it.
    """

    separator: str
    skipped: int
    line: str
    first: list[str]
    rows: list[list[str]]

    @classmethod
    def of_file(cls, path: Path) -> _Form:
        from rankbench.data.readers.text_lines import chunks
        from rankbench.data.tables.remarks import remark

        lines = next(chunks(path, 1 << 16)).data.decode("utf-8").split("\n")
        said = re.match(r"""^"?sep=(.)"?\r?$""", lines[0])
        skipped = 1 if said and len(lines) > 1 else 0
        while lines[skipped].startswith("#") and _is_comment(lines[skipped:]):
            remark(f"row {skipped + 1} is a comment, {short_repr(lines[skipped].rstrip())}, and is not read")
            skipped += 1
        line = lines[skipped].rstrip("\r")
        unquoted = re.sub(r'"[^"]*"', "", line)
        counts = [unquoted.count(separator) for separator in _SEPARATORS]
        separator = said[1] if said and len(lines) > 1 else _SEPARATORS[counts.index(max(counts))]
        # A tab in a line with commas is a part of a value.
        separator = "," if separator == "\t" and "," in unquoted else separator
        # The last line may have been cut.
        rest = [text.rstrip("\r") for text in lines[skipped + 1 : -1]]
        try:
            rows = list(islice(csv.reader(rest, delimiter=separator), _LOOKED_AT))
        except csv.Error:
            rows = []
        return cls(separator, skipped, line, _names(line, separator, path, skipped + 1), rows)


def _is_comment(lines: Sequence[str]) -> bool:
    """Return whether the first line has fewer columns, by any separator, than the first without a ``#``."""
    line, after = (
        re.sub(r'"[^"]*"', "", text) for text in (lines[0], next((x for x in lines if not x.startswith("#")), ""))
    )
    counts = [(line.count(separator), after.count(separator)) for separator in _SEPARATORS if separator in after]
    return bool(counts) and all(few < more for few, more in counts)


def _known(names: Sequence[str]) -> bool:
    """Return whether some columns are of a kind of table, under its own names or usual ones."""
    from rankbench.data.tables.recognize import recognized, table_kinds

    return recognized(names) is not None or any(kind.known(names) for kind in table_kinds())


def _headed(form: _Form, columns: str) -> bool:
    """Return whether the first row names the columns: it does unless it is a row like others, or said to be one."""
    from rankbench.kinds.column_readings import said_columns

    names = form.first
    if columns:
        said = [name for _, name in said_columns(columns) if name]
        if any(name in names for name in said) or not said:
            return True
        return not all(re.fullmatch(r"[1-9]\d?", name) and int(name) <= len(names) for name in said)
    if len(names) < 2 or names == [str(number) for number in range(len(names))]:
        return True
    try:
        if _known(names):
            return True
    except InputError:
        return True
    again = any(name and any(row[at : at + 1] == [name] for row in form.rows) for at, name in enumerate(names))
    return not again


def _with_points(raw: pl.LazyFrame, form: _Form) -> pl.LazyFrame:
    """Return a table whose numbers have a decimal point: columns that hold nothing but numbers in the first rows."""
    if form.separator != ";":
        return raw
    import polars as pl

    names = raw.collect_schema().names()
    numeric = []
    for at, name in enumerate(names):
        cells = [row[at] for row in form.rows if at < len(row) and row[at].strip()]
        if cells and all(re.match(_WHOLE, cell) for cell in cells):
            numeric.append(name)
    comma = pl.col(numeric).str.contains(_COMMA)
    point = pl.col(numeric).str.replace(",", ".", literal=True)
    return raw.with_columns(pl.when(comma).then(point).otherwise(pl.col(numeric))) if numeric else raw


def _names(header: str, separator: str, path: Path, row: int) -> list[str]:
    """Return the names that a header gives, of its first line."""
    try:
        return next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        what = (
            "the header has a carriage return in it: lines end with one alone, as on an old Mac, or it is a stray one; "
            "write the file anew with line feeds"
            if "\r" in header
            else f"the header has a name of more than {csv.field_size_limit():,} characters; is this a table?"
        )
        raise InputError(what, path=path, row=row) from error


def distinct_header(names: list[str], path: Path, row: int = 1) -> None:
    """Refuse a header that gives a name twice: Polars would rename the second column."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise InputError(f"the header names columns twice: {listed(twice)}; remove or rename one", path=path, row=row)
