"""Tables as Excel workbooks: the first sheet, or the one that is named."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.errors import InputError
from rankbench.kinds.reader import Reader, existing
from rankbench.resources import free_memory

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ExcelReader"]

_CELL = 24
"""Bytes that fastexcel takes for each cell of the rectangle that a sheet's cells lie in, at least."""


class ExcelReader(Reader):
    """A sheet of an Excel workbook, with a header; needs ``rankbench[xlsx]``.

    Cells of formulas are what Excel computed last; one that was never computed is empty, and so are merged cells but
    for the first. A workbook is held in memory, as its format is compressed as a whole. Rows in errors are those of
    the sheet.
    """

    name: ClassVar[str] = "excel"
    source: ClassVar[str] = "ECMA-376"
    extensions: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm")

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")
    sheet: str = Field(default="", description="Name of the sheet; empty: the first.")

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        from rankbench.data.readers.csv import distinct_header
        from rankbench.data.tables.checks import checked
        from rankbench.data.tables.remarks import remark
        from rankbench.text import listed

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
            sheet = book.load_sheet(self.sheet or 0, header_row=None, dtypes="string")
            cells = sheet.to_polars()
        except fastexcel.FastExcelError as error:
            raise InputError(f"it cannot be read: {str(error).splitlines()[0][:200]}", path=path) from error
        if not cells.height:
            raise InputError("the sheet has no rows", path=path)
        if not self.sheet and len(book.sheet_names) > 1:
            others = listed(book.sheet_names[1:])
            remark(
                f"the sheet {book.sheet_names[0]!r} is read, the first one; others: {others} "
                "(--reader 'excel:sheet=NAME')"
            )
        names = [name or "" for name in cells.row(0)]
        distinct_header(names, path)
        kept = [at for at, name in enumerate(names) if name]
        rows = cells.slice(1).select(cells.to_series(at).slice(1).alias(names[at]) for at in kept)
        return checked(rows.lazy(), path=path, header=1, columns=self.columns)


def _check_extent(path: Path, sheet: str) -> None:
    """Refuse a sheet whose rectangle does not fit into memory: fastexcel asks for all of it, for one stray cell too."""
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        with zipfile.ZipFile(path) as book:
            sheets = fromstring(book.read("xl/workbook.xml")).iterfind("{*}sheets/{*}sheet")
            number = next(
                key for one in sheets if one.get("name") == sheet for name, key in one.items() if name[-3:] == "}id"
            )
            files = fromstring(book.read("xl/_rels/workbook.xml.rels"))
            target = next(one.get("Target", "") for one in files if one.get("Id") == number)
            with book.open(posixpath.join("xl", target).lstrip("/")) as file:
                found = re.search(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]{1,3})(\d{1,7})"', file.read(1 << 16))
    except (zipfile.BadZipFile, StopIteration, KeyError, ParseError, OSError, zlib.error):
        return  # the reader of its values says what is wrong
    if found is None:
        return
    rows, columns = int(found[2]), sum((letter - 64) * 26**place for place, letter in enumerate(reversed(found[1])))
    needed, free = rows * columns * _CELL, free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"its cells reach to row {rows:,} and column {columns:,}: such a table takes {needed / 1e9:,.1f} GB of "
            f"memory or more, and {free / 1e9:,.1f} GB are free; delete what stands far away from the table",
            path=path,
        )
