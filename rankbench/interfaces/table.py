"""Kinds of tables define columns, and how columns of a file are read as them.

A table is a lazy frame whose columns are named and typed as one kind of table wants them: items, comparisons,
selections, orders (`rankbench.data.tables`), or what a plugin brings. Every table has the column ``query_id``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.core.component import Component, JudgmentKind
from rankbench.interfaces.reading import NO_COLUMNS, Reading

if TYPE_CHECKING:
    import polars as pl

    from rankbench.interfaces.table_check import RawTable, ReadTable, TableCheck


QUERY = "query_id"
"""The column that every table has: what a row is about. Files are sharded and split by it."""


class TableKind(Component):
    """A kind of table.

    Attributes
    ----------
    columns : tuple of str
        Columns that such a table must have, in order, ``query_id`` first.
    optional : tuple of str
        Columns that it may have besides.
    shapes : tuple of tuple of str
        Roles of columns that say together all that such a table must say, each by itself. Empty: its columns
        (``query_id`` is the role ``query``), and beside them those of `optional`.
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
    columns are read wherever rankbench takes a file; `data describe` and `data convert` know them.

    .. code-block:: python

        from functools import partial
        from typing import ClassVar

        import rankbench


        class Ratings(rankbench.TableKind):
            '''Ratings: a user gives an item 1 to 5 stars.'''

            name: ClassVar[str] = "ratings"
            source: ClassVar[str] = "Example of the documentation"
            columns: ClassVar[tuple[str, ...]] = ("query_id", "user", "item", "stars")

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
        """Return an error text for wrong columns; see `Component.defect`."""
        if cls.columns[:1] != (QUERY,):
            return f"columns is {cls.columns!r}, not a tuple of names that begins with {QUERY!r}"
        if not all(isinstance(shape, tuple) and shape for shape in cls.shapes):
            return f"shapes is {cls.shapes!r}, not a tuple of tuples of roles"
        required = [name for name, parameter in cls.parameters().items() if parameter.is_required()]
        if required:
            return f"the parameter {required[0]!r} has no default; every file is shown to the kind as it is by default"
        return ""

    def missing(self, names: Collection[str]) -> list[str]:
        """Return the required columns that are missing among these."""
        return [name for name in self.columns if name not in names]

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

        applied = reading.expanded(raw.schema.names())
        roles = {role: names[0] for role, names in applied.columns.items() if names[0] and role not in NO_COLUMNS}
        frame = raw.frame.select(pl.col(name).alias(QUERY if role == "query" else role) for role, name in roles.items())
        return ReadTable(replace(raw, frame=frame, roles=roles), applied, (", ".join(roles.values()),))

    @abstractmethod
    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks for one pass over a table: a class, with `functools.partial`.

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
        """Return the judgments in rows, in the columns of a built-in kind; the table itself if it has these.

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
        """Return facts for ``rankbench data describe`` beside the numbers of rows and queries, by name."""
        return {}
