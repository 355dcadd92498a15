"""A log is opened by its name: a file, a folder, a pattern, an address or a data set; or as a table in memory."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import polars as pl
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.spec import Spec, parse
from rankbench.data.convert import sha256_of
from rankbench.data.fetch import CardDataset
from rankbench.data.readers.choose import PartsReader, choose_reader, is_pattern, part_files
from rankbench.data.readers.frame_source import frame_in_memory
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import fetched, is_address, piped, raw_address, raw_fetched, shown_address
from rankbench.data.readings.find import IN_FOLDER, AnyReading, file_beside, told
from rankbench.data.tables.kinds import default_of, not_judged, table_kind
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.dataset import Dataset, Reader, existing
from rankbench.logs.opened import OpenedLog, RawLog, raw_data_set, raw_file, raw_frame, raw_remote
from rankbench.logs.question import NO_FILTER, Filter
from rankbench.plugin.manager import get, names, reference


class LogDataset(Dataset):
    """A log as a data set: a file, several files, an address, or a filtered log; it is not registered.

    Only the process that made it knows the path: results name the file and have its sha256. Where its reader is not
    the one that would be chosen, or its columns were told, they say so: ``votes.csv:columns="left=x,right=y"``; of a
    filter, ``filtered:log=votes.csv,where="lang == 'en'"``. `rankbench.logs.open.named` reads these back. An address is
    fetched once; results name it without what signs it, and have the sha256 of the rows.
    """

    name: ClassVar[str] = "log"
    source: ClassVar[str] = "a user"
    title: ClassVar[str] = "a log of one's own"

    log: Dataset | Path | str = Field(
        description="A file, a folder of shards or of files, or a pattern; an address; the whole log.", repr=False
    )
    reader: Annotated[Reader | None, reference(Reader)] = Field(
        default=None, description="Reader of the file; null: chosen by its ending or its first bytes."
    )
    columns: str = Field(default="", description="Meanings of columns, as left=model_x,right=model_y.")
    keep: Filter = Field(default=NO_FILTER, description="Rows, items and judges to keep.")

    @property
    def path(self) -> Path | None:
        """The file, folder or pattern; None of an address, or a data set."""
        whole = self.log.log if isinstance(self.log, LogDataset) else self.log
        return whole if isinstance(whole, Path) else None

    def __str__(self) -> str:
        if isinstance(self.log, Dataset):
            return str(Spec(FILTERED, {"log": str(self.log), **self.keep.as_dict()}))
        shown = self.log.name if isinstance(self.log, Path) else shown_address(self.log)
        said: dict[str, Any] = {"reader": self.reader.spec()} if self.reader else {}
        said |= {"columns": self.columns} if self.columns else {}
        return str(Spec(shown, said)) if said else shown

    @cached_property
    def raw(self) -> RawLog:
        """The log before its columns are read: readers look through all of a text file."""
        if isinstance(self.log, LogDataset):
            return self.log.kept()
        if isinstance(self.log, Dataset):
            return raw_data_set(self.log)
        if isinstance(self.log, Path):
            return raw_file(self.log, self.chosen, self.columns)
        return raw_remote(self.log, raw_fetched(self.log), self.columns)

    def kept(self) -> RawLog:
        """Return the log's rows that the filter keeps, before its columns are read."""
        return self.raw.filtered(self.keep) if self.keep else self.raw

    @cached_property
    def chosen(self) -> Reader:
        """The reader of a file."""
        if not isinstance(self.log, Path):
            raise SpecError(f"{self} is no file, which would have a reader")
        return self.reader or choose_reader(self.log)

    @cached_property
    def opened(self) -> OpenedLog:
        """The log with its columns read."""
        return self.raw.opened(keep=self.keep)

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return self.opened.table.name

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`. It is checked once; `fingerprint` raises if a file changed."""
        return self.opened.frame

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the table with other meanings of its columns; see `Dataset.scan_as`."""
        return self.raw.opened(columns, self.keep).frame

    def assumptions(self) -> list[str]:
        """Return the assumptions of the whole log, then notes on its columns and on the rows left."""
        whole = self.log
        own = whole.assumptions() if isinstance(whole, Dataset) and not isinstance(whole, LogDataset) else []
        return [*own, *self.opened.notes]

    def fingerprint(self) -> str:
        """Return the sha256 of the file, of how it was read if that was stated, and of the filter.

        The file is read each time: its size and time of change say nothing about its content. Of an address it is
        the sha256 of the rows as JSON, a line each, and of the columns' roles: a copy of the rows is read.
        """
        if isinstance(self.log, Dataset):
            return hashlib.sha256(json.dumps([self.log.fingerprint(), self.keep.as_dict()]).encode()).hexdigest()
        if isinstance(self.log, str):
            digest = hashlib.sha256(self.columns.encode())
            for batch in pl.scan_parquet(fetched(self.log), glob=False).collect_batches(maintain_order=True):
                digest.update(batch.write_ndjson().encode())
            return digest.hexdigest()
        beside = file_beside(self.log)
        digests = [sha256_of(file) for file in [*_files(self.log), *([beside] if beside else [])]]
        said = str(self.reader) if self.reader else ""
        if len(digests) == 1 and not self.columns and not said:
            return digests[0]
        return hashlib.sha256(json.dumps([digests, self.columns, said]).encode()).hexdigest()


FILTERED = "filtered"
"""Name of a filter of a log, as results have it."""


def _files(path: Path) -> list[Path]:
    """Return the files of a log: of a folder of shards all that are in it, with its manifest."""
    if (path / MANIFEST).is_file():
        return [file for file in sorted(path.iterdir()) if file.is_file() and file.name != IN_FOLDER]
    return part_files(path) if path.is_dir() or is_pattern(path) else [path]


def read_by(dataset: Dataset) -> list[Component]:
    """Return the kind of a data set's table, and the readers of its files: they take part in reading it."""
    readers: list[Component] = []
    if isinstance(dataset, LogDataset) and isinstance(dataset.log, Dataset):
        return read_by(dataset.log)
    if isinstance(dataset, CardDataset):
        readers = [get(Reader, dataset.card.reader)]
    elif isinstance(dataset, LogDataset) and dataset.path is not None:
        files = _files(dataset.path)
        readers = [dataset.chosen]
        readers += [choose_reader(files[0])] if files != [dataset.path] and isinstance(readers[0], PartsReader) else []
    return [table_kind(dataset.table), *readers]


def suite_of(dataset: Dataset) -> str:
    """Return the suite that compares methods on a log."""
    return default_of(table_kind(dataset.table), "suite")


_Dataset = TypeVar("_Dataset", bound=Dataset)

Log: TypeAlias = (
    pl.LazyFrame | pl.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | os.PathLike[str] | RawLog
)
"""A log: a table in memory, the path of a file or folder, or the name of a data set where data sets have names.
Tables are frames of Polars, pandas or PyArrow, lists of dicts, or dicts of lists."""


def raw_log(log: Log, reader: str = "") -> RawLog:
    """Return a log before its columns are read.

    Parameters
    ----------
    log : LazyFrame, DataFrame, another table in memory, path, or str
        Of a text, what `named` says it names; see `rankbench.data.readers.frame_source.frame_in_memory`.
    reader : str
        In the contender grammar; empty: chosen by the file's ending or its first bytes.

    Raises
    ------
    InputError
        There is no such file or data set, no reader knows its format, or the file is not in the reader's.
    SpecError
        There is no such reader; or a log that has its reader was given one.
    """
    if isinstance(log, RawLog):
        return log
    if not isinstance(log, str | os.PathLike):
        if (held := frame_in_memory(log)) is None:
            what = type(log).__name__
            raise SpecError(f"a {what} is no log: give a path, a frame, a list of dicts or a dict of lists")
        if reader:
            raise SpecError("a frame needs no reader")
        return raw_frame(held)
    found = log_at(Path(log), "", reader) if isinstance(log, os.PathLike) else named(log, reader=reader)
    if not isinstance(found, LogDataset):
        return raw_data_set(found)
    if isinstance(found.log, str):
        return raw_remote(found.log, raw_address(found.log), found.columns)
    return found.kept()


def open_log(log: Log, *, columns: str = "", reader: str = "", keep: Filter = NO_FILTER) -> OpenedLog:
    """Open a log.

    Parameters
    ----------
    log, reader
        See `raw_log`.
    columns, keep
        See `rankbench.logs.opened.RawLog.opened`.

    Raises
    ------
    InputError, SpecError
        See `raw_log` and `rankbench.logs.opened.RawLog.opened`.
    """
    return raw_log(log, reader).opened(columns, keep)


def scan(
    log: Log, *, columns: str = "", words: str = "", reading: AnyReading | None = None, reader: str = ""
) -> pl.LazyFrame:
    """Return a log's table in the schema as a lazy frame; only the beginning is read, to tell columns and words apart.

    Parameters
    ----------
    log : LazyFrame, DataFrame, path, or str
        As `rankbench.aggregate` takes it: a file, a folder of shards, a frame, or the name of a data set.
    columns, words, reading
        See `rankbench.aggregate`.
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
        An unknown reader; columns or a reader for a log that states its own.
    """
    return raw_log(log, reader).opened(told(columns, words, reading)).frame


_TOLD = re.compile(":(?=(?:reader|columns)=)")
"""Where a text says how the file before it is read."""


def log_at(path: Path, columns: str = "", reader: str | Spec = "") -> LogDataset:
    """Return the table in a file of any kind.

    Parameters
    ----------
    path : Path
    columns, reader
        See `open_log`. A reader that would be chosen anyway need not be said.

    Raises
    ------
    InputError
        There is no such file.
    SpecError
        There is no such reader.
    """
    if not reader:
        return LogDataset(log=path, columns=columns)
    said = get(Reader, reader)
    if not (several := is_pattern(path)):
        existing(path)
        several = path.is_dir() and not said.sniff(path, b"")
    if several and not said.parquet:
        said = PartsReader(each=said)
    try:
        plain = said == choose_reader(path)
    except InputError:
        plain = False
    return LogDataset(log=path, reader=None if plain else said, columns=columns)


def named(log: str, columns: str = "", reader: str = "") -> Dataset:
    """Return the data set that a text names: a file, an address, or a data set.

    Parameters
    ----------
    log : str
        A path; a pattern, as ``votes/*.parquet``; ``-``, standard input; a path with its reader and columns in the
        contender grammar, ``votes.csv:reader=csv(header=false),columns="left=1,right=2"``, as results name a log; an
        address; or a data set.
    columns, reader : str
        See `open_log`.

    Raises
    ------
    InputError
        There is no such file or data set.
    SpecError
        A data set needs no columns and no reader, an address no reader; or its parameters are wrong.
    """
    if is_address(log):
        if reader:
            raise SpecError(f"the ending of an address decides how rankbench reads it; leave {option('reader')} out")
        return LogDataset(log=log, columns=columns)
    if (found := named_file(log, columns, reader)) is not None:
        return found
    if log.startswith(f"{FILTERED}:"):
        said: dict[str, Any] = dict(parse(log).params)
        return LogDataset(log=named(str(said.pop("log")), columns, reader), keep=Filter.from_options(**said))
    name, path = log.split(":", 1)[0], Path(log)
    if not is_data_set(log):
        # A text with a folder or an ending was meant for a file.
        existing(path, names(Dataset.kind) if path.name == log and not path.suffix else ())
    if columns or reader:
        raise SpecError(
            f"{name!r} is a data set, which has its columns and reader; leave {option('columns')} and "
            f"{option('reader')} out"
        )
    return get(Dataset, log)


def is_data_set(log: str) -> bool:
    """Return whether a text names a data set, and no file."""
    return log.split(":", 1)[0] in names(Dataset.kind) and named_file(log) is None


def named_file(text: str, columns: str = "", reader: str = "") -> LogDataset | None:
    """Return the file that a text names; None if it names none, or a missing one; see `named`."""
    if not text:
        raise InputError("the name of the file is empty")
    path = piped() if text == "-" else Path(text)
    if path.exists() or is_pattern(path):
        return log_at(path, columns, reader)
    # As people write it: the path is all before the reader, with any spaces and colons.
    places = [found.start() for found in _TOLD.finditer(text)]
    at = next((at for at in places if Path(text[:at]).exists() or is_pattern(Path(text[:at]))), None)
    try:
        spec = parse(text if at is None else f"file{text[at:]}")
    except SpecError:
        return None
    path = Path(spec.name if at is None else text[:at])
    said, told = spec.params.get("reader", ""), spec.params.get("columns", "")
    if not spec.params or not {"reader", "columns"}.issuperset(spec.params):
        return None
    if not isinstance(said, str | Spec) or not isinstance(told, str) or not (path.exists() or is_pattern(path)):
        return None
    if columns or reader:
        raise SpecError(f"{text!r} has its columns and reader; leave {option('columns')} and {option('reader')} out")
    return log_at(path, told, said)


def log_file(path: Path | str, *, columns: str = "", reader: str = "") -> LogDataset:
    """Return a file of judgments as a data set.

    Parameters
    ----------
    path : path
        A file, or a folder made by ``rankbench data convert``.
    columns, reader : str
        See `open_log`.

    Raises
    ------
    InputError
        The file is not there, empty, or nothing that a reader knows.
    SpecError
        It holds items with features, not judgments; or an unknown reader.
    """
    return _judged(log_at(Path(path), columns, reader))


def own_log(log: str, *, columns: str = "", reader: str = "", keep: Filter = NO_FILTER) -> Dataset:
    """Return the log that a user names, with its filter; it raises as `named` and `log_file` do."""
    found = named(log, columns, reader)
    return _judged(LogDataset(log=found, keep=keep) if keep else found)


def _judged(found: _Dataset) -> _Dataset:
    """Return a data set; raise for one without judgments."""
    if not suite_of(found):
        path = found.path if isinstance(found, LogDataset) else None
        own = isinstance(found, LogDataset) and not isinstance(found.log, Dataset)
        raise not_judged(str(path or found) if own else f"data set {found}", table_kind(found.table), "suite")
    return found
