"""Row groups of Parquet files are told from their footers: Polars holds a row group as a whole.

References
----------
.. [PQ] Apache Parquet. File format, and Thrift's compact protocol. parquet.apache.org.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl

from rankbench.core.system import GB, free_memory
from rankbench.errors import InputError

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
    try:
        with path.open("rb") as file:
            file.seek(-8, 2)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - length, 2)
            groups = _value(io.BytesIO(file.read(length)), _STRUCT)[_ROW_GROUPS]
        return [int(group[_ROWS]) for group in groups]
    except (OSError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        return []


_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


def _value(data: io.BytesIO, kind: int) -> Any:
    """Return the next value of a kind in Thrift's compact protocol, as far as Parquet's metadata use it.

    A struct is a dict by field number.
    """
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE
    if kind == _BYTE:
        return data.read(1)[0]
    if kind == _DOUBLE:
        return [_value(data, _BYTE) for _ in range(8)]
    if kind == _BINARY:
        return data.read(_varint(data))
    if kind in (_LIST, _SET):
        head = data.read(1)[0]
        size = _varint(data) if head >> 4 == 15 else head >> 4
        # Truth values of a list have a byte each.
        return [_value(data, _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15) for _ in range(size)]
    if kind == _STRUCT:
        found, field = dict[int, Any](), 0
        while head := data.read(1)[0]:
            field = field + (head >> 4) if head >> 4 else _value(data, 0)
            found[field] = _value(data, head & 15)
        return found
    number = _varint(data)
    return number >> 1 ^ -(number & 1)


def _varint(data: io.BytesIO) -> int:
    number = shift = 0
    while (byte := data.read(1)[0]) & 128:
        number |= (byte & 127) << shift
        shift += 7
    return number | byte << shift
