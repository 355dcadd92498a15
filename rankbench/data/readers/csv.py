"""The CSV reader mends what spreadsheets make of CSV files."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import listed, short_repr
from rankbench.data.readers.text_lines import chunks, numbered_lines
from rankbench.data.readers.unpacked import scannable
from rankbench.data.readings.standard import are_known
from rankbench.data.tables.checks import TableReader
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import MOST_COLUMNS, TOO_WIDE, RawTable

_SEPARATORS = (",", "\t", ";", "|")
_LOOKED_AT = 200
"""Rows that tell whether the first one is a header, and whether numbers have a comma."""


class CsvReader(TableReader):
    """Values with commas, semicolons, tabs or bars between them (``.csv .tsv``), with or without a header line.

    Features of items stand in columns ``x_0, x_1, ...``; lists (items shown, positions
    clicked) are texts with spaces between, rankings and candidates of orders are JSON. Other columns than the schema's
    are ignored. Rows in errors count the header as row 1.  Without a header columns are called 1, 2, ...

    Prefer it for tables that people edit. Parquet is faster, and keeps the types of columns.
    """

    name: ClassVar[str] = "csv"
    source: ClassVar[str] = "RFC 4180"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    header: bool | None = Field(
        default=None,
        description="True: the first line names the columns; null: rankbench decides by its look, and by told columns.",
    )

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons, one of them a tie."""
        return b"query_id,winner,loser,weight,tie\na,x,y,1,false\na,y,z,2.5,true\nb,u,v,1,false\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line names columns of the schema."""
        names = {name.strip(b' "\t\r') for name in re.split(rb"[,\t;|]", head.split(b"\n", 1)[0])}
        return are_known([name.decode("utf-8", "replace") for name in names])

    def raw(self, path: Path) -> RawTable:
        """Return the table, all of it texts; see `Reader.raw`."""
        existing(path)
        blank = has_blank_end(path)  # it is text in UTF-8
        form = _Form.of_file(path)
        if self.header is not None:
            return _table(path, form, blank, lines=int(self.header))
        headed = partial(_table, path, form, blank)
        try:
            distinct_header(form.first, path, form.skipped + 1)
        except InputError as error:
            return replace(headed(lines=0), headed=headed, refusal=error)
        return replace(headed(lines=1), headed=headed, refusal=_like_others(path, form))


def _table(path: Path, form: _Form, blank: bool, lines: int) -> RawTable:
    """Return the table of a file whose last line of some names the columns, with blank lines at its end or without."""
    names, headed = form.first, lines > 0
    if lines > 1:
        if len(form.rows) < lines - 1:
            raise InputError(f"the file has fewer than the {lines} lines of its header", path=path)
        names = form.rows[lines - 2]
        form = replace(form, skipped=form.skipped + lines - 1, first=names)
    if not headed:
        names = [str(number) for number in range(1, len(names) + 1)]
    elif form.line.count('"') % 2:
        check_lines(path, form.separator, form.skipped)
    distinct_header(names, path, form.skipped + 1)
    raw = pl.scan_csv(
        scannable(path),
        separator=form.separator,
        has_header=headed,
        new_columns=None if headed else names,
        # Polars takes the quotes off a name, and leaves those within it doubled.
        with_column_names=(lambda found: [name.replace('""', '"').rstrip("\r") for name in found]) if headed else None,
        skip_lines=form.skipped,
        infer_schema=False,
        glob=False,
    )
    if form.stray:
        raw = raw.with_columns(pl.last().str.strip_chars_end("\r"))
    if blank:
        spaces = pl.nth(0).str.strip_chars(" ").fill_null("") == ""
        others = [pl.nth(at).is_null() for at in range(1, len(names))]
        raw = raw.filter(~pl.all_horizontal(spaces, *others))
    # Everything is read as text and converted by the checks, which know the row.
    return RawTable(
        raw,
        path,
        form.skipped + headed,
        diagnose=lambda: check_lines(path, form.separator, form.skipped),
        notes=form.notes,
    )


@dataclass(frozen=True)
class _Form:
    """Layout of a file.

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
    notes : tuple of str
        Notes on lines that are no rows.
    stray : bool
        Whether lines end with two carriage returns: one of them is no part of a value.
    """

    separator: str
    skipped: int
    line: str
    first: list[str]
    rows: list[list[str]]
    notes: tuple[str, ...]
    stray: bool = False

    @classmethod
    def of_file(cls, path: Path) -> _Form:
        lines = next(chunks(path, 1 << 16)).data.decode("utf-8").split("\n")
        said = re.match(r"""^"?sep=(.)"?\r?$""", lines[0])
        notes = list[str]()
        skipped = 1 if said and len(lines) > 1 else 0
        while lines[skipped].startswith("#") and _is_comment(lines[skipped:]):
            notes.append(f"row {skipped + 1} is a comment, {short_repr(lines[skipped].rstrip())}, and is not read")
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
        names, stray = _names(line, separator, path, skipped + 1), lines[skipped].endswith("\r\r")
        return cls(separator, skipped, line, names, rows, tuple(notes), stray)


