"""Selections (clicks), in any order; positions are counted from 1, the top of the list.

==============  ================  =====================================================
``query_id``    String
``session_id``  String
``shown``       List(String)      names of different items, the top of the list first
``clicked``     List(UInt32)      positions, in the order of the clicks; empty: none. The
                                  position after the last is a click outside of the list
``part``        String, optional  the part that the session was published in
==============  ================  =====================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "OPTIONAL", "selections_schema"]

COLUMNS: tuple[str, ...] = ("query_id", "session_id", "shown", "clicked")
"""Columns that selections must have, in order."""

OPTIONAL: tuple[str, ...] = ("part",)
"""Columns that selections may have besides."""


def selections_schema(*, part: bool) -> pl.Schema:
    """Return the schema of selections, with or without the column ``part``."""
    import polars as pl

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
