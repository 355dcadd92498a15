"""`run --log` makes a data set of a log."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import polars as pl
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.spec import Spec, parse
from rankbench.data.convert import sha256_of
from rankbench.data.fetch import CardDataset
from rankbench.data.readers.choose import PartsReader, choose_reader, is_pattern, part_files, with_meanings
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import fetched, is_address, piped, scan_fetched, shown_address
from rankbench.data.tables.checks import table_of
from rankbench.data.tables.kinds import default_of, not_judged, table_kind
from rankbench.data.tables.row_conditions import condition_asked
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset, Reader, existing, remarks_kept
from rankbench.logs.log_filter import NO_FILTER, Filter
from rankbench.plugin.manager import get, names, reference

_READER = ":reader="
_Dataset = TypeVar("_Dataset", bound=Dataset)


class OwnTable(Dataset):
    """A table that a user names; it is not registered."""

    title: ClassVar[str] = "a log of one's own"

    @abstractmethod
    def _read(self) -> pl.LazyFrame:
        """Return the table; what is not plain of its columns is remarked."""

    @cached_property
    def opened(self) -> tuple[pl.LazyFrame, tuple[str, ...]]:
        """The table, and how columns were read, where that is not plain: readers look through all of a text file."""
        with remarks_kept() as found:
            frame = self._read()
        return frame, tuple(found)

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return table_of(self.scan().collect_schema(), getattr(self, "path", None)).name

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`. It is looked through once; `fingerprint` says if a file changed."""
        return self.opened[0]

    def assumptions(self) -> list[str]:
        """Return how columns were read, where that is not plain."""
        return list(self.opened[1])


class LogAddress(OwnTable):
    """A table at an address, which is fetched once.

    Results name the address, without what signs it, and have the sha256 of the rows.
    """

    name: ClassVar[str] = "log-address"
    source: ClassVar[str] = "an address"

    address: str = Field(description="As in s3://bucket/votes.parquet.", repr=False)
    columns: str = Field(default="", description="Meanings of columns, as left=model_x,right=model_y.")

    def __str__(self) -> str:
        shown = shown_address(self.address)
        return str(Spec(shown, {"columns": self.columns})) if self.columns else shown

    def _read(self) -> pl.LazyFrame:
        return scan_fetched(self.address, self.columns)

    def fingerprint(self) -> str:
        """Return the sha256 of the rows as JSON, a line each, and of what was said of columns.

        The bytes in the storage are not it: a copy of the rows is what is read.
        """
        digest = hashlib.sha256(self.columns.encode())
        for batch in pl.scan_parquet(fetched(self.address), glob=False).collect_batches(maintain_order=True):
            digest.update(batch.write_ndjson().encode())
        return digest.hexdigest()


