"""The Excel reader reads a sheet of a workbook."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from xml.etree.ElementTree import ParseError, fromstring

from pydantic import Field

from rankbench.core.system import free_memory
from rankbench.core.text import listed
from rankbench.data.readers.csv import distinct_header
from rankbench.data.tables.checks import TableReader
from rankbench.errors import InputError, option
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable

_CELL = 24
"""Bytes that fastexcel takes for each cell of the rectangle that a sheet's cells lie in, at least."""


class ExcelReader(TableReader):
    """A sheet of an Excel workbook, with a header; needs ``rankbench[xlsx]``.

    Cells of formulas are what Excel computed last; one that was never computed is empty, and so are merged cells but
    for the first. A workbook is held in memory, as its format is compressed as a whole. Errors name rows of the
    sheet.

    Prefer it to read a workbook as it is; CSV needs no extra.

    Examples
    --------
    ``rankbench aggregate votes.xlsx --reader excel:sheet=May`` reads the votes of the sheet *May*.
    """

    name: ClassVar[str] = "excel"
    source: ClassVar[str] = "ECMA-376"
    extensions: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm")

    sheet: str = Field(default="", description="Name of the sheet; empty: the first.")

    def raw(self, path: Path) -> RawTable:
        """Return the table, all of it texts; see `Reader.raw`."""
        existing(path)
        try:
            import fastexcel
        except ImportError as error:
            raise InputError(
                "Excel files are read by the extra xlsx: pip install 'rankbench[xlsx]', or save the sheet as CSV UTF-8",
                path=path,
            ) from error
        try:
            book = fastexcel.read_excel(path)
            if self.sheet and self.sheet not in book.sheet_names:
                raise InputError(f"there is no sheet {self.sheet!r} among {', '.join(book.sheet_names)}", path=path)
            if book.sheet_names:
                _check_extent(path, self.sheet or book.sheet_names[0])
            # As texts, as in CSV: the checks convert them and know the row.
            cells = book.load_sheet(self.sheet or 0, header_row=None, dtypes="string").to_polars()
        except fastexcel.FastExcelError as error:
            raise InputError(f"it cannot be read: {str(error).splitlines()[0][:200]}", path=path) from error
        if not cells.height:
            raise InputError("the sheet has no rows", path=path)
        notes: tuple[str, ...] = ()
        if not self.sheet and len(book.sheet_names) > 1:
            others = listed(book.sheet_names[1:])
            how = option("reader", "excel:sheet=NAME")
            notes = (f"the sheet {book.sheet_names[0]!r} is read, the first one; others: {others} ({how})",)
        names = [name or "" for name in cells.row(0)]
        distinct_header(names, path)
        kept = [at for at, name in enumerate(names) if name]
        rows = cells.slice(1).select(cells.to_series(at).slice(1).alias(names[at]) for at in kept)
        return RawTable(rows.lazy(), path, 1, notes=notes)


def _check_extent(path: Path, sheet: str) -> None:
    """Refuse a sheet that does not fit into memory: fastexcel asks for the rectangle of its cells, for one stray, too.

    The size that the file states is not trusted: everything is unpacked once, and nothing of it is kept.
    """
    rows, columns = 0, 0
    try:
        with zipfile.ZipFile(path) as book:
            sheets = fromstring(_part(book, "xl/workbook.xml")).iterfind("{*}sheets/{*}sheet")
            number = next(
                key for one in sheets if one.get("name") == sheet for name, key in one.items() if name[-3:] == "}id"
            )
            files = fromstring(_part(book, "xl/_rels/workbook.xml.rels"))
            target = next(one.get("Target", "") for one in files if one.get("Id") == number)
            own, size, before = posixpath.join("xl", target).lstrip("/"), 0, b""
            for name, piece in _pieces(book, own, "xl/sharedStrings.xml"):
                size += len(piece)
                if size > _MOST_UNPACKED:
                    raise InputError(
                        f"its cells take more than {_MOST_UNPACKED >> 30} GB unpacked; save the sheet as CSV UTF-8",
                        path=path,
                    )
                if name == own:
                    letters, numbers = _places_of(before + piece)
                    rows, columns = max(rows, numbers), max(columns, letters)
                    before = piece[-32:]
    except (zipfile.BadZipFile, StopIteration, KeyError, ParseError, OSError, zlib.error):
        return  # the reader of its values names the error
    needed, free = rows * columns * _CELL, free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"its cells reach to row {rows:,} and column {columns:,}. Such a table takes {needed / 1e9:,.1f} GB of "
            f"memory or more, and {free / 1e9:,.1f} GB are free; delete what stands far away from the table",
            path=path,
        )


_MOST_UNPACKED = 1 << 30
"""Bytes of a sheet and its texts: a sheet of a million rows and ten columns has a third of it."""


def _part(book: zipfile.ZipFile, name: str) -> bytes:
    """Return a small part of a workbook; one that is not small is none."""
    with book.open(name) as file:
        if len(data := file.read(1 << 24)) == 1 << 24:
            raise ParseError(name)
    return data


def _pieces(book: zipfile.ZipFile, *names: str) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a workbook that are there, unpacked, in pieces with the name of their part."""
    for name in names:
        if name in book.NameToInfo:
            with book.open(name) as file:
                while piece := file.read(1 << 20):
                    yield name, piece


_PLACE = re.compile(rb'(?:<dimension ref="(?:[A-Z]{1,3}\d{1,7}:)?|<c r=")([A-Z]{1,3})(\d{1,7})"')


def _places_of(xml: bytes) -> tuple[int, int]:
    """Return the last column and the last row of the cells, and of the reach, in a piece of a sheet."""
    places = set(_PLACE.findall(xml))
    columns = [
        sum((letter - 64) * 26**at for at, letter in enumerate(reversed(name))) for name in {n for n, _ in places}
    ]
    return max(columns, default=0), max((int(row) for _, row in places), default=0)
