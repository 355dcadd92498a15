"""Checks tell which kind of table a frame is, and bring rows into its schema batch by batch.

Rows are checked where they pass by, so a table of any length needs no second look and no
memory beyond the names of its queries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from rankbench.core.text import exception_text, listed
from rankbench.data.readers.frame_source import streamed
from rankbench.data.tables.kinds import built_in, table_kind, table_kinds
from rankbench.data.tables.row_conditions import Condition, rows_kept
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError, PluginError, SpecError, closest
from rankbench.interfaces.dataset import Reader, remark, remarks_kept
from rankbench.interfaces.table import QUERY, TableKind, columns_text, proposed, said_columns
from rankbench.interfaces.table_check import MOST_COLUMNS, TOO_WIDE, RawTable
from rankbench.plugin.blocked import VARIABLE


def recognized(names: Collection[str], kinds: Sequence[TableKind] | None = None) -> TableKind | None:
    """Return the kind that some columns are meant for; None if no column marks one.

    The first whose columns are all there, unless those of another one are too and are the same and more; or else
    the first that is marked.

    Parameters
    ----------
    names : collection of str
    kinds : sequence of TableKind, optional
        Those to choose from, in the order in which they are asked; by default `table_kinds`.
    """
    claiming = [kind for kind in (table_kinds() if kinds is None else kinds) if _claims(kind, names)]
    whole = [kind for kind in claiming if not kind.missing(names)]
    for kind in whole:
        if not any(set(kind.columns) < set(other.columns) for other in whole):
            return kind
    return claiming[0] if claiming else None


def _claims(kind: TableKind, names: Collection[str]) -> bool:
    try:
        return kind.claims(names)
    # Every file is shown to every kind, so one that fails would be in the way of all others' files too.
    except Exception as error:
        raise PluginError(
            f"the kind of table {kind.name!r} cannot say whether a file is one of its own: {exception_text(error)}; "
            f"mend it, or leave its distribution out with {VARIABLE}"
        ) from error


def clear(names: Collection[str], kind: TableKind | None = None) -> bool:
    """Return whether columns have the usual names of some kind of table, other than `kind`."""
    return QUERY in names and any(
        _claims(other, names) for other in table_kinds() if kind is None or other.name != kind.name
    )


def table_of(schema: pl.Schema, path: Path | None = None) -> TableKind:
    """Return the kind of table that these columns make.

    Raises
    ------
    InputError
        None: the missing column is named, of the kind that is nearest, with the nearest one that is there; where
        not even queries are named, all kinds are.
    """
    if not (names := schema.names()):
        raise InputError("there are no columns: the table is empty", path=path)
    kind = recognized(names)
    if kind is None and QUERY not in names:
        known = ". ".join(f"{k.words or k.name} ({', '.join(k.columns[1:])})" for k in table_kinds())
        raise InputError(
            f"no known table has these columns: {listed(names)}. Known: {known}. Say what they mean by --columns. "
            "Votes: winner=NAME,loser=NAME or left=NAME,right=NAME,winner=NAME. Races and ballots, a row for each "
            "place: query=NAME,item=NAME,place=NAME. Clicks, a row for each result shown: "
            "session=NAME,doc=NAME,position=NAME,clicked=NAME. For score tables of any layout use rankbench rank, or "
            "data describe with --columns system=",
            path=path,
        )
    if kind is None:
        ours = list(built_in())
        # Items are the last of ours, and what is left where columns tell nothing.
        kinds = sorted(table_kinds(), key=lambda k: -ours.index(k.name) if k.name in ours else 1)
        kind = max(kinds, key=lambda k: 1 - len(k.missing(names)) / len(k.columns))
    # Files may do without queries: what else is missing is the nearer cause.
    for name in sorted(kind.missing(names), key=QUERY.__eq__):
        near = closest(name, names) + f" --columns {name}=NAME says which column it is" * (
            name in (*kind.roles, "winner", "loser")
        )
        raise InputError(
            f"column {name!r} is missing, which {kind} must have{near} (columns here: {listed(names)})", path=path
        )
    return kind


_MOST = 4
"""Readings that an error proposes."""

_BESIDE = {"query", "judge", "time", "weight", "count", "drop", "by", "mirrored", "self", "control", "predictions"}
"""Roles that leave open which columns say who won."""


class TableReader(Reader):
    """A format whose columns may have any names; a reader of it has `raw`."""

    @abstractmethod
    def raw(self, path: Path) -> RawTable:
        """Return the table as it stands in the file; see `Reader.raw`."""

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table, its columns read by their names; see `Reader.scan`."""
        return checked_table(self.raw(path)).frame


