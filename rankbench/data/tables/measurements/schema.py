"""Measurements (score tables), in any order.

============  ===================  =====================================================
``query_id``  String               the task
``system``    String
``score``     Float64              null where the cell is missing; else finite
``seed``      String, optional     which run, draw or bootstrap iteration it is of
============  ===================  =====================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "OPTIONAL", "measurements_schema"]

COLUMNS: tuple[str, ...] = ("query_id", "system", "score")
"""Columns that measurements must have, in order."""

OPTIONAL: tuple[str, ...] = ("seed",)
"""Columns that measurements may have besides."""


def measurements_schema(columns: Iterable[str]) -> pl.Schema:
    """Return the schema of measurements with those of the optional columns that are among `columns`."""
    import polars as pl

    schema = pl.Schema({"query_id": pl.String(), "system": pl.String(), "score": pl.Float64()})
    if "seed" in set(columns):
        schema["seed"] = pl.String()
    return schema