def _is_comment(lines: Sequence[str]) -> bool:
    """Return whether the first line has fewer columns, by any separator, than the first without a ``#``."""
    line, after = (
        re.sub(r'"[^"]*"', "", text) for text in (lines[0], next((x for x in lines if not x.startswith("#")), ""))
    )
    counts = [(line.count(separator), after.count(separator)) for separator in _SEPARATORS if separator in after]
    return bool(counts) and all(few < more for few, more in counts)


def _like_others(path: Path, form: _Form) -> Unread | None:
    """Return the question whether the first row names the columns, where it looks like the others; None: it does."""
    names = form.first
    again = [name for at, name in enumerate(names) if name and any(row[at : at + 1] == [name] for row in form.rows)]
    if len(names) < 2 or not again or are_known(names):
        return None
    return Unread(
        f"does the first row name the columns, or is it one as the others? {short_repr(again[0])} stands below as well",
        f"{option('reader', 'csv:header=false')} calls the columns 1, 2, ..; {option('reader', 'csv:header=true')} "
        "takes the first row for names",
        code="header",
        path=path,
    )


def _names(header: str, separator: str, path: Path, row: int) -> list[str]:
    """Return the names in a header, of its first line."""
    if (columns := header.count(separator) + 1) > MOST_COLUMNS:
        raise InputError(TOO_WIDE.format(f"{columns:,}"), path=path, row=row)
    try:
        return next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        what = (
            "the header has a carriage return in it: lines end with one alone, as on an old Mac, or it is a stray one. "
            "Write the file anew with line feeds"
            if "\r" in header
            else f"the header has a name of more than {csv.field_size_limit():,} characters; is this a table?"
        )
        raise InputError(what, path=path, row=row) from error


def distinct_header(names: list[str], path: Path, row: int = 1) -> None:
    """Refuse a header that gives a name twice: Polars would rename the second column."""
    if twice := [name for name, count in Counter(names).items() if count > 1 and name]:
        raise InputError(f"the header names columns twice: {listed(twice)}; remove or rename one", path=path, row=row)


_BLANK = re.compile(rb"(?:\A|\n)(?:[ \r]*\n|[ \r]+\Z)")
"""A line of a chunk, which holds whole lines, with nothing in it but spaces: no separator is one."""


def _has_blank(data: bytes) -> bool:
    """Return whether a chunk has a blank line; most have no two bytes that one begins with, which is seen at once."""
    begins = data[:1] in (b"", b" ", b"\r", b"\n") or any(two in data for two in (b"\n\n", b"\n\r", b"\n "))
    return begins and _BLANK.search(data) is not None


_STRAY = 'a stray quote: a field that holds one is written "like ""this"""'


def check_lines(path: Path, separator: str, skipped: int = 0) -> None:
    """Raise for the first row of a CSV file that is not one of RFC 4180.

    Parameters
    ----------
    path : Path
        Text in UTF-8.
    separator : str
        One character.
    skipped : int
        Lines before the first row.

    Raises
    ------
    InputError
        With its line: a stray quote, a quote that is never closed, or more fields than
        the header has.
    """
    between, quoted = re.escape(separator), r'"[^"]*(?:""[^"]*)*"'
    field = rf'(?:{quoted}|[^"{between}]*)'
    well_formed = re.compile(rf"{field}(?:{between}{field})*")
    lines: list[str] = []
    columns, begin, is_open = 0, 0, False
    for number, line in numbered_lines(path):
        if number <= skipped:
            continue
        begin = begin if lines else number
        lines.append(line.removesuffix("\r"))
        is_open ^= line.count('"') % 2 == 1
        if is_open:
            continue
        row, lines = "\n".join(lines), []
        if well_formed.fullmatch(row) is None:
            raise InputError(_STRAY, path=path, row=begin)
        fields = re.sub(quoted, "", row).count(separator) + 1
        columns = columns or (fields if row else 0)
        if row and fields > columns:
            raise InputError(f"the row has {fields} fields, the header {columns}", path=path, row=number)
    if is_open:
        opened = re.fullmatch(rf'(?:{field}{between})*"[^"]*(?:""[^"]*)*', lines[0])
        raise InputError("a quote is opened here and never closed" if opened else _STRAY, path=path, row=begin)


def has_blank_end(path: Path) -> bool:
    """Return whether a CSV file ends in blank lines.

    Raises
    ------
    InputError
        One stands before other rows: with its line. Within quotes a line may be blank.
    """
    # All of it is read, as all of it must be text.
    if not any([_has_blank(chunk.data) for chunk in chunks(path)]):
        return False
    quoted, blank = False, 0
    for number, line in numbered_lines(path):
        if not quoted and not line.strip(" \r"):
            blank = blank or number
        elif blank:
            raise InputError("the line is blank; remove it", path=path, row=blank)
        quoted ^= line.count('"') % 2 == 1
    return blank > 0
