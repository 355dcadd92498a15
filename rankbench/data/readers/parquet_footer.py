"""Row groups of Parquet files are told from their footers: Polars holds a row group as a whole.

References
----------
.. [PQ] Apache Parquet. File format, and Thrift's compact protocol. parquet.apache.org.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from rankbench.core.system import GB, free_memory
from rankbench.errors import InputError

_MARK = b"PAR1"
_CELL = 16
"""Bytes of a text in Polars, at least."""

_NAMES = 2
"""Columns that are read of any log, at least: who won, and against whom."""

_ROW_GROUPS, _ROWS = 4, 3
"""Fields of the metadata of a file, and of a row group."""


def check_row_groups(path: Path) -> None:
    """Raise if a row group does not fit into memory: a few bytes may encode one name a billion times.

    Raises
    ------
    InputError
        With its number of rows.
    """
    free = free_memory()
    if free is None or pl.scan_parquet(path, glob=False).select(pl.len()).collect().item() * _CELL * _NAMES <= free:
        return
    rows = max(_rows_of_groups(path), default=0)
    if (needed := rows * _CELL * _NAMES) > free:
        raise InputError(
            f"a row group has {rows:,} rows. It takes {needed / GB:,.1f} GB of memory or more, and {free / GB:,.1f} GB "
            "are free; write the file with smaller row groups",
            path=path,
        )


def _rows_of_groups(path: Path) -> list[int]:
    """Return the number of rows of each row group; none if the footer cannot be read, which its reader reports."""
    data = path.read_bytes() if path.stat().st_size < 12 else _footer(path)
    try:
        groups = _Compact(data).value(_STRUCT)[_ROW_GROUPS]
        return [int(group[_ROWS]) for group in groups]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return []


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-8, 2)
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MARK or length + 8 > path.stat().st_size:
            return b""
        file.seek(-8 - length, 2)
        return file.read(length)


_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


class _Compact:
    """Values in Thrift's compact protocol, as far as Parquet's metadata use it; a struct is a dict by field number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._take(1)[0]
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, _SET):
            head = self._take(1)[0]
            size = self._varint() if head >> 4 == 15 else head >> 4
            # Truth values of a list have a byte each.
            return [self.value(_BYTE if head & 15 in (_TRUE, _FALSE) else head & 15) for _ in range(size)]
        if kind == _STRUCT:
            return self._struct()
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while head := self._take(1)[0]:
            field = field + (head >> 4) if head >> 4 else self.value(0)
            found[field] = self.value(head & 15)
        return found

    def _take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise IndexError(self.at)
        self.at += size
        return found

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._take(1)[0]) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift
