"""Frame sources give generators of frames, and tables in memory, to Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from polars.io.plugins import register_io_source

from rankbench.errors import InputError, SpecError
from rankbench.interfaces.table_check import UNREADABLE


@contextmanager
def readable(path: Path | str | None, shown: Callable[[str], str] = str) -> Iterator[None]:
    """Add the file to errors raised while it is read: of Polars, on a damaged file, or of checks of a table.

    Parameters
    ----------
    path : Path or str, optional
        Of a file, or an address.
    shown : callable
        Returns a message as it may be printed.

    Raises
    ------
    InputError
    """
    try:
        yield
    except InputError as error:
        if error.path is not None or path is None:
            raise
        raise error.placed(path, error.row, error.column, shown) from None
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.filename is not None:  # the system's, which names the file
            raise
        said = shown(str(error).strip().split("\n", 1)[0])[:200]
        raise InputError(f"it cannot be read: {said}", path=path) from None


_Frame = TypeVar("_Frame", pl.DataFrame, pl.LazyFrame)


def _asked(frame: _Frame, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None) -> _Frame:
    """Return the part of a frame that a query asks for."""
    frame = frame if rows is None else frame.head(rows)
    frame = frame if predicate is None else frame.filter(predicate)
    return frame if columns is None else frame.select(columns)


def streamed(batches: Callable[[], Iterator[pl.DataFrame]], schema: pl.Schema) -> pl.LazyFrame:
    """Return a lazy frame of a stream of frames.

    Parameters
    ----------
    batches : callable
        Starts the stream anew: a lazy frame may be collected more than once.
    schema : Schema
    """

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for frame in batches():
            yield _asked(frame, with_columns, predicate, left)
            if left is not None:
                left -= frame.height
                if left <= 0:
                    return

    return register_io_source(source, schema=schema)


def frames_in_turn(
    frames: Sequence[pl.LazyFrame], guards: Sequence[Callable[[], AbstractContextManager[None]]]
) -> pl.LazyFrame:
    """Return frames in sequence, reading only the requested rows and columns.

    Parameters
    ----------
    frames : sequence of LazyFrame
        All with one schema.
    guards : sequence of callable
        A context for reading each frame, as `readable` of its file.
    """

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for frame, guard in zip(frames, guards, strict=True):
            with guard():
                found = _asked(frame, with_columns, predicate, left)
                yield from found.collect_batches(maintain_order=True, engine="streaming")
                if left is not None and len(frames) > 1:
                    left -= min(left, frame.select(pl.len()).collect().item())
            if left == 0:
                return

    return register_io_source(source, schema=frames[0].collect_schema())


def frame_in_memory(table: object) -> pl.LazyFrame | None:
    """Return a table in memory as a frame; None for unknown types.

    Parameters
    ----------
    table : object
        A Polars frame; a pandas one; anything with Arrow's ``__arrow_c_stream__``, as tables of PyArrow, DuckDB and
        others; a mapping of column names to sequences; a sequence of mappings, a row each.

    Raises
    ------
    InputError
        Columns differ in length, or values of one do not go together.
    """
    try:
        if isinstance(table, pl.LazyFrame | pl.DataFrame):
            return table.lazy()
        if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns"):
            return _of_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table).lazy()
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False).lazy()
        if isinstance(table, Sequence) and not isinstance(table, str | bytes):
            if not all(isinstance(row, Mapping) for row in table):
                raise SpecError("a list is a log if its entries are dicts, as {'winner': 'x', 'loser': 'y'}")
            # Text where types differ: the checks convert it, and know the row.
            return pl.DataFrame([dict(row) for row in table], infer_schema_length=None, strict=False).lazy()
    except SpecError:
        raise
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(f"the table cannot be read: {str(error).strip().splitlines()[0][:200]}") from error
    return None


def _of_pandas(table: Any) -> pl.LazyFrame:
    """Return a pandas frame with missing values as null, without PyArrow.

    An index with a name, or of texts, is a column as ``to_csv`` writes it; rows that are only numbered are not.
    """
    index = table.index
    named = index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"
    whole = table.reset_index(names=[str(name or "") for name in index.names]) if named else table
    names = [str(name) for name in whole.columns]
    if (twice := next((name for at, name in enumerate(names) if name in names[:at]), None)) is not None:
        raise InputError(f"the frame has two columns called {twice!r}; rename or drop one", column=twice)
    columns = {}
    for at, name in enumerate(names):
        column = whole.iloc[:, at]
        objects = column.astype(object)
        columns[name] = pl.Series(name, objects.where(column.notna(), None).tolist(), strict=False)
    return pl.DataFrame(columns).lazy()
