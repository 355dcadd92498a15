"""Comparisons (votes), in any order.

================  ===================  ====================================================
``query_id``      String
``winner``        String               name of an item
``loser``         String               name of another item
``weight``        Float64, optional    positive and finite
``judge``         String, optional
``time``          optional             a number, Date, Datetime or Duration: `rankbench.data.tables.comparisons.times`
``tie``           Boolean, optional    true: neither won
``first``         Boolean, optional    whether the winner was shown first (on the left)
``rest_of_vote``  Boolean, optional    true: the points that the other item has of the vote in the row before
================  ===================  ====================================================

A vote whose points are split has two rows, each item the winner of one; their weights are its points, times its weight.

Files may call the columns otherwise: `rankbench.data.tables.comparisons.column_meanings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "GAMES", "OPTIONAL", "REST", "SHARE", "comparisons_schema"]

COLUMNS: tuple[str, ...] = ("query_id", "winner", "loser")
"""Columns that comparisons must have, in order."""

OPTIONAL: tuple[str, ...] = ("weight", "judge", "time", "tie", "first", "rest_of_vote")
"""Columns that comparisons may have besides."""

SHARE = "share"
"""Column of a raw table: the share of a vote that the first of two items has, where it is divided."""

REST = "rest_of_vote"
"""Column of comparisons that is true in the second row of a vote whose points are split; rows of one vote adjoin."""

GAMES = ("left_games", "right_games", "level_games")
"""Columns of a raw table of series: how many games of a row the left won, the right won, and neither did."""


def comparisons_schema(columns: pl.Schema, control: str = "") -> pl.Schema:
    """Return the schema of comparisons with those of the optional columns that are among `columns`.

    ``time`` has the type that it has there; texts get that of their reading
    (`rankbench.data.tables.comparisons.times.TimeReading`). Behind them stand the covariates that `control` names, of
    the left one less the right one: see `rankbench.data.tables.comparisons.controls`.
    """
    import polars as pl

    from rankbench.data.tables.comparisons.controls import CONTROL, parse_control

    types = {
        "weight": pl.Float64(),
        "judge": pl.String(),
        "tie": pl.Boolean(),
        "first": pl.Boolean(),
        REST: pl.Boolean(),
    }
    result: dict[str, pl.DataType] = {name: pl.String() for name in COLUMNS}
    for name in OPTIONAL:
        if name in columns or (name in ("weight", REST) and SHARE in columns):
            result[name] = types[name] if name in types else columns[name]
    for term in parse_control(control) if control else ():
        result[f"{CONTROL}{term}"] = pl.Float64()
    return pl.Schema(result)