def checked(raw: pl.LazyFrame, *, path: Path | None = None, allow_single: bool = False) -> pl.LazyFrame:
    """Return a frame in the schema of its kind of table: see `checked_table`.

    Parameters
    ----------
    raw : LazyFrame
        Columns of one of the kinds of tables, in any types that convert without loss.
    path : Path, optional
        Named in errors.
    allow_single : bool
        Whether a query may have one item.
    """
    return checked_table(RawTable(raw, path, allow_single=allow_single)).frame


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A table in the schema of its kind.

    Attributes
    ----------
    frame : LazyFrame
        Errors of rows are raised when it is collected.
    columns : mapping of str to str
        Names of columns in the file, by role; of a table in the schema already none.
    left : tuple of str
        Columns of the file that are not read; where every other column is a task or a system there is none.
    notes : tuple of str
        Sentences on how it was read.
    """

    frame: pl.LazyFrame
    columns: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def checked_table(raw: RawTable, columns: str = "", condition: Condition | None = None) -> CheckedTable:
    """Return a table in the schema of its kind; what is wrong with it is raised when it is collected.

    Parameters
    ----------
    raw : RawTable
        Columns of one of the kinds of tables, in any types that convert without loss.
    columns : str
        Meanings of columns that have not the usual names: see
        `rankbench.data.tables.column_roles.parse_columns`.
    condition : Condition, optional
        Keeps rows, if it names columns of the file alone.

    Raises
    ------
    InputError
        A missing column, one of a wrong type, or a winner's column that is ambiguous, at once; anything else
        about rows, later.
    SpecError
        Meanings of columns that have theirs.
    """
    if raw.in_schema:
        if columns:
            raise SpecError("the columns of this file have fixed names; leave --columns out")
        return CheckedTable(raw.frame, notes=raw.notes)
    with remarks_kept() as said:
        found = _checked_table(raw, columns, condition)
    return replace(found, notes=(*raw.notes, *said))


def _checked_table(raw: RawTable, columns: str, condition: Condition | None) -> CheckedTable:
    given, path = _with_header(raw, columns), raw.path
    if (width := len(given.schema())) > MOST_COLUMNS:
        raise InputError(TOO_WIDE.format(f"{width:,}"), path=path)
    table = _renamed(rows_kept(given, condition), columns)
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
    read, left = ({}, ()) if kind.features else _columns_read(given.schema().names(), table, kind, condition)

    def batches() -> Iterator[pl.DataFrame]:
        check = start()
        for frame in table.batches():
            yield check.feed(frame)
        check.end()

    return CheckedTable(streamed(batches, start().schema), read, left)


def _with_header(raw: RawTable, columns: str) -> RawTable:
    """Return a table whose first line names the columns that the user names, or is a row where these are numbers."""
    said = {name for _, name in said_columns(columns)} if columns else set()
    if raw.other_header is None or not any(said):
        return raw
    try:
        other = raw.other_header()
    except InputError:
        if said.isdisjoint(raw.schema()):
            raise
        return raw
    bare, headed = sorted((raw, other), key=lambda table: table.header)
    return bare if said.isdisjoint(headed.schema()) and not said.isdisjoint(bare.schema()) else headed


def _columns_read(
    names: Sequence[str], table: RawTable, kind: TableKind, condition: Condition | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the columns that are read, by role, and the others: under names of the file, or of the kind."""
    schema = table.schema()
    columns = dict(table.roles) or {name: name for name in (*kind.columns, *kind.optional) if name in schema}
    if any(isinstance(dtype, pl.Struct) for dtype in schema.values()):
        return columns, ()
    used = {*columns.values(), *(condition.names() if condition else ())}
    return columns, tuple(name for name in names if name not in used)


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
        The kind makes no table of its rows.
    """
    if (found := kind.as_judgments(table)) is table:
        return kind, table
    rows = checked(found)
    return table_of(rows.collect_schema()), rows


def _renamed(raw: RawTable, columns: str) -> RawTable:
    """Return the table under the names of the kind that knows its columns; itself if they have the usual ones."""
    names = raw.schema().names()
    unknown = columns and recognized(names) is None and not any(knows(kind, names) for kind in table_kinds())
    if unknown and (found := _by_content(raw, dict(said_columns(columns)))) is not None:
        return found
    for kind in _asked(columns, names):
        if (columns or not clear(names, kind)) and (found := kind.renamed(raw, columns)) is not None:
            return found
    beside = [role for role, _ in said_columns(columns) if role in ("control", "predictions")] if columns else []
    if beside and (other := next((kind for kind in table_kinds() if knows(kind, names)), None)) is not None:
        raise InputError(
            f"--{beside[0]} reads columns beside votes, and this file holds {other.words or other}", path=raw.path
        )
    meant = recognized(names)
    return raw if columns or (meant and not meant.missing(names)) else _by_content(raw, {}) or raw


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
        # Ballots are known by ordinal names: any two of these columns could be votes, so they come last.
        found.sort(key=lambda pair: pair[0].name == "comparisons")
        if len(found) > 1 or not all(reading.sure for _, reading in found):
            more = f" | and {len(found) - _MOST} more" if len(found) > _MOST else ""
            # Options of their own say these roles again.
            beside = {role: name for role, name in said.items() if role not in ("by", "control", "predictions")}
            readings = proposed(replace(reading, roles={**reading.roles, **beside}) for _, reading in found[:_MOST])
            raise InputError(f"what the columns mean is not clear: {readings}{more}")
    for kind, reading in found:
        remark(f"rankbench reads columns as {columns_text(reading.roles)}")
        return kind.renamed(raw, columns_text({**reading.roles, **said})) or raw
    return None


def knows(kind: TableKind, names: Collection[str]) -> bool:
    """Return whether a kind knows columns by their usual names, or what is wrong with them."""
    try:
        return kind.known(names)
    except InputError:
        return True  # what is wrong with them may be what `columns` mends


def _asked(columns: str, names: Sequence[str]) -> list[TableKind]:
    """Return the kinds that know a role that `columns` names; all if there is none, those that know the names first."""
    kinds = sorted(table_kinds(), key=lambda kind: not knows(kind, names)) if columns else table_kinds()
    said = {role for role, _ in said_columns(columns)} if columns else set()
    return [kind for kind in kinds if said & set(kind.roles)] or kinds


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
        With row and column: a missing column, a wrong type, what the kind refuses in a row, an empty table; or
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
