"""Data sets give tables; readers read files into tables.

A reader turns one file into a lazy frame in the columnar schema
(`rankbench.data.tables`). Its frames are checked: a frame that comes out of a
reader needs no second look.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rankbench.core.component import Component
from rankbench.errors import InputError, SpecError, closest, option

if TYPE_CHECKING:
    import polars as pl

    from rankbench.interfaces.table_check import RawTable


class Dataset(Component):
    """Something that yields items or judgments in the columnar schema.

    Attributes
    ----------
    table : str
        Kind of its rows: the name of a kind of table.
    named : bool
        Whether items have names: an item of one name is the same item in every query.
    title : str
        One line for people.
    simulated : bool
        Whether the judgments are simulated: every leaderboard says so.
    licence : str
        Licence of the data, in a line.
    citation : str
        Publication to cite, in a line.
    """

    kind: ClassVar[str] = "dataset"
    table: ClassVar[str] = "items"
    named: ClassVar[bool] = False
    title: ClassVar[str]
    simulated: ClassVar[bool] = False
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""

    @abstractmethod
    def scan(self) -> pl.LazyFrame:
        """Return the table, in the schema of its kind: see `rankbench.interfaces.table`.

        Items are sorted by query.

        Raises
        ------
        InputError
            The data is not there (says how to get it) or cannot be read.
        """

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the table with other meanings of its columns, as ``query=tournament``; optional.

        Parameters
        ----------
        columns : str
            As ``--columns`` of a log's file.

        Raises
        ------
        SpecError
            The data set has its columns.
        """
        raise SpecError(
            f"{self.name!r} is a data set, which has its columns; leave {option('columns')} and "
            f"{option('by', 'COLUMN')} out"
        )

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a sha256 (hex) of the data: of the files, or of a simulator's parameters."""

    def memory(self) -> int:
        """Return the least number of bytes that the table takes in memory; 0: unknown.

        A run that needs more memory than there is ends before it reads anything.
        """
        return 0

    def assumptions(self) -> list[str]:
        """Return the assumptions to show on a leaderboard, one sentence each: first the simulated share."""
        return []


def simulator_fingerprint(simulator: Dataset, version: int) -> str:
    """Return a sha256 (hex) of a simulator's name, version and parameters: its `Dataset.fingerprint`."""
    text = json.dumps([simulator.name, version, simulator.config()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


T = TypeVar("T")

_latest: list[tuple[weakref.ref[Dataset], str, Any]] = []


def cached_load(dataset: Dataset, fingerprint: str, load: Callable[[], T]) -> T:
    """Return the result of `load`, from a cache of one entry if data set and fingerprint are unchanged.

    The entry lives as long as the data set, and until `clear_cache`.

    Parameters
    ----------
    dataset : Dataset
    fingerprint : str
        `Dataset.fingerprint`, as it is now.
    load : callable
        Gives equal results in all calls for this data set.
    """
    for known, of, loaded in _latest:
        if known() is dataset and of == fingerprint:
            return loaded  # type: ignore[no-any-return]
    # Two of them at a time would be twice the memory.
    clear_cache()
    made = load()
    _latest[:] = [(weakref.ref(dataset, lambda _: clear_cache()), fingerprint, made)]
    return made


def clear_cache() -> None:
    """Empty the cache of `cached_load`, once all blocks have their data."""
    _latest.clear()


class Reader(Component):
    """A file format.

    Attributes
    ----------
    extensions : tuple of str
        File name endings, with the dot, in lower case; ``.gz .bz2 .xz .zst`` after them are ignored.
    parquet : bool
        Whether its files are Parquet, or folders of Parquet shards, whose columns it passes on as they stand. rankbench
        then counts votes from the files themselves, on other machines too.
    """

    kind: ClassVar[str] = "reader"
    extensions: ClassVar[tuple[str, ...]] = ()
    parquet: ClassVar[bool] = False

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the file looks like this format.

        Asked only when no reader claims the file's ending.

        Parameters
        ----------
        path : Path
        head : bytes
            The first bytes of the file, decompressed.
        """
        return False

    @classmethod
    def example(cls) -> bytes:
        """Return a small valid file of this format, which the conformance checks read and damage; empty: none."""
        return b""

    def raw(self, path: Path) -> RawTable:
        """Return the table with the file's own columns; by default the result of `scan`.

        Raises
        ------
        InputError
            See `scan`; errors of rows are raised where the table is checked.
        """
        from rankbench.interfaces.table_check import RawTable

        return RawTable(self.scan(path), path, in_schema=True)

    @abstractmethod
    def scan(self, path: Path) -> pl.LazyFrame:
        """Return one of the tables of `rankbench.data.tables`, checked.

        Errors of the content are raised when the frame is collected.

        Raises
        ------
        InputError
            The file is missing, empty, or not this format: with row and column.
        """

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the table in pieces of bounded size, rows in the file's order."""
        yield from self.scan(path).collect_batches(maintain_order=True, engine="streaming")


def existing(path: Path, datasets: Iterable[str] = ()) -> Path:
    """Return `path` if it is there and not empty.

    Parameters
    ----------
    path : Path
    datasets : iterable of str
        Names of data sets, where it might have been one of these.

    Raises
    ------
    InputError
        There is no such file, it has no bytes, it is a pipe or a device, or its path is not UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        # Polars takes paths as UTF-8 only; so do people, hence the escapes.
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise InputError("the path is not UTF-8; rename the file or its folder", path=shown) from error
    if not path.exists():
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        names = list(datasets)
        what = "file or data set" if names else "file"
        raise InputError(f"there is no such {what}{closest(path.name, [*siblings, *names])}", path=path)
    if not path.is_file() and not path.is_dir():
        raise InputError(
            "it is neither a regular file nor a folder (a pipe or device can be read only once); save it to a file",
            path=path,
        )
    if path.is_file() and path.stat().st_size == 0:
        raise InputError("the file is empty", path=path)
    return path
