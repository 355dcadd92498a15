"""What a sheet of an Excel workbook has that its values do not tell: formulas never computed, and merged cells."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from rankbench.errors import InputError
from rankbench.resources import free_memory

__all__ = ["SheetDefect", "check_extent", "sheet_defect"]

_ODD = re.compile(rb"<(?:\w+:)?(?:f|mergeCell)[\s/>]")
_PLACED = re.compile(rb"<(?:\w+:)?(?:(row)[\s/>]|c\s[^<>]{0,99}?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'])")
_BLOCK, _OVERLAP = 1 << 20, 128

_ROWS = 1_048_576
"""Most rows of a sheet in Excel."""

_CELL = 24
"""Bytes that a reader takes for each cell of the rectangle that a sheet's cells lie in, at least."""


@dataclass(frozen=True)
class SheetDefect:
    """A cell whose value is not in the file.

    Attributes
    ----------
    message : str
    row : int
        From 1.
    column : str
        Its letters.
    """

    message: str
    row: int
    column: str


def sheet_defect(path: Path, sheet: str) -> SheetDefect | None:
    """Return the first merged cell, or the first formula without a value, of a sheet; None: there is none.

    Parameters
    ----------
    path : path
        A workbook that could be read.
    sheet : str
        Its name.
    """
    try:
        with zipfile.ZipFile(path) as book:
            member = _member(book, sheet)
            if member is None or not _odd(book, member):
                return None
            with book.open(member) as file:
                return min(_defects(iterparse(file, ("start", "end"))), key=lambda found: found.row, default=None)
    except (zipfile.BadZipFile, KeyError, ParseError, OSError):
        return None  # the reader of its values has read it


def check_extent(path: Path, sheet: str) -> None:
    """Refuse a sheet whose rectangle, from its first cell to its last, does not fit: one stray cell makes it huge.

    Parameters
    ----------
    path : path
        A workbook whose sheets could be listed.
    sheet : str
        Its name.

    Raises
    ------
    InputError
        With the last row and column, and with both numbers where it is memory that is lacking.
    """
    try:
        with zipfile.ZipFile(path) as book:
            member = _member(book, sheet)
            if member is None:
                return
            rows, columns = _extent(book, member, path)
    except (zipfile.BadZipFile, KeyError, ParseError, OSError, zlib.error):
        return  # the reader of its values says what is wrong
    needed, free = rows * columns * _CELL, free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"its cells reach to row {rows:,} and column {columns:,}: such a table takes {needed / 1e9:,.1f} GB of "
            f"memory or more, and {free / 1e9:,.1f} GB are free; delete what stands far away from the table",
            path=path,
        )


def _extent(book: zipfile.ZipFile, member: str, path: Path) -> tuple[int, int]:
    """Return the last row and the last column of a sheet."""
    rows, counted, letters, rest = 0, 0, b"A", b""
    with book.open(member) as file:
        while block := file.read(_BLOCK):
            for found in _PLACED.finditer(rest + block):
                if found.end() <= len(rest):
                    continue  # it was in the block before
                if found[1]:
                    counted += 1
                else:
                    rows = max(rows, int(found[3]))
                    letters = max(letters, found[2], key=lambda word: (len(word), word))
            if max(rows, counted) > _ROWS:
                raise InputError(f"the sheet has more than {_ROWS:,} rows, which no sheet of Excel has", path=path)
            rest = block[-_OVERLAP:]
    columns = 0
    for letter in letters:
        columns = 26 * columns + letter - 64
    return max(rows, counted), columns


def _defects(events: Iterator[tuple[str, Element]]) -> Iterator[SheetDefect]:
    """Yield the first formula without a value, and the first merged cells."""
    row, computed = 0, True
    found: set[str] = set()
    for event, element in events:
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            row += tag == "row"
            continue
        if tag == "f":
            computed = False
        elif tag in ("v", "is"):
            computed = computed or bool(element.text) or tag == "is"
        elif tag == "c":
            at = element.get("r") or f"A{row}"
            if not computed and "f" not in found:
                found.add("f")
                yield SheetDefect(
                    f"cell {at} holds a formula that was never computed: open the workbook in Excel or LibreOffice and "
                    "save it, or save the sheet as CSV UTF-8",
                    *_place(at, row),
                )
            computed = True
        elif tag == "mergeCell" and ":" in element.get("ref", "") and "merge" not in found:
            found.add("merge")
            ref = element.get("ref", "")
            yield SheetDefect(
                f"cells {ref} are merged, so that all but the first are empty: unmerge them, and write the value into "
                "each",
                *_place(ref.partition(":")[0], row),
            )
        if tag in ("c", "row"):
            element.clear()


def _place(cell: str, row: int) -> tuple[int, str]:
    letters = cell.rstrip("0123456789")
    return int(cell[len(letters) :] or row), letters


def _odd(book: zipfile.ZipFile, member: str) -> bool:
    """Return whether a sheet has formulas or merged cells at all: most have none, and need not be parsed."""
    rest = b""
    with book.open(member) as file:
        while block := file.read(_BLOCK):
            if _ODD.search(rest + block):
                return True
            rest = block[-_OVERLAP:]
    return False


def _member(book: zipfile.ZipFile, sheet: str) -> str | None:
    """Return the name of the file, within the workbook, that holds a sheet."""
    wanted = ""
    for element in _elements(book, "xl/workbook.xml", "sheet"):
        if element.get("name") == sheet:
            wanted = next((value for name, value in element.items() if name.endswith("}id")), "")
    for element in _elements(book, "xl/_rels/workbook.xml.rels", "Relationship"):
        if wanted and element.get("Id") == wanted:
            target = element.get("Target", "")
            return target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
    return None


def _elements(book: zipfile.ZipFile, member: str, tag: str) -> Iterator[Element]:
    with book.open(member) as file:
        for _, element in iterparse(file):
            if element.tag.rpartition("}")[2] == tag:
                yield element
