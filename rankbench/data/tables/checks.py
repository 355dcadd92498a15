"""Tables brought into the schema and checked on the way, one batch after the other.

Rows are checked where they pass by, so a table of any length needs no second look and no
memory beyond the names of its queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from rankbench.data.readers.frame_source import io_source
from rankbench.data.tables.recognize import clear, recognized, table_kinds, table_of
from rankbench.data.tables.remarks import remark, remark_columns
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.kinds.column_readings import columns_text, proposed, said_columns
from rankbench.kinds.table import TableKind
from rankbench.kinds.table_check import RawTable

__all__ = ["checked", "judgments_of"]

_MOST = 4
"""Readings that an error proposes."""

_BESIDE = {"query", "judge", "time", "weight", "drop", "by", "mirrored", "self", "control"}
"""Roles that leave open which columns say who won."""


def checked(
    raw: pl.LazyFrame,
    *,
    path: Path | None = None,
    header: int = 0,
    allow_single: bool = False,
    diagnose: Callable[[], None] | None = None,
    columns: str = "",
    locate: Callable[[int], tuple[Path | str | None, int | None]] | None = None,
) -> pl.LazyFrame:
    """Return `raw` in the schema of its kind of table; what is wrong with it is raised when it is collected.

    Parameters
    ----------
    raw : LazyFrame
        Columns of one of the kinds of tables, in any types that convert without loss.
    path : Path, optional
        Named in errors.
    header : int
        Lines before the first row, added to the row numbers of errors.
    allow_single : bool
        Whether a query may have one item.
    diagnose : callable, optional
        Called when Polars cannot read the file; raises an error that knows the place.
    columns : str
        What columns of votes mean, where they have not the usual names: see
        `rankbench.data.tables.comparisons.column_meanings.parse_columns`.
    locate : callable, optional
        See `rankbench.kinds.table_check.RawTable`.

    Raises
    ------
    InputError
        A missing column, one of a wrong type, or a winner's column that is ambiguous, at once; anything else
        about rows, later.
    """
    table = _renamed(RawTable(raw, path, header, allow_single, diagnose, locate=locate), columns)
    kind = table_of(table.schema(), path)
    start = kind.check(table)
    if not table.roles:  # else `renamed` has done so
        names = [name for name, dtype in start().schema.items() if dtype == pl.String and name in table.schema()]
        if kind.features:  # such files are long, and their texts are not read twice
            names = [name for name in names if table.schema()[name].is_float()]
        items = [name for name in names if name in ("winner", "loser")]
        with table.located():
            frame = with_whole_names(table.frame, items, *([name] for name in names if name not in items))
        table = replace(table, frame=frame)
    if not kind.features:
        _say_columns(raw.collect_schema().names(), table, kind)

    def batches() -> Iterator[pl.DataFrame]:
        check = start()
        for frame in table.batches():
            yield check.feed(frame)
        check.end()

    return register_io_source(io_source(batches), schema=start().schema)


def _say_columns(names: Sequence[str], table: RawTable, kind: TableKind) -> None:
    """Tell whoever keeps remarks which columns are read: under names of the file, or of the kind."""
    schema = table.schema()
    columns = dict(table.roles) or {name: name for name in (*kind.columns, *kind.optional) if name in schema}
    several = any(isinstance(dtype, pl.Struct) for dtype in schema.values())
    remark_columns(columns, [] if several else [name for name in names if name not in columns.values()])


def judgments_of(kind: TableKind, table: pl.LazyFrame) -> tuple[TableKind, pl.LazyFrame]:
    """Return the judgments that a table's rows are, and their kind: itself, if they are as they stand.

    Parameters
    ----------
    kind : TableKind
    table : LazyFrame
        In the schema of this kind.

    Raises
    ------
    InputError
        What the kind makes of its rows is no table.
    """
    found = kind.as_judgments(table)
    if found is table:
        return kind, table
    rows = checked(found)
    return table_of(rows.collect_schema()), rows


def _renamed(raw: RawTable, columns: str) -> RawTable:
    """Return the table under the names of the kind that knows its columns; itself if they have the usual ones."""
    names = raw.schema().names()
    if columns and recognized(names) is None and not any(_knows(kind, names) for kind in table_kinds()):
        found = _by_content(raw, dict(said_columns(columns)))
        if found is not None:
            return found
    for kind in _asked(columns, names):
        if columns or not clear(names, kind):
            found = kind.renamed(raw, columns)
            if found is not None:
                return found
    return raw if columns or recognized(names) is not None else _by_content(raw, {}) or raw


def _by_content(raw: RawTable, said: Mapping[str, str]) -> RawTable | None:
    """Return a table of columns that nobody knows by name, read in the one way that its first rows allow.

    None: they allow no way, or `said` says what the columns mean.
    """
    if not _BESIDE.issuperset(said):
        return None
    taken = {name for role, name in said.items() if role not in ("query", "by")}
    with raw.located():
        found = [(kind, reading) for kind in table_kinds() for reading in kind.readings(raw)]
        found = [(kind, reading) for kind, reading in found if taken.isdisjoint(reading.roles.values())]
        if len(found) > 1 or not all(reading.sure for _, reading in found):
            more = f" | and {len(found) - _MOST} more" if len(found) > _MOST else ""
            # What options of their own say is said again by them.
            beside = {role: name for role, name in said.items() if role not in ("by", "control")}
            readings = proposed(replace(reading, roles={**reading.roles, **beside}) for _, reading in found[:_MOST])
            raise InputError(f"what the columns mean is not clear: {readings}{more}")
    for kind, reading in found:
        remark(f"columns are read as {columns_text(reading.roles)}")
        return kind.renamed(raw, columns_text({**reading.roles, **said})) or raw
    return None


def _knows(kind: TableKind, names: Sequence[str]) -> bool:
    try:
        return kind.known(names)
    except InputError:
        return True  # what is wrong with them may be what `columns` mends


def _asked(columns: str, names: Sequence[str]) -> list[TableKind]:
    """Return the kinds that know a role that `columns` names; all if there is none, those that know the names first."""
    kinds = sorted(table_kinds(), key=lambda kind: not _knows(kind, names)) if columns else table_kinds()
    said = {role for role, _ in said_columns(columns)} if columns else set()
    return [kind for kind in kinds if said & set(kind.roles)] or kinds
