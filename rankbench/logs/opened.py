"""An opened log: its table, the reading of its columns, and its digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from rankbench.data.convert import sha256_of
from rankbench.data.fetch import CardDataset
from rankbench.data.readers.choose import is_pattern, part_files, partition_keys
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import naming_address, shown_address
from rankbench.data.tables.checks import CheckedTable, checked_table, judgments_of, table_of
from rankbench.data.tables.row_conditions import Condition
from rankbench.data.tables.schemas import REST
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset, Reader
from rankbench.interfaces.reading import Reading, with_told
from rankbench.interfaces.row_weights import weightless
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable
from rankbench.logs.parquet_log import ParquetLog, is_parquet, parquet_log
from rankbench.logs.question import NO_FILTER, Filter

T = TypeVar("T")


def no_file() -> None:
    """Return no sha256, as there is no file."""


@dataclass(frozen=True, eq=False)
class RawLog:
    """A log whose columns have not been read; only its layout is known.

    Attributes
    ----------
    name : str
        For people: of the file, of the data set.
    path : Path or None
    table : callable
        Returns the table in its schema, for meanings of columns that are told, and for a condition on rows.
    told : str
        Meanings of columns that the log's name tells.
    parquet : bool
        Whether the file, or the files of the folder, hold the table's columns as they stand, in Parquet.
    sha256 : callable
        Returns the sha256 of the file, of the files of the folder with their names, or of the data set; None: the log
        is no file. Raises an InputError if a file is another one than it was when the log was opened.
    held : RawTable, optional
        The table under its own columns.
    """

    name: str
    path: Path | None
    table: Callable[[str, Condition | None], CheckedTable]
    told: str = ""
    parquet: bool = False
    sha256: Callable[[], str | None] = no_file
    held: RawTable | None = None

    def opened(self, columns: str = "", keep: Filter = NO_FILTER) -> OpenedLog:
        """Return the log with its columns read, and the rows, items and judges that are kept.

        Parameters
        ----------
        columns : str
            Meanings of columns, in addition to `told`: see `rankbench.interfaces.reading.Reading.text`.
        keep : Filter
            Notes say how many votes are left.

        Raises
        ------
        InputError
            It is not one of the schema's tables; or `keep` leaves nothing.
        SpecError
            See `rankbench.logs.question.Filter`; or the columns have fixed names.
        """
        parquet, columns, condition = None, _both(self.told, columns), Condition.asked(keep.where)
        with readable(self.path):
            found = self.table(columns, condition)
            frame, notes = found.frame, list(found.notes)
            kind = found.table or table_of(frame.collect_schema(), self.path)
            if keep:
                # Polars would count rows of the files themselves, those that go among them.
                frame, more = keep.applied(frame, kind, condition)
                notes += more
            elif self.path is not None and self.parquet and kind.checked_by_counting:
                parquet = _unchecked(self.path, found.reading)
        known = vars(found) | {"frame": frame, "table": kind, "notes": tuple(notes)}
        return OpenedLog(**known, raw=self, asked=columns, keep=keep, parquet=parquet)

    def filtered(self, keep: Filter) -> RawLog:
        """Return the log's rows that a filter keeps."""

        def table(columns: str, condition: Condition | None) -> CheckedTable:
            found = self.opened(columns, keep)
            return CheckedTable(found.frame, found.table, found.columns, found.left, found.notes, found.reading)

        return replace(self, table=table, parquet=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenedLog(CheckedTable):
    """An opened log: its table, and how it was opened.

    Attributes
    ----------
    raw : RawLog
    asked : str
        Meanings of columns that were given.
    keep : Filter
    table : TableKind
    parquet : ParquetLog or None
        The same comparisons without the checks, where Polars can read them all by itself:
        for what looks at every row anyway, and on other machines.
    """

    raw: RawLog
    asked: str
    keep: Filter
    table: TableKind
    parquet: ParquetLog | None = None

    @property
    def name(self) -> str:
        """Name of the log, for people."""
        return self.raw.name

    @property
    def path(self) -> Path | None:
        """The file or folder."""
        return self.raw.path

    def with_role(self, role: str, name: str) -> OpenedLog:
        """Return the log with another column for a role; the file is not opened again."""
        return self.raw.opened(with_told(self.asked, role, name), self.keep)

    def judged(self) -> OpenedLog:
        """Return the log of the judgments in its rows: see `TableKind.as_judgments`."""
        kind, frame = judgments_of(self.table, self.frame)
        return self if frame is self.frame else replace(self, table=kind, frame=frame, parquet=None)

    def part(self, name: str, frame: pl.LazyFrame) -> OpenedLog:
        """Return some rows as a log."""
        return replace(self, raw=replace(self.raw, name=name), frame=frame, parquet=None, notes=())

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
                if self.parquet.reading is not None:
                    # The checks know the file's own columns and words.
                    count(self.frame)
                raise self.parquet.located(error) from error


def _both(told: str, columns: str) -> str:
    """Return two texts on columns as one reading's text."""
    return Reading.parsed(told).adding(Reading.parsed(columns)).text() if told and columns else told or columns


def raw_frame(held: pl.LazyFrame) -> RawLog:
    """Return a table in memory as a log."""
    return RawLog("log", None, partial(checked_table, RawTable(held)))


def raw_file(path: Path, reader: Reader, told: str = "") -> RawLog:
    """Return the table in a file, or in the files of a folder or of a pattern, as a log.

    Raises
    ------
    InputError
        It is missing, empty, or not in the reader's format.
    """
    sha256 = partial(_unchanged_sha256, path, _marks(path))
    with readable(path):
        raw = reader.raw(path)
    return RawLog(path.name, path, partial(checked_table, raw), told, reader.parquet, sha256, raw)


def raw_remote(address: str, raw: RawTable, told: str = "") -> RawLog:
    """Return the table at an address as a log."""

    def table(columns: str, condition: Condition | None) -> CheckedTable:
        with naming_address(address):
            return checked_table(raw, columns, condition)

    return RawLog(shown_address(address), None, table, told)


def raw_data_set(dataset: Dataset) -> RawLog:
    """Return a data set as a log."""
    if isinstance(dataset, CardDataset):
        return RawLog(str(dataset), None, partial(dataset.read, dataset.raw()), sha256=dataset.fingerprint)

    def table(columns: str, condition: Condition | None) -> CheckedTable:
        return CheckedTable(dataset.scan_as(columns) if columns else dataset.scan())

    return RawLog(str(dataset), None, table, sha256=dataset.fingerprint)


def _unchanged_sha256(path: Path, before: Sequence[tuple[Path, int, int]]) -> str:
    """Return the sha256 of a file, a folder's or a pattern's files; raise if they changed.

    Raises
    ------
    InputError
        A file has another size, or was written to since.
    """
    found = files_sha256(path)
    if _marks(path) != before:
        raise InputError("the file changed while it was read; run again when nobody writes to it", path=path)
    return found


def _marks(path: Path) -> list[tuple[Path, int, int]]:
    return [(file, file.stat().st_size, file.stat().st_mtime_ns) for file in _all_files(path)]


def _all_files(path: Path) -> list[Path]:
    """Return a file, all files of a folder, or the files that match a pattern."""
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file())
    return [path] if path.exists() or not is_pattern(path) else part_files(path)


