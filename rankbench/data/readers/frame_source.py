"""A Python generator of frames as a Polars source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from rankbench.errors import InputError
from rankbench.kinds.table_check import UNREADABLE

__all__ = ["io_source", "pushed_source", "readable"]


@contextmanager
def readable(path: Path | None) -> Iterator[None]:
    """Name the file in what is raised while it is read: by Polars, of one that is damaged, or by checks of a table.

    Raises
    ------
    InputError
    """
    try:
        yield
    except InputError as error:
        if error.path is not None or path is None:
            raise
        raise type(error)(error.message, path=path, row=error.row, column=error.column) from error
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.filename is not None:  # the system's, which names the file
            raise
        said = str(error).strip().split("\n", 1)[0][:200]
        raise InputError(f"it cannot be read: {said}", path=path) from error


_Source = Callable[[list[str] | None, pl.Expr | None, int | None, int | None], Iterator[pl.DataFrame]]


def io_source(batches: Callable[[], Iterator[pl.DataFrame]]) -> _Source:
    """Return what ``polars.io.plugins.register_io_source`` wants.

    Parameters
    ----------
    batches : callable
        Starts the stream anew: a lazy frame may be collected more than once.
    """

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for whole in batches():
            frame = whole
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if with_columns is None else frame.select(with_columns)
            if left is not None and left <= 0:
                return

    return source


def pushed_source(paths: Sequence[Path]) -> _Source:
    """Return a source of Parquet files one after the other, of which only the rows and columns are read that are asked.

    What Polars cannot read is an `InputError` that names the file.
    """

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for path in paths:
            with readable(path):
                frame = pl.scan_parquet(path, glob=False)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.select(pl.len()).collect().item()
                if predicate is not None:
                    frame = frame.filter(predicate)
                if with_columns is not None:
                    frame = frame.select(with_columns)
                yield from frame.collect_batches(maintain_order=True, engine="streaming")
            if left is not None and left <= 0:
                return

    return source
