"""`run --log` makes a data set of a log."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.spec import Spec, parse
from rankbench.data.convert import sha256_of
from rankbench.data.fetch import CardDataset
from rankbench.data.readers.choose import PartsReader, choose_reader, is_pattern, part_files, with_meanings
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import fetched, is_address, scan_fetched, shown_address
from rankbench.data.tables.checks import default_of, not_judged, table_kind, table_of
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset, Reader, existing, remarks_kept
from rankbench.plugin.manager import get, names, reference
from rankbench.ranking.open import named, named_file, reader_for


class LogAddress(Dataset):
    """A table at an address, which is fetched once.

    It is not registered. Results name the address, without what signs it, and have the sha256 of the rows.
    """

    name: ClassVar[str] = "log-address"
    source: ClassVar[str] = "an address"
    title: ClassVar[str] = "a log of one's own"

    address: str = Field(description="As in s3://bucket/votes.parquet.", repr=False)
    columns: str = Field(default="", description="What columns mean, as left=model_x,right=model_y.")

    def __str__(self) -> str:
        shown = shown_address(self.address)
        return str(Spec(shown, {"columns": self.columns})) if self.columns else shown

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return table_of(self.scan().collect_schema()).name

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`."""
        return scan_fetched(self.address, self.columns)

    def assumptions(self) -> list[str]:
        """Return how columns were read, where that is not plain."""
        with remarks_kept() as found:
            self.scan()
        return found

    def fingerprint(self) -> str:
        """Return the sha256 of the rows as JSON, a line each, and of what was said of columns.

        The bytes in the storage are not it: a copy of the rows is what is read.
        """
        digest = hashlib.sha256(self.columns.encode())
        for batch in pl.scan_parquet(fetched(self.address), glob=False).collect_batches(maintain_order=True):
            digest.update(batch.write_ndjson().encode())
        return digest.hexdigest()


def log_address(address: str, *, columns: str = "", reader: str = "") -> LogAddress:
    """Return the table at an address as a data set.

    Raises
    ------
    InputError
        There is nothing, or nothing that can be read.
    SpecError
        A reader is named, though the ending says it.
    """
    if reader:
        raise SpecError("what is at an address is read by its ending; leave --reader out")
    return LogAddress(address=address, columns=columns)


class LogFile(Dataset):
    """A table in a file, or in several; `log_file` refuses one without judgments.

    It is not registered, and only the process that made it knows the path: results name
    the file and have its sha256. Where its reader is not the one that would be chosen, or was told what columns
    mean, they say so: ``votes.csv:reader=csv(columns="left=x,right=y")``, which `named` reads back.
    """

    name: ClassVar[str] = "log-file"
    source: ClassVar[str] = "a file"
    title: ClassVar[str] = "a log of one's own"

    path: Path = Field(description="The file, a folder of shards or of files, or a pattern.")
    reader: Annotated[Reader | None, reference(Reader)] = Field(
        default=None, description="How it is read; null: as its ending or its first bytes say."
    )

    def __str__(self) -> str:
        return str(Spec(self.path.name, {"reader": self.reader.spec()})) if self.reader else self.path.name

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return table_of(self.scan().collect_schema(), self.path).name

    @cached_property
    def opened(self) -> tuple[pl.LazyFrame, tuple[str, ...]]:
        """The table, and how columns were read, where that is not plain: readers look through all of a text file."""
        with remarks_kept() as found:
            frame = (self.reader or choose_reader(self.path)).scan(self.path)
        return frame, tuple(found)

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`. The file is looked through once; `fingerprint` says if it changed."""
        return self.opened[0]

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the table with other meanings of its columns; see `Dataset.scan_as`."""
        return with_meanings(self.reader or choose_reader(self.path), columns).scan(self.path)

    def assumptions(self) -> list[str]:
        """Return how columns were read, where that is not plain."""
        return list(self.opened[1])

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


def _files(path: Path) -> list[Path]:
    """Return the files of a log: of a folder of shards all that are in it, with its manifest."""
    if (path / MANIFEST).is_file():
        return [file for file in sorted(path.iterdir()) if file.is_file()]
    return part_files(path) if path.is_dir() or is_pattern(path) else [path]


def log_file(path: Path | str, *, columns: str = "", reader: str = "") -> LogFile:
    """Return a file of judgments as a data set.

    Parameters
    ----------
    path : path
        A file, or a folder made by ``rankbench data convert``.
    columns, reader : str
        See `rankbench.ranking.open.reader_for`.

    Raises
    ------
    InputError
        The file is not there, empty, or nothing that a reader knows.
    SpecError
        It holds items with features, not judgments; or an unknown reader.
    """
    return _judged(Path(path), reader_for(Path(path), columns=columns, reader=reader))


def _judged(path: Path, reader: Reader) -> LogFile:
    """Return a log in a file if it holds judgments; a reader that would be chosen anyway need not be said."""
    log = LogFile(path=path, reader=None if reader == _chosen(path) else reader)
    if not suite_of(log):
        raise not_judged(str(path), table_kind(log.table), "suite")
    return log


def _chosen(path: Path) -> Reader | None:
    """Return the reader that a file has if nobody says one; None if none knows it."""
    try:
        return choose_reader(path)
    except InputError:
        return None


def own_log(log: str, *, columns: str = "", reader: str = "") -> Dataset:
    """Return what a user means by a log: a file (see `log_file`), an address, or the data set of that name.

    Raises
    ------
    InputError, SpecError
        See `log_file` and `rankbench.ranking.open.named`.
    """
    found: Dataset | tuple[Path, Reader]
    if is_address(log):
        found = log_address(log, columns=columns, reader=reader)
    else:
        found = named(log, columns=columns, reader=reader)
    if not isinstance(found, Dataset):
        return _judged(*found)
    if not suite_of(found):
        raise not_judged(f"{'' if is_address(log) else 'data set '}{found!s}", table_kind(found.table), "suite")
    return found


def own_table(text: str) -> Dataset | None:
    """Return the file, folder of files, pattern or address that a text names, whatever is in it; None: none of these.

    Parameters
    ----------
    text : str
        A path, or a path with its reader, ``my items.txt:reader=letor(allow-single=true)``.

    Raises
    ------
    InputError
        No reader knows it; or the text is a path, and there is nothing.
    """
    if is_address(text):
        return log_address(text)
    found = named_file(text)
    if found is None:
        if Path(text).name != text or (Path(text).suffix and ":" not in text):
            existing(Path(text))
        try:
            parse(text)
        except SpecError:
            # No data set can be called so: a path with a colon was meant.
            existing(Path(text), names(Dataset.kind))
            raise
        return None
    path, reader = found
    return LogFile(path=path, reader=None if reader == _chosen(path) else reader)


def read_by(dataset: Dataset) -> list[Component]:
    """Return the kind of table that a data set is, and the readers of its files: they have a part in what is read."""
    readers: list[Component] = []
    if isinstance(dataset, CardDataset):
        readers = [get(Reader, dataset.card.reader)]
    elif isinstance(dataset, LogFile):
        files = _files(dataset.path)
        readers = [dataset.reader or choose_reader(dataset.path)]
        readers += [choose_reader(files[0])] if files != [dataset.path] and isinstance(readers[0], PartsReader) else []
    return [table_kind(dataset.table), *readers]


def suite_of(dataset: Dataset) -> str:
    """Return the suite that asks which method suits a log."""
    return default_of(table_kind(dataset.table), "suite")
