"""Checks tell which kind of table a frame is, and bring rows into its schema batch by batch.

Rows are checked where they pass by, so a table of any length needs no second look and no
memory beyond the names of its queries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from rankbench.core.text import listed
from rankbench.data.readers.frame_source import streamed
from rankbench.data.readings.find import read_table, stated, stated_values
from rankbench.data.tables.kinds import table_kind, table_kind_of, table_kinds
from rankbench.data.tables.row_conditions import Condition, rows_kept
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError, SpecError, Unread, closest, option
from rankbench.interfaces.dataset import Reader
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import MOST_COLUMNS, TOO_WIDE, RawTable


def recognized(names: Collection[str], kinds: Sequence[TableKind] | None = None) -> TableKind | None:
    """Return the kind of a table under the names of its schema: the one whose columns are all there, and are most.

    Parameters
    ----------
    names : collection of str
    kinds : sequence of TableKind, optional
        Kinds to choose from; by default `table_kinds`.
    """
    whole = [kind for kind in (table_kinds() if kinds is None else kinds) if not kind.missing(names)]
    return max(whole, key=lambda kind: len(kind.columns), default=None)


def table_of(schema: pl.Schema, path: Path | None = None) -> TableKind:
    """Return the kind of a table under the names of its schema.

    Raises
    ------
    InputError
        None has these columns: the first missing one is named, of the kind that is nearest.
    """
    if not (names := schema.names()):
        raise InputError("there are no columns: the table is empty", path=path)
    if (kind := recognized(names)) is not None:
        return kind
    nearest_kind = max(table_kinds(), key=lambda kind: 1 - len(kind.missing(names)) / len(kind.columns))
    name = nearest_kind.missing(names)[0]
    raise InputError(
        f"column {name!r} is missing, which {nearest_kind} must have{closest(name, names)} "
        f"(columns here: {listed(names)})",
        path=path,
    )


class TableReader(Reader):
    """A format whose columns may have any names; a reader of it has `raw`."""

    @abstractmethod
    def raw(self, path: Path) -> RawTable:
        """Return the table with the file's own columns; see `Reader.raw`."""

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table, its columns read by their names; see `Reader.scan`."""
        return checked_table(self.raw(path)).frame


def checked(raw: pl.LazyFrame, *, path: Path | None = None, allow_single: bool = False) -> pl.LazyFrame:
    """Return a frame with a kind's column names in its schema, checked while it is collected.

    Parameters
    ----------
    raw : LazyFrame
        Columns of one of the kinds of tables, in any types that convert without loss.
    path : Path, optional
        Named in errors.
    allow_single : bool
        Whether a query may have one item.
    """
    table = RawTable(raw, path, allow_single=allow_single)
    kind = table_of(table.schema, path)
    return _checked_by(kind, _whole(table, kind))


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A table in the schema of its kind.

    Attributes
    ----------
    frame : LazyFrame
        In the schema of `rankbench.data.tables`. Errors of rows are raised when it is collected.
    table : TableKind, optional
        Its kind, where it is known.
    columns : mapping of str to str
        Names of columns in the file, by role; of a table in the schema already none.
    left : tuple of str
        Columns of the file that are not read; where every other column is a task or a system there is none.
    notes : tuple of str
        Sentences on how it was read, the line that states its reading first.
    reading : Reading, optional
        The meanings of its columns, as they were applied.
    doubts : callable, optional
        Asks about the names of all items: see `rankbench.interfaces.table_check.RawTable`.
    stated : mapping of str to object
        The reading, with its source, counts of rows and columns that are not read, as plain values.
    """

    frame: pl.LazyFrame
    table: TableKind | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reading: Reading | None = None
    doubts: Callable[[Collection[str]], None] | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)


