"""A file of one's own as a data set: what ``rankbench run --log`` runs on."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.counts.log_source import dataset_named, reader_for
from rankbench.data.tables.recognize import default_of, not_judged, table_kind, table_of
from rankbench.kinds.dataset import Dataset

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LogFile", "log_file", "own_log", "suite_of"]


class LogFile(Dataset):
    """A log in a file; `log_file` refuses one without judgments.

    It is not registered, and only the process that made it knows the path: results name
    the file and have its sha256.
    """

    name: ClassVar[str] = "log-file"
    source: ClassVar[str] = "a file"
    title: ClassVar[str] = "a log of one's own"

    path: Path = Field(description="The file, or a folder of shards.")
    columns: str = Field(default="", description="What columns mean, as left=model_x,right=model_y.")
    reader: str = Field(default="", description="Reader, in the contender grammar; empty: chosen.")

    def __str__(self) -> str:
        return self.path.name

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return table_of(self.scan().collect_schema(), self.path).name

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`."""
        return reader_for(self.path, columns=self.columns, reader=self.reader).scan(self.path)

    def fingerprint(self) -> str:
        """Return the sha256 of the file, and of how it was read where that was said.

        The file is read each time: its size and time of change say nothing about its content.
        """
        from rankbench.data.convert import sha256_of

        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        digests = [sha256_of(file) for file in files if file.is_file()]
        if len(digests) == 1 and not self.columns and not self.reader:
            return digests[0]
        return hashlib.sha256(json.dumps([digests, self.columns, self.reader]).encode()).hexdigest()


def log_file(path: Path | str, *, columns: str = "", reader: str = "") -> LogFile:
    """Return a file of judgments as a data set.

    Parameters
    ----------
    path : path
        A file, or a folder made by ``rankbench data convert``.
    columns, reader : str
        See `rankbench.counts.log_source.reader_for`.

    Raises
    ------
    InputError
        The file is not there, empty, or nothing that a reader knows.
    SpecError
        It holds items with features, not judgments; or an unknown reader.
    """
    log = LogFile(path=Path(path), columns=columns, reader=reader)
    if not suite_of(log):
        raise not_judged(str(path), table_kind(log.table), "suite")
    return log


def own_log(log: str, *, columns: str = "", reader: str = "") -> Dataset:
    """Return what a user means by a log: a file (see `log_file`), or the data set of that name.

    Raises
    ------
    InputError, SpecError
        See `log_file` and `rankbench.counts.log_source.dataset_named`.
    """
    dataset = dataset_named(log, columns=columns, reader=reader)
    if dataset is None:
        return log_file(log, columns=columns, reader=reader)
    if not suite_of(dataset):
        raise not_judged(f"data set {dataset!s}", table_kind(dataset.table), "suite")
    return dataset


def suite_of(dataset: Dataset) -> str:
    """Return the suite that asks which method suits a log."""
    return default_of(table_kind(dataset.table), "suite")
