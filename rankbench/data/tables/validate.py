"""Tables read once, batch by batch, and brought into the schema of their kind."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankbench.data.tables.checks import checked
from rankbench.data.tables.recognize import table_kind, table_of
from rankbench.errors import InputError

__all__ = ["validate"]


def validate(name: str, table: pl.LazyFrame, *, path: Path | None = None, allow_single: bool = False) -> pl.LazyFrame:
    """Read a table once, batch by batch, and return it in the schema.

    Parameters
    ----------
    name : str
        Of the kind of table that it must be: ``"items"``, ``"comparisons"``, ...
    table : LazyFrame
        Columns of that kind; types that convert without loss are converted.
    path : Path, optional
        Named in errors.
    allow_single : bool
        Whether a query may have one item.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, what the kind refuses in a row, an empty table; or
        the columns make a table of another kind.
    SpecError
        There is no such kind.
    """
    wanted, found = table_kind(name), table_of(table.collect_schema(), path)
    if found != wanted:
        raise InputError(f"these columns make a table of {found}, not of {wanted}", path=path)
    result = checked(table, path=path, allow_single=allow_single)
    for _ in result.collect_batches(engine="streaming"):
        pass
    return result