def checked_table(raw: RawTable, told: str = "", condition: Condition | None = None) -> CheckedTable:
    """Return a table in the schema of its kind; errors of rows are raised when it is collected.

    Parameters
    ----------
    raw : RawTable
        Columns of any names and types.
    told : str
        Meanings of columns that were told: see `rankbench.interfaces.reading.Reading.parsed`.
    condition : Condition, optional
        Keeps rows, if it names columns of the file alone.

    Raises
    ------
    InputError
        A column that was told is not there, or a cell does not fit.
    Unread
        The meaning of columns is unknown, or values contradict it.
    SpecError
        Meanings of columns that have theirs.
    """
    if raw.in_schema:
        if Reading.parsed(told).without("ignore"):
            raise SpecError(f"the columns of this file have fixed names; leave {option('columns')} out")
        return CheckedTable(raw.frame, notes=raw.notes)
    reading = Reading.parsed(told)
    given = _with_fields(_with_header(raw, reading))
    if (width := len(given.schema)) > MOST_COLUMNS:
        raise InputError(TOO_WIDE.format(f"{width:,}"), path=raw.path)
    kept = rows_kept(given, condition)
    try:
        named = tuple(condition.names()) if condition else ()
        found = read_table(kept, reading.model_copy(update={"known": (*reading.known, *named)}))
    except Unread:
        if condition is not None and condition.counted:
            condition.note()  # refuses a condition that keeps no row
        raise
    kind = table_kind_of(found.reading)
    frame = _checked_by(kind, found.table)
    roles = {role: " | ".join(own) for role, own in found.reading.columns.items() if any(own) and role != "ignore"}
    # A column that a reading ignores may still be a covariate, or divide votes into categories.
    read = {*found.columns(), *(condition.names() if condition else ())}
    left = tuple(name for name in given.schema.names() if name not in read)
    notes = (stated(found, kind, given, read), *raw.notes, *found.notes)
    values = stated_values(found, raw.path, left)
    return CheckedTable(frame, kind, roles, left, notes, found.reading, found.table.doubts, values)


def _checked_by(kind: TableKind, table: RawTable) -> pl.LazyFrame:
    """Return a table with its kind's column names in the schema, checked batch by batch."""
    start = kind.check(table)

    def batches() -> Iterator[pl.DataFrame]:
        check = start()
        for frame in table.batches():
            yield check.feed(frame)
        check.end()

    return streamed(batches, start().schema)


def _whole(table: RawTable, kind: TableKind) -> RawTable:
    """Return a table whose names are whole numbers where a program wrote them as floats."""
    schema = table.schema
    names = [name for name, dtype in kind.check(table)().schema.items() if dtype == pl.String and name in schema]
    if kind.features:  # such files are long, and their texts are not read twice
        names = [name for name in names if schema[name].is_float()]
    items = [name for name in names if name in ("winner", "loser")]
    with table.located():
        frame = with_whole_names(table.frame, items, *([name] for name in names if name not in items))
    return replace(table, frame=frame)


def _with_fields(raw: RawTable) -> RawTable:
    """Return a table with the fields of records as columns: ``meta.turns`` of ``meta``."""
    while records := [name for name, dtype in raw.schema.items() if isinstance(dtype, pl.Struct)]:
        raw = replace(raw, frame=raw.frame.unnest(records, separator="."))
    return raw


def _with_header(raw: RawTable, told: Reading) -> RawTable:
    """Return a table whose first line names the columns that the user names, or is a row where these are numbers."""
    said = told.read()
    if raw.headed is None or not said:
        return raw
    bare, names = raw.headed(0), raw.schema
    if not said.isdisjoint(bare.schema) and (said.isdisjoint(names) or names == bare.schema):
        return bare
    if raw.refusal is not None and not isinstance(raw.refusal, Unread):
        raise raw.refusal
    return replace(raw, refusal=None)


def judgments_of(kind: TableKind, table: pl.LazyFrame) -> tuple[TableKind, pl.LazyFrame]:
    """Return the judgments in a table's rows, and their kind; a table of judgments is returned unchanged.

    Parameters
    ----------
    kind : TableKind
    table : LazyFrame
        In the schema of this kind.

    Raises
    ------
    InputError
        The kind makes no table of its rows.
    """
    if (found := kind.as_judgments(table)) is table:
        return kind, table
    rows = checked(found)
    return table_of(rows.collect_schema()), rows


def validate(name: str, table: pl.LazyFrame, *, path: Path | None = None, allow_single: bool = False) -> pl.LazyFrame:
    """Read a table once, batch by batch, and return it in the schema.

    Parameters
    ----------
    name : str
        Of the kind of table that it must be: ``"items"``, ``"comparisons"``, ...
    table : LazyFrame
        Columns of that kind; types that convert without loss are converted.
    path : Path, optional
        Named in errors.
    allow_single : bool
        Whether a query may have one item.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, an error of the kind in a row, an empty table; or
        the columns make a table of another kind.
    SpecError
        There is no such kind.
    """
    wanted, found = table_kind(name), table_of(table.collect_schema(), path)
    if found != wanted:
        raise InputError(f"these columns make a table of {found}, not of {wanted}", path=path)
    result = checked(table, path=path, allow_single=allow_single)
    for _ in result.collect_batches(engine="streaming"):
        pass
    return result
