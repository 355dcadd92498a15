"""`run --log` makes a data set of a log."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.spec import Spec
from rankbench.data.convert import sha256_of
from rankbench.data.fetch import CardDataset
from rankbench.data.readers.choose import PartsReader, choose_reader, is_pattern, part_files
from rankbench.data.readers.parquet import MANIFEST
from rankbench.data.readers.remote import fetched, raw_fetched, shown_address
from rankbench.data.readings.find import IN_FOLDER, file_beside
from rankbench.data.tables.kinds import default_of, table_kind
from rankbench.errors import SpecError
from rankbench.interfaces.dataset import Dataset, Reader
from rankbench.logs.opened import OpenedLog, RawLog, raw_data_set, raw_file, raw_remote
from rankbench.logs.question import NO_FILTER, Filter
from rankbench.plugin.manager import get, reference


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
