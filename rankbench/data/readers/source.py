"""A Python generator of frames as a Polars source."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

__all__ = ["io_source"]

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
