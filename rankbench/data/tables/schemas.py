"""Schemas define the columns of the five built-in kinds of tables.

================  ===================  ====================================================
``query_id``      String
``winner``        String               name of an item
``loser``         String               name of another item
``weight``        Float64, optional    weight of one vote; positive and finite
``count``         Int64, optional      how many votes the row is, if all are too many for a row each; positive
``judge``         String, optional
``time``          optional             a number, Date, Datetime or Duration: `rankbench.data.tables.times`
``tie``           Boolean, optional    true: neither won
``first``         Boolean, optional    whether the winner was shown first (on the left)
``rest_of_vote``  Boolean, optional    true: the points that the other item has of the vote in the row before
================  ===================  ====================================================

A vote whose points are split has two rows, each item the winner of one; their weights are its points, times its weight.

Files may call the columns otherwise: `rankbench.interfaces.reading`.

============  ===================  ====================================================
``query_id``  String
``item``      UInt32               position in the query, from 0
``label``     Float32              graded relevance; null without a judgment
``x``         Array(Float32, d)    features
``name``      String, optional     what the item is, where several queries share items
============  ===================  ====================================================

==============  ======================  ===============================================
``query_id``    String
``ranking``     List(List(String))      places, the best first: the names of the items on
                                        each, several if they are tied
``weight``      Float64, optional       weight of one ballot; positive and finite
``count``       Int64, optional         how many voters cast it; positive
``judge``       String, optional
``time``        optional                a number, Date, Datetime or Duration, as of comparisons
``candidates``  List(String), optional  all items of the query, the same in all its rows;
                                        without it, those that its ballots name
==============  ======================  ===============================================

==============  ================  =====================================================
``query_id``    String
``session_id``  String
``shown``       List(String)      names of different items, the top of the list first
``clicked``     List(UInt32)      positions, in the order of the clicks; empty: none. The
                                  position after the last is a click outside of the list
``part``        String, optional  the part that the session was published in
==============  ================  =====================================================

============  ===================  =====================================================
``query_id``  String               the task
``system``    String
``score``     Float64              null where the cell is missing; else finite
``seed``      String, optional     which run, draw or bootstrap iteration it is of
``less``      Boolean, optional    true: less is better on the task
============  ===================  =====================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rankbench.data.tables.covariates import ControlTerm, VotePrediction
from rankbench.errors import InputError

SHARE = "share"
"""Column of a raw table: the share of a vote that the first of two items has, where it is divided."""

REST = "rest_of_vote"
"""Column of comparisons that is true in the second row of a vote whose points are split; rows of one vote adjoin."""

LEFT_OUT = "left_out"
"""Column of a raw table of whether a row is left out: nothing was said, as of a match that was not played."""

MOST_GAMES = 1_000_000
"""Games of a row, each way; a row is as many votes."""

GAMES = ("left_games", "right_games", "level_games")
"""Columns of a raw table of series: how many games of a row the left won, the right won, and neither did."""


def comparisons_schema(columns: pl.Schema, terms: Iterable[ControlTerm | VotePrediction] = ()) -> pl.Schema:
    """Return the schema of comparisons, with the optional columns that are among `columns`.

    ``time`` has the type that it has there; texts get that of their reading
    (`rankbench.data.tables.times.TimeReading`). Behind them stand the covariates and predictions of `terms`,
    of the left one less the right one: see `rankbench.data.tables.covariates`.
    """
    required: dict[str, pl.DataType] = {"query_id": pl.String(), "winner": pl.String(), "loser": pl.String()}
    optional = {
        "weight": pl.Float64(),
        "count": pl.Int64(),
        "judge": pl.String(),
        "time": columns.get("time", pl.Null()),
        "tie": pl.Boolean(),
        "first": pl.Boolean(),
        REST: pl.Boolean(),
    }
    result = _with_optional(required, optional, [*columns, *(("weight", REST) if SHARE in columns else ())])
    for term in terms:
        result[term.name] = pl.Float64()
    return result


def _with_optional(
    required: Mapping[str, pl.DataType], optional: Mapping[str, pl.DataType], columns: Iterable[str]
) -> pl.Schema:
    found = set(columns)
    return pl.Schema({**required, **{name: dtype for name, dtype in optional.items() if name in found}})


def items_schema(d: int, *, named: bool = False) -> pl.Schema:
    """Return the schema of items with d features, with or without the column ``name``."""
    required: dict[str, pl.DataType] = {"query_id": pl.String(), "item": pl.UInt32(), "label": pl.Float32()}
    return _with_optional(required | {"x": pl.Array(pl.Float32, d)}, {"name": pl.String()}, ["name"] if named else [])


def features(schema: pl.Schema) -> int:
    """Return the number of features d of an items schema."""
    dtype = schema["x"]
    if not isinstance(dtype, pl.Array):
        raise InputError(f"features must be Array(Float32, d), not {dtype}", column="x")
    return dtype.size


SAYS_NOTHING = "says_nothing"
"""Column of a raw table: whether a ballot ranks no item."""

NO_NAMES = "no_names"
"""Column of a raw table of the words, in small letters, that name no item of a ranking; all other words do."""


def orders_schema(columns: Iterable[str], time: pl.DataType | None = None) -> pl.Schema:
    """Return the schema of orders, with the optional columns that are among `columns`.

    ``time`` has the type `time`.
    """
    required: dict[str, pl.DataType] = {"query_id": pl.String(), "ranking": pl.List(pl.List(pl.String()))}
    optional = {"weight": pl.Float64(), "count": pl.Int64(), "judge": pl.String(), "time": time or pl.Null()}
    optional |= {"candidates": pl.List(pl.String())}
    return _with_optional(required, optional, columns)


def selections_schema(*, part: bool) -> pl.Schema:
    """Return the schema of selections, with or without the column ``part``."""
    required: dict[str, pl.DataType] = {"query_id": pl.String(), "session_id": pl.String()}
    required |= {"shown": pl.List(pl.String()), "clicked": pl.List(pl.UInt32())}
    return _with_optional(required, {"part": pl.String()}, ["part"] if part else [])


def measurements_schema(columns: Iterable[str]) -> pl.Schema:
    """Return the schema of measurements, with the optional columns that are among `columns`."""
    required = {"query_id": pl.String(), "system": pl.String(), "score": pl.Float64()}
    return _with_optional(required, {"seed": pl.String(), "less": pl.Boolean()}, columns)
