"""A log is opened by its name: a file, a folder, a pattern, an address or a data set; or as a table in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import polars as pl

from rankbench.core.spec import Spec, parse
from rankbench.data.readers.choose import PartsReader, choose_reader, is_pattern
from rankbench.data.readers.frame_source import frame_in_memory
from rankbench.data.readers.remote import is_address, piped, raw_address
from rankbench.data.readings.find import AnyReading, told
from rankbench.data.tables.kinds import not_judged, table_kind
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.dataset import Dataset, Reader, existing
from rankbench.logs.log_dataset import FILTERED, LogDataset, suite_of
from rankbench.logs.opened import OpenedLog, RawLog, raw_data_set, raw_frame, raw_remote
from rankbench.logs.question import NO_FILTER, Filter
from rankbench.plugin.manager import get, names

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
    """Return the file that a text names; None if it names none, or a missing one.

    Parameters
    ----------
    text, columns, reader
        See `named`.

    Raises
    ------
    InputError, SpecError
        See `named`.
    """
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
    """Return the log that a user names: a file (see `log_file`), an address, or a data set.

    With a filter it is a `LogDataset` of it.

    Raises
    ------
    InputError, SpecError
        See `log_file` and `named`.
    """
    found = named(log, columns, reader)
    return _judged(LogDataset(log=found, keep=keep) if keep else found)


def _judged(found: _Dataset) -> _Dataset:
    """Return a data set; raise for one without judgments."""
    if not suite_of(found):
        path = found.path if isinstance(found, LogDataset) else None
        own = isinstance(found, LogDataset) and not isinstance(found.log, Dataset)
        raise not_judged(str(path or found) if own else f"data set {found}", table_kind(found.table), "suite")
    return found
