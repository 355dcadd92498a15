"""Tables read once, batch by batch, and brought into the schema of `rankbench.kinds.table`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankbench.data.tables.checks import checked
from rankbench.errors import InputError
from rankbench.kinds.table import Table, table_of

__all__ = ["validate_comparisons", "validate_items", "validate_orders", "validate_selections"]


def validate_items(items: pl.LazyFrame, *, path: Path | None = None, allow_single: bool = False) -> pl.LazyFrame:
    """Read an items table once, batch by batch, and return it in the schema.

    Parameters
    ----------
    items : LazyFrame
        Columns of `rankbench.kinds.table`; types that convert without loss are converted, ``item`` may be
        missing, and features may stand in columns ``x_0, x_1, ...`` (or from ``x_1``).
    path : Path, optional
        Named in errors.
    allow_single : bool
        Whether a query may have one item.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, NaN or infinity, a query
        with one item or one that comes back after another, an empty table.
    """
    return _validate(items, "items", path, allow_single)


def validate_comparisons(comparisons: pl.LazyFrame, *, path: Path | None = None) -> pl.LazyFrame:
    """Read a comparisons table once, batch by batch, and return it in the schema.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, an item compared with
        itself, a weight that is not positive and finite, an empty table.
    """
    return _validate(comparisons, "comparisons", path, False)


def validate_selections(selections: pl.LazyFrame, *, path: Path | None = None) -> pl.LazyFrame:
    """Read a selections table once, batch by batch, and return it in the schema.

    Parameters
    ----------
    selections : LazyFrame
        Columns of `rankbench.kinds.table`; ``shown`` and ``clicked`` may be texts with spaces between.
    path : Path, optional
        Named in errors.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, an empty list, an item shown
        twice, a clicked position that there is not, an empty table.
    """
    return _validate(selections, "selections", path, False)


def validate_orders(orders: pl.LazyFrame, *, path: Path | None = None) -> pl.LazyFrame:
    """Read an orders table once, batch by batch, and return it in the schema.

    Parameters
    ----------
    orders : LazyFrame
        Columns of `rankbench.kinds.table`. A ranking without ties may be a list of names; in texts, rankings and
        candidates are JSON: ``["b", ["a", "c"]]``.
    path : Path, optional
        Named in errors.

    Raises
    ------
    InputError
        With row and column: a missing column, a wrong type, a ranking or a place without
        items, an item ranked twice or not among the candidates, candidates that change
        within a query, a weight that is not positive and finite, an empty table.
    """
    return _validate(orders, "orders", path, False)


def _validate(frame: pl.LazyFrame, wanted: Table, path: Path | None, allow_single: bool) -> pl.LazyFrame:
    table = table_of(frame.collect_schema(), path)
    if table != wanted:
        raise InputError(f"these columns make a table of {table}, not of {wanted}", path=path)
    result = checked(frame, path=path, allow_single=allow_single)
    for _ in result.collect_batches(engine="streaming"):
        pass
    return result
