"""Kinds of tables define columns, and how columns of a file are read as them.

A table is a lazy frame whose columns are named and typed as one kind of table wants them: items, comparisons,
selections, orders (`rankbench.data.tables`), or what a plugin brings. Every table has the column ``query_id``.
"""

from __future__ import annotations

import re
import shlex
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.core.component import Component, JudgmentKind
from rankbench.core.text import plain_name
from rankbench.errors import InputError, nearest
from rankbench.interfaces.reading import NO_COLUMNS, Reading

if TYPE_CHECKING:
    import polars as pl

    from rankbench.interfaces.table_check import RawTable, ReadTable, TableCheck

ROWS_SHOWN = 3
"""Rows that a reading is shown with."""

_SAID = re.compile(r'([^=,]*)=(?:\s*"((?:[^"]|"")*)"\s*|(?!\s*")([^,]*))(?=,|\Z)')
"""A role and the name of its column, up to the next comma: between quotes, or as it is."""


def said_columns(text: str) -> list[tuple[str, str]]:
    """Return roles and names of columns, in the order in which they are said.

    Parameters
    ----------
    text : str
        ``role=name,...``; a name with a comma stands between double quotes, ``winner="A, or B?"``.

    Raises
    ------
    InputError
        A part has no equals sign, or a quote is not closed.
    """
    found, at = list[tuple[str, str]](), -1
    while at < len(text):
        match = _SAID.match(text, at + 1)
        if match is None:
            part = text[at + 1 :]
            raise InputError(f"columns are given as role=name, a name with a comma between double quotes, not {part!r}")
        role, quoted, plain = match.groups()
        found.append((role.strip(), plain.strip() if quoted is None else quoted.replace('""', '"')))
        at = match.end()
    return found


def columns_text(roles: Mapping[str, str]) -> str:
    """Return what `said_columns` takes apart again."""
    return ",".join(f"{role}={_name(name)}" for role, name in roles.items())


def with_column(columns: str, role: str, name: str) -> str:
    """Return what is said of columns, with another one for a role."""
    said = dict(said_columns(columns)) if columns else {}
    return columns_text({**said, role: name})


def said_roles(pairs: Iterable[tuple[str, str]], known: Collection[str]) -> dict[str, str]:
    """Return columns by role from what `said_columns` returns; a role without a name has no column.

    Raises
    ------
    InputError
        A role that is not known, or one given twice.
    """
    found: dict[str, str] = {}
    for role, name in pairs:
        if role not in known:
            raise InputError(f"there is no role {role!r} of columns{nearest(role, known)}")
        if role in found:
            raise InputError(f"the {role}'s column is given twice")
        found[role] = name
    return found


def check_there(roles: Mapping[str, str], columns: Collection[str]) -> None:
    """Raise for the first role whose column is not among the columns of the file."""
    for role, name in roles.items():
        if name and name not in columns:
            raise InputError(f"there is no column {name!r} for the {role}{nearest(name, columns)}", column=name)


