"""A Python generator of frames as a Polars source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from rankbench.errors import InputError

__all__ = ["io_source", "readable"]


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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
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
