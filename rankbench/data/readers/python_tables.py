"""Tables that are in memory already: of pandas, PyArrow and others, lists of dicts, dicts of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankbench.errors import InputError, SpecError

__all__ = ["frame_in_memory"]


def frame_in_memory(table: object) -> pl.LazyFrame | None:
    """Return a table in memory as a frame; None if it is none of those that are known.

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
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(f"the table cannot be read: {str(error).strip().splitlines()[0][:200]}") from error
    return None


def _of_pandas(table: Any) -> pl.LazyFrame:
    """Return a pandas frame, what is missing as nothing, without PyArrow.

    An index with a name, or of texts, is a column as ``to_csv`` writes it; rows that are only numbered are not.
    """
    index = table.index
    named = index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"
    whole = table.reset_index(names=[str(name or "") for name in index.names]) if named else table
    names = [str(name) for name in whole.columns]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise InputError(f"the frame has two columns called {twice!r}; rename or drop one", column=twice)
    columns = {}
    for at, name in enumerate(names):
        column = whole.iloc[:, at]
        objects = column.astype(object)
        columns[name] = pl.Series(name, objects.where(column.notna(), None).tolist(), strict=False)
    return pl.DataFrame(columns).lazy()