def files_sha256(path: Path) -> str:
    """Return the sha256 of a file; of a folder or a pattern, of all its files with their names."""
    files = _all_files(path)
    if len(files) == 1 and not path.is_dir():
        return sha256_of(files[0])
    root = path if path.is_dir() else Path(os.path.commonpath([file.parent for file in files]))
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(root).as_posix()} {sha256_of(file)}\n".encode())
    return whole.hexdigest()


def _unchecked(path: Path, reading: Reading | None) -> ParquetLog | None:
    """Return comparisons in Parquet without checks; None if types have to be converted.

    Parameters
    ----------
    path : Path
    reading : Reading, optional
        The meanings of the columns, as they were applied.
    """
    if (path / MANIFEST).is_file():
        log = parquet_log(path)
        return None if REST in log.frame().collect_schema() else log
    if reading is None or not _are_rows(reading):
        return None
    several = path.is_dir() or is_pattern(path)
    if several and (not is_parquet(path) or partition_keys(path) & reading.read()):
        return None  # files do not have these columns
    log = parquet_log(path, reading)
    if not reading.read() <= set(log.raw().collect_schema()):
        return None
    raw, schema, texts = log.raw(), log.frame().collect_schema(), (pl.String, pl.Categorical, pl.Enum)
    judge, weight = (schema.get(name, pl.Int64()) for name in ("judge", "weight"))
    names = all(schema[name] in texts for name in ("winner", "loser")) and (judge in texts or judge.is_integer())
    if not names or not weight.is_numeric() or schema.get("tie", pl.Boolean()) != pl.Boolean:
        return None
    if count := reading.first["count"]:
        value = pl.col(count)
        whole = raw.collect_schema()[count].is_integer()
        if reading.first["weight"] or not whole or _some(raw, value.is_null() | (value < 1)):
            return None
    names_of = [["winner", "loser"] if reading.first["loser"] else ["left", "right"], ["judge"], ["query"]]
    groups = [[one for role in roles if (one := reading.first[role])] for roles in names_of]
    if with_whole_names(raw, *groups) is not raw:
        return None
    if (weight_name := reading.first["weight"]) and _some(raw, weightless(weight_name)):
        return None
    # Counting does not look at the queries.
    query = reading.first["query"]
    return None if query and _some(raw, _nameless(query, raw.collect_schema())) else log


_ROW_BY_ROW = frozenset({"left", "right", "winner", "loser", "left_score", "right_score", "left_place", "right_place"})
_BESIDE = frozenset({"query", "judge", "time", "weight", "count", "tie", "first", "ignore", "alike"})


def _are_rows(reading: Reading) -> bool:
    """Return whether each row is one whole vote: none is left out, divided, or several votes."""
    roles = {role for role, names in reading.columns.items() if any(names)}
    several = any(len(names) > 1 for role, names in reading.columns.items() if role != "ignore")
    other = reading.where or reading.unless or reading.split or reading.once or reading.same
    rows = other or "missing" in reading.words
    return roles <= _ROW_BY_ROW | _BESIDE and not several and not rows


def _nameless(column: str, schema: pl.Schema) -> pl.Expr:
    """Return whether a name is missing or empty, for each row."""
    missing = pl.col(column).is_null()
    # Not by `replace`, for which Polars holds all of a column.
    texts = schema[column] in (pl.String, pl.Categorical, pl.Enum)
    return missing | (pl.col(column).cast(pl.String) == "") if texts else missing


def _some(raw: pl.LazyFrame, fact: pl.Expr) -> bool:
    """Return whether a condition holds in some row."""
    return not raw.filter(fact).head(1).collect(engine="streaming").is_empty()