class LogFile(OwnTable):
    """A table in a file, or in several; `log_file` refuses one without judgments.

    Only the process that made it knows the path: results name the file and have its sha256. Where its reader is not
    the one that would be chosen, or was told what columns mean, they say so:
    ``votes.csv:reader=csv(columns="left=x,right=y")``, which `named` reads back.
    """

    name: ClassVar[str] = "log-file"
    source: ClassVar[str] = "a file"

    path: Path = Field(description="The file, a folder of shards or of files, or a pattern.")
    reader: Annotated[Reader | None, reference(Reader)] = Field(
        default=None, description="Reader of the file; null: chosen by its ending or its first bytes."
    )

    def __str__(self) -> str:
        return str(Spec(self.path.name, {"reader": self.reader.spec()})) if self.reader else self.path.name

    @property
    def chosen(self) -> Reader:
        """The reader of the file."""
        return self.reader or choose_reader(self.path)

    def _read(self) -> pl.LazyFrame:
        return self.chosen.scan(self.path)

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the table with other meanings of its columns; see `Dataset.scan_as`."""
        return with_meanings(self.chosen, columns).scan(self.path)

    def fingerprint(self) -> str:
        """Return the sha256 of the file, and of how it was read where that was said.

        The file is read each time: its size and time of change say nothing about its content.
        """
        digests = [sha256_of(file) for file in _files(self.path)]
        columns = getattr(self.reader, "columns", "")
        bare = self.reader.model_copy(update={"columns": ""}) if self.reader and columns else self.reader
        said = "" if bare is None or bare == _chosen(self.path) else str(bare)
        if len(digests) == 1 and not columns and not said:
            return digests[0]
        return hashlib.sha256(json.dumps([digests, columns, said]).encode()).hexdigest()


class FilteredLog(OwnTable):
    """A log with the rows, items and judges that a filter keeps; its name and its sha256 say which filter.

    Results name it ``filtered:log=votes.csv,where="lang == 'en'"``, which `named` reads back.
    """

    name: ClassVar[str] = "filtered"
    source: ClassVar[str] = "a log and a filter"

    log: Dataset = Field(description="The whole log.")
    keep: Filter = Field(description="Rows, items and judges to keep.")

    def __str__(self) -> str:
        return str(Spec(self.name, {"log": str(self.log), **self.keep.as_dict()}))

    def _read(self) -> pl.LazyFrame:
        with condition_asked(self.keep.where):
            frame = self.log._read() if isinstance(self.log, OwnTable) else self.log.scan()
            return self.keep.applied(frame, table_of(frame.collect_schema(), getattr(self.log, "path", None)))

    def assumptions(self) -> list[str]:
        """Return what a reader must know of the whole log, then how columns were read and how much is left."""
        own = [] if isinstance(self.log, OwnTable) else self.log.assumptions()
        return [*own, *super().assumptions()]

    def fingerprint(self) -> str:
        """Return the sha256 of the whole log's and of the filter."""
        return hashlib.sha256(json.dumps([self.log.fingerprint(), self.keep.as_dict()]).encode()).hexdigest()


def _files(path: Path) -> list[Path]:
    """Return the files of a log: of a folder of shards all that are in it, with its manifest."""
    if (path / MANIFEST).is_file():
        return [file for file in sorted(path.iterdir()) if file.is_file()]
    return part_files(path) if path.is_dir() or is_pattern(path) else [path]


def _chosen(path: Path) -> Reader | None:
    """Return the reader that a file has if nobody says one; None if none knows it."""
    try:
        return choose_reader(path)
    except InputError:
        return None


def reader_for(path: Path, *, columns: str = "", reader: str = "") -> Reader:
    """Return the reader of a file, told what its columns mean.

    Parameters
    ----------
    path : Path
    columns : str
        As `rankbench.data.tables.column_roles.parse_columns` takes it; empty: guessed from their names.
    reader : str
        In the contender grammar; empty: chosen by the file's ending or its first bytes.

    Raises
    ------
    InputError
        There is no such file, or no reader knows it.
    SpecError
        There is no such reader, or one that takes no columns was given some.
    """
    if reader:
        found = get(Reader, reader)
        existing(path)
    else:
        found = choose_reader(path)
    if not columns:
        return found
    if "columns" not in found.parameters() or (path / MANIFEST).is_file():
        raise SpecError(f"the columns of this file ({found.name}) have fixed names; leave --columns out")
    return found.model_copy(update={"columns": columns})


def log_at(path: Path, columns: str = "", reader: str | Reader = "") -> LogFile:
    """Return the table in a file, whatever is in it; a reader that would be chosen anyway need not be said.

    Parameters
    ----------
    path : Path
    columns : str
    reader : str or Reader
        A text: see `reader_for`.
    """
    found = reader_for(path, columns=columns, reader=reader) if isinstance(reader, str) else reader
    return LogFile(path=path, reader=None if found == _chosen(path) else found)


