"""Comparisons in Parquet files are opened as a log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from rankbench.data.readers.choose import is_pattern, part_files
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.parquet import MANIFEST, Manifest
from rankbench.data.tables.read_votes import votes_as_read
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.reading import Reading

ROW = "row"
"""Column of the number of a judgment, where every judgment is a cluster of its own."""


@dataclass(frozen=True)
class ParquetFile:
    """Rows of a file of a log.

    Attributes
    ----------
    path : Path
    rows : int
        Number of rows.
    size : int
        Bytes of the whole file.
    begin : int or None
        Rows of the file before these; None: these are all.
    """

    path: Path
    rows: int
    size: int
    begin: int | None = None


@dataclass(frozen=True)
class ParquetLog:
    """Comparisons in Parquet files, in sequence, that can be counted as they are, here or on another machine.

    Attributes
    ----------
    path : Path
        The file, or the folder.
    files : tuple of ParquetFile
        Without empty ones.
    reading : Reading or None
        The meanings of its columns, as they were applied; None: they have the schema's names.
    first : int
        Rows of the whole log before these.
    """

    path: Path
    files: tuple[ParquetFile, ...]
    reading: Reading | None = None
    first: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(file.rows for file in self.files)

    def raw(self) -> pl.LazyFrame:
        """Return the rows under the files' own columns."""
        if any(file.begin is not None for file in self.files):
            rows = [pl.scan_parquet(one.path, glob=False).slice(one.begin or 0, one.rows) for one in self.files]
            return pl.concat(rows)
        return pl.scan_parquet([file.path for file in self.files], glob=False)

    def frame(self) -> pl.LazyFrame:
        """Return the rows in the schema, unchecked, so that times may be texts."""
        return self.raw() if self.reading is None else votes_as_read(self.raw(), self.reading)

    def cut(self, first: int, count: int) -> ParquetLog:
        """Return at most `count` rows from row `first` on, as another machine can read them."""
        found, begin = list[ParquetFile](), 0
        for file in self.files:
            low, high = max(first, begin), min(first + count, begin + file.rows)
            if low < high:
                found.append(ParquetFile(file.path.resolve(), high - low, file.size, low - begin))
            begin += file.rows
        return replace(self, files=tuple(found), first=first)

    def unreadable(self) -> Path | None:
        """Return the first file that is missing here, or differs from the original."""
        for file in self.files:
            try:
                if file.path.stat().st_size != file.size:
                    return file.path
            except OSError:
                return file.path
        return None

    def located(self, error: InputError) -> InputError:
        """Return an error about a row of the log as one about a row of its file."""
        if error.path is not None:
            return error
        row, begin = error.row, 0
        for file in self.files if row is not None else ():
            if row is not None and row <= begin + file.rows:
                return InputError(error.message, path=file.path, row=row - begin, column=error.column)
            begin += file.rows
        return InputError(error.message, path=self.path, row=row, column=error.column)


def parquet_log(path: Path, reading: Reading | None = None) -> ParquetLog:
    """Return a log in Parquet.

    Parameters
    ----------
    path : Path
        A Parquet file, a folder made by ``rankbench data convert``, a folder of such files, or a pattern.
    reading : Reading, optional
        Meanings of the columns of files.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read; a shard is damaged, or not the one of the manifest.
    """
    if (path / MANIFEST).is_file():
        manifest = Manifest.load(path)
        manifest.scan(path)  # compares every shard with the manifest
        shards = [(path / shard.file, shard.rows) for shard in manifest.shards if shard.rows]
        return ParquetLog(path, tuple(ParquetFile(file, rows, file.stat().st_size) for file, rows in shards))
    parts = part_files(path) if path.is_dir() or is_pattern(path) else [existing(path)]
    return ParquetLog(path, tuple(filter(lambda file: file.rows, map(_parquet_file, parts))), reading)


def _parquet_file(path: Path) -> ParquetFile:
    with readable(path):
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    return ParquetFile(path, int(rows), path.stat().st_size)


def is_parquet(path: Path) -> bool:
    """Return whether a path is named as a Parquet file, or is a folder of shards or Parquet files."""
    if (path / MANIFEST).is_file():
        return True
    file = part_files(path)[0] if path.is_dir() or is_pattern(path) else path
    return file.suffix.lower() in (".parquet", ".pq")
