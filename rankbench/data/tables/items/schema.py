"""Items, sorted by query: the rows of a query stand together.

============  ===================  ====================================================
``query_id``  String
``item``      UInt32               position in the query, from 0
``label``     Float32              graded relevance; null where nobody judged
``x``         Array(Float32, d)    features
``name``      String, optional     what the item is, where several queries share items
============  ===================  ====================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbench.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "OPTIONAL", "features", "items_schema"]

COLUMNS: tuple[str, ...] = ("query_id", "label")
"""Columns that items must have, in order."""

OPTIONAL: tuple[str, ...] = ("item", "x", "name")
"""Columns that items may have besides."""


def items_schema(d: int, *, named: bool = False) -> pl.Schema:
    """Return the schema of items with d features, with or without the column ``name``."""
    import polars as pl

    schema = pl.Schema(
        {"query_id": pl.String(), "item": pl.UInt32(), "label": pl.Float32(), "x": pl.Array(pl.Float32, d)}
    )
    if named:
        schema["name"] = pl.String()
    return schema


def features(schema: pl.Schema) -> int:
    """Return the number of features d of an items schema."""
    import polars as pl

    dtype = schema["x"]
    if not isinstance(dtype, pl.Array):
        raise InputError(f"features must be Array(Float32, d), not {dtype}", column="x")
    return dtype.size