def named(log: str, columns: str = "", reader: str = "") -> Dataset:
    """Return what a text names: a file, an address, or a data set.

    Parameters
    ----------
    log : str
        A path; a pattern, as ``votes/*.parquet``; ``-``, what is piped in; a path with its reader in the contender
        grammar, ``votes.csv:reader=csv(columns="left=x")``, as results name a log; an address; or a data set.
    columns, reader : str
        See `reader_for`.

    Raises
    ------
    InputError
        There is no such file or data set.
    SpecError
        A data set needs no columns and no reader, an address no reader; or its parameters are wrong.
    """
    if is_address(log):
        if reader:
            raise SpecError("the ending of an address decides how rankbench reads it; leave --reader out")
        return LogAddress(address=log, columns=columns)
    if (found := named_file(log, columns, reader)) is not None:
        return found
    if log.startswith(f"{FilteredLog.name}:"):
        said: dict[str, Any] = dict(parse(log).params)
        return FilteredLog(log=named(str(said.pop("log")), columns, reader), keep=Filter.from_options(**said))
    name, path = log.split(":", 1)[0], Path(log)
    if not is_data_set(log):
        # A text with a folder or an ending was meant for a file.
        existing(path, names(Dataset.kind) if path.name == log and not path.suffix else ())
    if columns or reader:
        raise SpecError(f"{name!r} is a data set, which has its columns and reader; leave --columns and --reader out")
    return get(Dataset, log)


def is_data_set(log: str) -> bool:
    """Return whether a text names a data set, and no file."""
    return log.split(":", 1)[0] in names(Dataset.kind) and named_file(log) is None


def named_file(text: str, columns: str = "", reader: str = "") -> LogFile | None:
    """Return the file that a text names; None if it names none, or one that is not there.

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
    # As people write it: what stands before the reader is the path, whatever spaces and colons are in it.
    before, found, after = text.rpartition(_READER)
    plain = bool(found) and (Path(before).exists() or is_pattern(Path(before)))
    try:
        spec = parse(f"file{_READER}{after}" if plain else text)
    except SpecError:
        return None
    path, said = Path(before) if plain else Path(spec.name), spec.params.get("reader")
    if list(spec.params) != ["reader"] or not isinstance(said, str | Spec):
        return None
    if not (path.exists() or is_pattern(path)):
        return None
    if columns or reader:
        raise SpecError(f"{text!r} has its columns and reader; leave --columns and --reader out")
    return log_at(path, reader=get(Reader, said))


def log_file(path: Path | str, *, columns: str = "", reader: str = "") -> LogFile:
    """Return a file of judgments as a data set.

    Parameters
    ----------
    path : path
        A file, or a folder made by ``rankbench data convert``.
    columns, reader : str
        See `reader_for`.

    Raises
    ------
    InputError
        The file is not there, empty, or nothing that a reader knows.
    SpecError
        It holds items with features, not judgments; or an unknown reader.
    """
    return _judged(log_at(Path(path), columns, reader))


def own_log(log: str, *, columns: str = "", reader: str = "", keep: Filter = NO_FILTER) -> Dataset:
    """Return what a user means by a log: a file (see `log_file`), an address, or the data set of that name.

    With a filter it is a `FilteredLog`.

    Raises
    ------
    InputError, SpecError
        See `log_file` and `named`.
    """
    found = named(log, columns, reader)
    return _judged(FilteredLog(log=found, keep=keep) if keep else found)


def _judged(found: _Dataset) -> _Dataset:
    """Return a data set; refuse one without judgments."""
    if not suite_of(found):
        name = str(found.path) if isinstance(found, LogFile) else str(found)
        known = isinstance(found, LogFile | LogAddress)
        raise not_judged(name if known else f"data set {name}", table_kind(found.table), "suite")
    return found


def read_by(dataset: Dataset) -> list[Component]:
    """Return the kind of table that a data set is, and the readers of its files: they have a part in what is read."""
    readers: list[Component] = []
    if isinstance(dataset, FilteredLog):
        return read_by(dataset.log)
    if isinstance(dataset, CardDataset):
        readers = [get(Reader, dataset.card.reader)]
    elif isinstance(dataset, LogFile):
        files = _files(dataset.path)
        readers = [dataset.chosen]
        readers += [choose_reader(files[0])] if files != [dataset.path] and isinstance(readers[0], PartsReader) else []
    return [table_kind(dataset.table), *readers]


def suite_of(dataset: Dataset) -> str:
    """Return the suite that asks which method suits a log."""
    return default_of(table_kind(dataset.table), "suite")
