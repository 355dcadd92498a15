"""The interface of readers, and how a file finds the reader that fits it.

A reader turns one file into a lazy frame in the columnar schema
(`rankbench.data.schema`). What it yields is checked: a frame that comes out of a
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

__all__ = ["Reader", "choose_reader", "existing", "registered_readers"]

_HEAD = 65_536


class Reader(Component):
    """A file format.

    Attributes
    ----------
    extensions : tuple of str
        File name endings, with the dot, in lower case; ``.gz`` after them is ignored.
    """

    kind: ClassVar[str] = "reader"
    extensions: ClassVar[tuple[str, ...]] = ()

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
        """Return one of the tables of `rankbench.data.schema`, checked.

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


def registered_readers() -> list[type[Reader]]:
    """Return the classes of all readers, plugins' too."""
    from rankbench.plugin.manager import component_class, names

    found = (component_class("reader", name) for name in names("reader"))
    return [cls for cls in found if issubclass(cls, Reader)]


def choose_reader(path: Path, readers: Iterable[type[Reader]] | None = None) -> Reader:
    """Return the reader for a file: by its ending, else by its first bytes.

    Parameters
    ----------
    path : Path
        A file, or a folder made by ``rankbench data convert``.
    readers : iterable of Reader classes, optional
        All that are registered by default.

    Raises
    ------
    InputError
        The file is missing, or no reader knows it.
    """
    from rankbench.data.readers.text import head

    existing(path)
    classes = list(registered_readers() if readers is None else readers)
    if path.is_dir():
        by_content = [cls for cls in classes if cls.sniff(path, b"")]
    else:
        name = path.name.lower().removesuffix(".gz")
        by_name = [cls for cls in classes if name.endswith(cls.extensions)]
        if by_name:
            return by_name[0]()
        first = head(path, _HEAD)
        by_content = [cls for cls in classes if cls.sniff(path, first)]
    if by_content:
        return by_content[0]()
    names = ", ".join(sorted(cls.name for cls in classes))
    raise InputError(f"no reader knows this {'folder' if path.is_dir() else 'format'}; readers: {names}", path=path)
