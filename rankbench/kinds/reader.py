"""The interface of readers.

A reader turns one file into a lazy frame in the columnar schema
(`rankbench.data.tables`). What it yields is checked: a frame that comes out of a
reader needs no second look.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rankbench.component import Component
from rankbench.errors import InputError, closest

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reader", "existing"]


class Reader(Component):
    """A file format.

    Attributes
    ----------
    extensions : tuple of str
        File name endings, with the dot, in lower case; ``.gz .bz2 .xz .zst`` after them are ignored.
    parquet : bool
        Whether its files are Parquet, or folders of shards of it, whose columns `scan` passes on as they stand, or as
        its parameter ``columns``, if it has one, says: votes are then counted from the files themselves, also on other
        machines.
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
        raise InputError(
            "the path is not UTF-8; rename the file or its folder",
            path=os.fsencode(path).decode(errors="backslashreplace"),
        ) from error
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
