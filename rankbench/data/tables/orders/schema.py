"""Orders (ballots), in any order.

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "OPTIONAL", "RANKS", "SAYS_NOTHING", "orders_schema"]

COLUMNS: tuple[str, ...] = ("query_id", "ranking")
"""Columns that orders must have, in order."""

OPTIONAL: tuple[str, ...] = ("weight", "judge", "candidates")
"""Columns that orders may have besides."""

RANKS: tuple[str, ...] = tuple(f"rank{k}" for k in range(1, 31))
"""Roles of the columns of ballots that have one for each rank, the best first."""

SAYS_NOTHING = "says_nothing"
"""Column of a raw table of whether a ballot ranks nobody."""


def orders_schema(columns: Iterable[str]) -> pl.Schema:
    """Return the schema of orders with those of the optional columns that are among `columns`."""
    import polars as pl

    found = set(columns)
    types = {"weight": pl.Float64(), "judge": pl.String(), "candidates": pl.List(pl.String())}
    optional = {name: types[name] for name in OPTIONAL if name in found}
    return pl.Schema({"query_id": pl.String(), "ranking": pl.List(pl.List(pl.String()))} | optional)
