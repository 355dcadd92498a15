"""A log is opened from a file, a folder of shards, an address, a data set's name or a frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import polars as pl

from rankbench.data.readers.choose import is_pattern, partition_keys
from rankbench.data.readers.frame_source import frame_in_memory, readable
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import scan_address, shown_address
from rankbench.data.tables.checks import checked, judgments_of, table_of
from rankbench.data.tables.column_roles import OPTIONS
from rankbench.data.tables.row_conditions import condition_asked
from rankbench.data.tables.schemas import REST
from rankbench.data.tables.whole_names import whole_ids
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset, Remarks, remarks_kept
from rankbench.interfaces.row_weights import weightless
from rankbench.interfaces.table import TableKind
from rankbench.logs.log_dataset import LogAddress, LogFile, is_data_set, log_at, named
from rankbench.logs.log_filter import NO_FILTER, Filter
from rankbench.logs.parquet_log import ParquetLog, is_parquet, parquet_log
from rankbench.plugin import manager

T = TypeVar("T")
Log: TypeAlias = pl.LazyFrame | pl.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | os.PathLike[str]
"""A log: a table in memory, the path of a file or folder, or the name of a data set where data sets have names.
Tables are frames of Polars, pandas or PyArrow, lists of dicts, or dicts of lists."""


@dataclass(frozen=True, eq=False)
class LogSource:
    """An opened log.

    Attributes
    ----------
    name : str
        For people: of the file, of the data set.
    path : Path or None
    table : TableKind
    frame : LazyFrame
        In the schema of `rankbench.data.tables`; its rows are checked as they are collected.
    remarks : Remarks
        Remarks for the reader on how columns were read, a sentence each; and the columns that were read.
    parquet : ParquetLog or None
        The same comparisons without the checks, where Polars can read them all by itself:
        for what looks at every row anyway, and on other machines.
    """

    name: str
    path: Path | None
    table: TableKind
    frame: pl.LazyFrame
    parquet: ParquetLog | None = None
    remarks: Remarks = field(default_factory=Remarks)

    def judged(self) -> LogSource:
        """Return the log of the judgments that its rows are: see `TableKind.as_judgments`."""
        kind, frame = judgments_of(self.table, self.frame)
        return self if frame is self.frame else LogSource(self.name, self.path, kind, frame, remarks=self.remarks)

    def counted(self, count: Callable[[pl.LazyFrame], T], away: Callable[[ParquetLog], T] | None = None) -> T:
        """Return ``count(comparisons)``, without the checks where that is possible.

        Parameters
        ----------
        count : callable
        away : callable, optional
            Does the same on other machines, of a log that has `parquet`.

        Raises
        ------
        InputError
            An error that the checks find, with its row; or an error of `count`.
        """
        with readable(self.path):
            if self.parquet is None:
                return count(self.frame)
            try:
                return count(self.parquet.frame()) if away is None else away(self.parquet)
            except InputError as error:
                if self.parquet.roles is not None:
                    # The checks know the file's own columns and words.
                    count(self.frame)
                raise self.parquet.located(error) from error


def open_source(log: Log, *, columns: str = "", reader: str = "", keep: Filter = NO_FILTER) -> LogSource:
    """Open a log.

    Parameters
    ----------
    log : LazyFrame, DataFrame, another table in memory, path, or str
        Of a text, what `rankbench.logs.log_dataset.named` says it names; see `frame_in_memory`.
    columns, reader : str
        See `rankbench.logs.log_dataset.reader_for`.
    keep : Filter
        Rows, items and judges to keep. Remarks say how many votes are left.

    Raises
    ------
    InputError
        There is no such file or data set; it is empty, or not one of the schema's tables; or `keep` leaves nothing.
    SpecError
        See `rankbench.logs.log_dataset.reader_for` and `rankbench.logs.log_filter.Filter`.
    """
    with condition_asked(keep.where):
        source = _opened(log, columns, reader)
        if not keep:
            return source
        with remarks_kept() as said, readable(source.path):
            frame = keep.applied(source.frame, source.table)
    source.remarks.extend(said)
    # Polars would count rows of the files themselves, those that go among them.
    return replace(source, frame=frame, parquet=None)


def _opened(log: Log, columns: str, reader: str) -> LogSource:
    held = None if isinstance(log, str | os.PathLike) else frame_in_memory(log)
    if held is not None:
        if reader:
            raise SpecError("a frame needs no reader")
        return _remarked("log", lambda: checked(held, columns=columns))
    if isinstance(log, str) and columns and not reader and is_data_set(log):
        return _remarked(log, lambda: manager.get(Dataset, log).scan_as(columns))
    if not isinstance(log, str | os.PathLike):
        raise SpecError(f"a {type(log).__name__} is no log: give a path, a frame, a list of dicts or a dict of lists")
    found = log_at(Path(log), columns, reader) if isinstance(log, os.PathLike) else named(log, columns, reader)
    if isinstance(found, LogAddress):
        return _remarked(shown_address(found.address), lambda: scan_address(found.address, found.columns))
    if not isinstance(found, LogFile):
        return _remarked(str(log), found.scan)
    path, chosen = found.path, found.chosen
    parquet = None
    with readable(path):
        with remarks_kept() as remarks:
            frame = chosen.scan(path)
        table = table_of(frame.collect_schema(), path)
        if table.checked_by_counting and chosen.parquet:
            parquet = _unchecked(path, remarks.columns)
    return LogSource(path.name, path, table, frame, parquet, remarks)


def _remarked(name: str, opened: Callable[[], pl.LazyFrame]) -> LogSource:
    """Return a log that is no file, with the remarks that are made as it is opened."""
    with remarks_kept() as remarks:
        frame = opened()
    return LogSource(name, None, table_of(frame.collect_schema()), frame, remarks=remarks)


def scan(log: Log, *, columns: str = "", reader: str = "") -> pl.LazyFrame:
    """Return a log's table in the schema as a lazy frame: nothing is read but what tells columns and words apart.

    Parameters
    ----------
    log : LazyFrame, DataFrame, path, or str
        As `rankbench.aggregate` takes it: a file, a folder of shards, a frame, or the name of a data set.
    columns : str
        Meanings of columns, as ``left=model_x,right=model_y,winner=choice``; guessed from their names by default.
    reader : str
        In the contender grammar; chosen by the file's ending, or its first bytes, by default.

    Returns
    -------
    LazyFrame
        With the columns that docs/reference/files-and-columns.md lists. Rows are checked as they are collected: what
        is wrong with one is an `InputError` then, with its row.

    Raises
    ------
    InputError
        There is no such file or data set; it is empty, or not one of the schema's tables.
    SpecError
        An unknown reader; columns or a reader for what has them.
    """
    return open_source(log, columns=columns, reader=reader).frame


def _unchecked(path: Path, roles: Mapping[str, str]) -> ParquetLog | None:
    """Return comparisons in Parquet without checks; None if types have to be converted.

    Parameters
    ----------
    path : Path
    roles : mapping of str to str
        Columns by role, as the checks have found them.
    """
    if (path / MANIFEST).is_file():
        log = parquet_log(path)
        return None if REST in log.frame().collect_schema() else log
    if {*OPTIONS, REST} & roles.keys() or not {"side", "item", "loser"} & roles.keys():
        return None  # rows become others, or none
    several = path.is_dir() or is_pattern(path)
    if several and (not is_parquet(path) or partition_keys(path) & set(roles.values())):
        return None  # files do not have these columns
    log = parquet_log(path, roles)
    raw, schema, texts = log.raw(), log.frame().collect_schema(), (pl.String, pl.Categorical, pl.Enum)
    judge, weight = (schema.get(name, pl.Int64()) for name in ("judge", "weight"))
    names = all(schema[name] in texts for name in ("winner", "loser")) and (judge in texts or judge.is_integer())
    if not names or not weight.is_numeric() or schema.get("tie", pl.Boolean()) != pl.Boolean:
        return None
    if "count" in roles:
        value = pl.col(roles["count"])
        whole = raw.collect_schema()[roles["count"]].is_integer()
        if "weight" in roles or not whole or _some(raw, value.is_null() | (value < 1)):
            return None
    if whole_ids(raw, roles) is not raw or ("weight" in roles and _some(raw, weightless(roles["weight"]))):
        return None
    # Counting does not look at the queries.
    return None if "query" in roles and _some(raw, _nameless(roles["query"], raw.collect_schema())) else log


def _nameless(column: str, schema: pl.Schema) -> pl.Expr:
    """Return in which rows a name is missing or empty."""
    missing = pl.col(column).is_null()
    # Not by `replace`, for which Polars holds all of a column.
    texts = schema[column] in (pl.String, pl.Categorical, pl.Enum)
    return missing | (pl.col(column).cast(pl.String) == "") if texts else missing


def _some(raw: pl.LazyFrame, fact: pl.Expr) -> bool:
    """Return whether something is so in a row."""
    return not raw.filter(fact).head(1).collect(engine="streaming").is_empty()