def usual_columns(
    columns: Iterable[str], usual: Mapping[str, Collection[str]], given: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return columns by role, given or named as usual: several where names differ in capitals and spaces alone.

    Parameters
    ----------
    columns : iterable of str
    usual : mapping of str to collection of str
        Names of each role in the form of `rankbench.core.text.plain_name`, the likeliest first.
    given : mapping of str to str
        Columns by role; these roles are not guessed. Of an empty name: no column has this role.
    """
    by_name: dict[str, list[str]] = {}
    for name in columns:
        by_name.setdefault(plain_name(name), []).append(name)
    taken, found = set(given.values()), {role: [name] for role, name in given.items() if name}
    for role, names in usual.items():
        if role not in given:
            free = ([column for column in by_name.get(name, ()) if column not in taken] for name in names)
            if match := next(filter(None, free), None):
                found[role] = match
    return found


def _name(name: str) -> str:
    plain = name == name.strip() and "," not in name and not name.startswith('"')
    return name if plain else '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class ColumnReading:
    """A way to read a table whose columns may be read in several ways.

    Attributes
    ----------
    roles : mapping of str to str
        Columns by role.
    rows : tuple of str
        The first rows as they would be read, in words.
    sure : bool
        Whether it may be taken without a question where it is the only one.
    """

    roles: Mapping[str, str]
    rows: tuple[str, ...]
    sure: bool = True

    def __str__(self) -> str:
        said = f"--columns {shlex.quote(columns_text(self.roles))}"
        return f"{said} reads {'; '.join(self.rows)}" if self.rows else said


def proposed(readings: Iterable[ColumnReading]) -> str:
    """Return each reading as what to say, with the first rows as they would be read."""
    return " | ".join(map(str, readings))


QUERY = "query_id"
"""The column that every table has: what a row is about. Files are sharded and split by it."""


class TableKind(Component):
    """A kind of table.

    Attributes
    ----------
    columns : tuple of str
        Columns that such a table must have, in order, ``query_id`` first.
    optional : tuple of str
        Columns that it may have besides. Other columns of a file are ignored.
    marks : tuple of str
        Columns that show, each alone, that a file is meant for this kind: a missing column is then an error. If a file
        has all columns of two kinds, and one kind has all columns of the other and more, the file is of that kind.
    roles : tuple of str
        Roles of ``--columns`` for a column of this kind. rankbench tries kinds that have one of the given roles, and
        every kind if none has one.
    shapes : tuple of tuple of str
        Roles of columns that say together all that such a table must say, each by itself. Empty: its columns.
    beside : tuple of str
        Roles that its columns may have besides.
    judgments : tuple of JudgmentKind
        Judgments in it for aggregators, the kind of a row (see `as_judgments`) first. Empty: nothing is aggregated.
    words : str
        Name of its rows where logs of judgments are listed: ``votes``.
    method : str
        The aggregator that ranks such a log where none is named. Empty: that of the judgments that rows are.
    history : str
        The aggregator of scores over time of such a log, or a grid of it, where the search for the likeliest parameters
        begins. Empty: that of the judgments that rows are.
    suite : str
        The suite of ``rankbench run --log`` for such a log. Empty: that of the judgments that rows are.
    together : bool
        Whether the rows of a query stand together and in an order of their own, which must be kept. If not,
        shards are sorted by query.
    features : bool
        Whether rows have features: a column ``x``, an array of d numbers.
    checked_by_counting : bool
        Whether rows are comparisons in the columns of the built-in kind, and counting them by pair finds all that
        `check` would refuse: Parquet is then counted as it is, and checked only to say what is wrong where.

    Examples
    --------
    A module, and another one for the check, as importing Polars takes a while. CSV, NDJSON and Parquet files with these
    columns are recognized wherever rankbench takes a file; `data describe` and `data convert` know them.

    .. code-block:: python

        from functools import partial
        from typing import ClassVar

        import rankbench


        class Ratings(rankbench.TableKind):
            '''Ratings: a user gives an item 1 to 5 stars.'''

            name: ClassVar[str] = "ratings"
            source: ClassVar[str] = "Example of the documentation"
            columns: ClassVar[tuple[str, ...]] = ("query_id", "user", "item", "stars")
            marks: ClassVar[tuple[str, ...]] = ("stars",)

            @classmethod
            def example(cls):
                return {"query_id": ["a"] * 3, "user": list("uuv"), "item": list("xyx"), "stars": [5.0, 3.0, 1.5]}

            def check(self, raw):
                import polars as pl

                from ratings_check import StarsCheck

                schema = {"query_id": pl.String(), "user": pl.String(), "item": pl.String(), "stars": pl.Float64()}
                return partial(StarsCheck, raw, pl.Schema(schema))

            def facts(self, table):
                return {"users": table.collect()["user"].n_unique()}

    .. code-block:: python

        from rankbench.interfaces.table_check import TableCheck


        class StarsCheck(TableCheck):
            def convert(self, frame):
                found = super().convert(frame)
                self.refuse(~found["stars"].is_between(1, 5), frame["stars"], "{} is not a number of stars from 1 to 5")
                return found
    """

    kind: ClassVar[str] = "table"
    columns: ClassVar[tuple[str, ...]]
    optional: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[str, ...]]
    roles: ClassVar[tuple[str, ...]] = ()
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ()
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ()
    words: ClassVar[str] = ""
    method: ClassVar[str] = ""
    history: ClassVar[str] = ""
    suite: ClassVar[str] = ""
    together: ClassVar[bool] = False
    features: ClassVar[bool] = False
    checked_by_counting: ClassVar[bool] = False

    @property
    def row(self) -> JudgmentKind | None:
        """Kind of judgment in a row (see `as_judgments`): the first of `judgments`; None: no judgment."""
        return self.judgments[0] if self.judgments else None

    @classmethod
    def defect(cls) -> str:
        """Return what is wrong with the columns; see `Component.defect`."""
        if cls.columns[:1] != (QUERY,):
            return f"columns is {cls.columns!r}, not a tuple of names that begins with {QUERY!r}"
        own = {*cls.columns, *cls.optional} - {QUERY}
        if not cls.marks or not own.issuperset(cls.marks):
            return f"marks is {cls.marks!r}, not a tuple of its own columns; {QUERY!r} marks no kind: each table has it"
        required = [name for name, parameter in cls.parameters().items() if parameter.is_required()]
        if required:
            return f"the parameter {required[0]!r} has no default; every file is shown to the kind as it is by default"
        return ""

    def claims(self, names: Collection[str]) -> bool:
        """Return whether one of these columns shows that a table is of this kind."""
        return any(mark in names for mark in self.marks)

    def missing(self, names: Collection[str]) -> list[str]:
        """Return the columns that such a table must have and that are not among these."""
        return [name for name in self.columns if name not in names]

    def known(self, names: Collection[str]) -> bool:
        """Return whether these are columns of this kind under other names, as `renamed` would find them.

        Raises
        ------
        InputError
            They are, and something is wrong with them.
        """
        return False

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return a table whose columns have other names under the names of this kind; None: it is of another kind.

        Parameters
        ----------
        raw : RawTable
        columns : str
            Roles of columns, as the user says them (``--columns``); empty: guessed from their names.

        Raises
        ------
        InputError
            `columns` does not fit, or something is missing beside it.
        """
        return None

    def readings(self, raw: RawTable) -> list[ColumnReading]:
        """Return how columns that no kind knows by their names may be read as this kind, by what is in the first rows.

        If there is one reading of all kinds, and it is sure, it is taken; of several the user is told. Those that a
        user wrote, as ``--columns``, are never among them.
        """
        return []

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return a table under the names of this kind, as a reading says; by default each role is a column.

        Parameters
        ----------
        raw : RawTable
        reading : Reading
            With all roles of one of `shapes`.

        Raises
        ------
        InputError
            A column is not there, or a cell does not fit: with its row.
        Unread
            Values speak against the reading: see `rankbench.data.tables.doubts`.
        """
        import polars as pl

        from rankbench.interfaces.table_check import ReadTable

        applied = reading.expanded(raw.schema().names())
        roles = {role: names[0] for role, names in applied.columns.items() if names[0] and role not in NO_COLUMNS}
        frame = raw.frame.select(pl.col(name).alias(role) for role, name in roles.items())
        return ReadTable(replace(raw, frame=frame, roles=roles), applied, (", ".join(roles.values()),))

    @abstractmethod
    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check for one pass over a table: as `functools.partial` of a class does.

        A lazy frame may be collected more than once, each time with a new check. Here only columns and their types
        are looked at; rows are checked where they pass by.

        Raises
        ------
        InputError
            A column has a type that cannot be one of such a table's.
        """

    @classmethod
    @abstractmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return a few rows, by column: the conformance checks read, damage and convert them."""

    def part(self, table: pl.LazyFrame, name: str) -> pl.LazyFrame:
        """Return a table that is one of several files of a data set, with queries of its own."""
        import polars as pl

        return table.with_columns(pl.concat_str(pl.lit(f"{name}/"), QUERY).alias(QUERY))

    def as_judgments(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Return the judgments that rows are, in the columns of a built-in kind; the table itself if it has these.

        Parameters
        ----------
        table : LazyFrame
            In the schema of this kind.

        Returns
        -------
        LazyFrame
            Of comparisons, selections or orders, as `judgments` says first; checked when it is collected.
        """
        return table

    def facts(self, table: pl.LazyFrame) -> dict[str, int | float | str]:
        """Return what ``rankbench data describe`` says beside the numbers of rows and queries, by name."""
        return {}
