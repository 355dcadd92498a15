"""The one columnar schema of items, of comparisons, of selections and of orders.

Items, sorted by query (the rows of a query stand together):

============  ===================  ====================================================
``query_id``  String
``item``      UInt32               position in the query, from 0
``label``     Float32              graded relevance; null where nobody judged
``x``         Array(Float32, d)    features
``name``      String, optional     what the item is, where several queries share items
============  ===================  ====================================================

Comparisons, in any order:

============  ===================  ====================================================
``query_id``  String
``winner``    String               name of an item
``loser``     String               name of another item
``weight``    Float64, optional    positive and finite
``judge``     String, optional
``time``      optional             a number, Date, Datetime or Duration: `rankbench.data.tables.comparisons.times`
``tie``       Boolean, optional    true: neither won
``first``     Boolean, optional    whether the winner was shown first (on the left)
============  ===================  ====================================================

Selections, in any order; positions are counted from 1, the top of the list:

==============  ================  =====================================================
``query_id``    String
``session_id``  String
``shown``       List(String)      names of different items, the top of the list first
``clicked``     List(UInt32)      positions, in the order of the clicks; empty: none. The
                                  position after the last is a click outside of the list
``part``        String, optional  the part that the session was published in
==============  ================  =====================================================

Orders (ballots), in any order:

==============  ======================  ===============================================
``query_id``    String
``ranking``     List(List(String))      places, the best first: the names of the items on
                                        each, several if they are tied
``weight``      Float64, optional       how many voters cast it; positive and finite
``judge``       String, optional
``candidates``  List(String), optional  all items of the query, the same in all its rows;
                                        without it, those that its ballots name
==============  ======================  ===============================================
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from rankbench.errors import InputError, nearest
from rankbench.text import listed

__all__ = [
    "COMPARISONS",
    "COMPARISONS_OPTIONAL",
    "ORDERS",
    "ORDERS_OPTIONAL",
    "SELECTIONS",
    "Table",
    "comparisons_schema",
    "features",
    "items_schema",
    "orders_schema",
    "selections_schema",
    "table_of",
]

Table: TypeAlias = Literal["items", "comparisons", "selections", "orders"]

COMPARISONS: tuple[str, ...] = ("query_id", "winner", "loser")
"""Columns that comparisons must have, in order."""

COMPARISONS_OPTIONAL: dict[str, pl.DataType | None] = {
    "weight": pl.Float64(),
    "judge": pl.String(),
    "time": None,
    "tie": pl.Boolean(),
    "first": pl.Boolean(),
}
"""Columns that comparisons may have, and their types; ``time`` keeps its own."""

SELECTIONS: tuple[str, ...] = ("query_id", "session_id", "shown", "clicked")
"""Columns that selections must have, in order."""

ORDERS: tuple[str, ...] = ("query_id", "ranking")
"""Columns that orders must have, in order."""

ORDERS_OPTIONAL: dict[str, pl.DataType] = {
    "weight": pl.Float64(),
    "judge": pl.String(),
    "candidates": pl.List(pl.String()),
}
"""Columns that orders may have, and their types."""


def items_schema(d: int, *, named: bool = False) -> pl.Schema:
    """Return the schema of items with d features, with or without the column ``name``."""
    schema = pl.Schema(
        {"query_id": pl.String(), "item": pl.UInt32(), "label": pl.Float32(), "x": pl.Array(pl.Float32, d)}
    )
    if named:
        schema["name"] = pl.String()
    return schema


def comparisons_schema(columns: pl.Schema) -> pl.Schema:
    """Return the schema of comparisons with those of the optional columns that are among `columns`.

    ``time`` has the type that it has there; texts get that of their reading
    (`rankbench.data.tables.comparisons.times.TimeReading`).
    """
    result: dict[str, pl.DataType] = {name: pl.String() for name in COMPARISONS}
    for name, dtype in COMPARISONS_OPTIONAL.items():
        if name in columns:
            result[name] = columns[name] if dtype is None else dtype
    return pl.Schema(result)


def selections_schema(*, part: bool) -> pl.Schema:
    """Return the schema of selections, with or without the column ``part``."""
    schema = pl.Schema(
        {
            "query_id": pl.String(),
            "session_id": pl.String(),
            "shown": pl.List(pl.String()),
            "clicked": pl.List(pl.UInt32()),
        }
    )
    if part:
        schema["part"] = pl.String()
    return schema


def orders_schema(columns: Iterable[str]) -> pl.Schema:
    """Return the schema of orders with those of the optional columns that are among `columns`."""
    optional = {name: dtype for name, dtype in ORDERS_OPTIONAL.items() if name in columns}
    return pl.Schema({"query_id": pl.String(), "ranking": pl.List(pl.List(pl.String()))} | optional)


def features(schema: pl.Schema) -> int:
    """Return the number of features d of an items schema."""
    dtype = schema["x"]
    if not isinstance(dtype, pl.Array):
        raise InputError(f"features must be Array(Float32, d), not {dtype}", column="x")
    return dtype.size


def table_of(schema: pl.Schema, path: Path | None = None) -> Table:
    """Return which table these columns make.

    Raises
    ------
    InputError
        None: the missing column is named, with the nearest one that is there.
    """
    names = schema.names()
    table: Table = "items"
    wanted: tuple[str, ...] = ("query_id", "label")
    if "winner" in names or "loser" in names:
        wanted, table = COMPARISONS, "comparisons"
    elif "shown" in names or "clicked" in names:
        wanted, table = SELECTIONS, "selections"
    elif "ranking" in names:
        wanted, table = ORDERS, "orders"
    for name in wanted:
        if name not in names:
            near = nearest(name, names)
            raise InputError(
                f"column {name!r} is missing, which {table} must have"
                f"{near if near.startswith('; did') else ''} (columns here: {listed(names)})",
                path=path,
            )
    return table
