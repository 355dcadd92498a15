"""What becomes of sessions with several clicks, and of clicks outside of the shown list.

A selection of the papers is one position, or nothing ([DMJ13]_ section 5.2); real sessions
have several clicks, and clicks on items that were not in the list. What is done about them
changes the judgments, so it is declared, never silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rankbench.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["OffList", "Several", "count_clicks", "reduce_clicks"]

Several: TypeAlias = Literal["all", "first", "last", "each", "drop"]
"""Policies for sessions with clicks on several positions.

``all`` keeps them; ``first`` and ``last`` keep the earliest or the latest; ``each`` makes a
selection of its own of each; ``drop`` leaves such sessions out. A position clicked again is
the same click.
"""

OffList: TypeAlias = Literal["drop", "no-click", "error"]
"""Policies for clicks outside of the shown list.

``drop`` forgets them, before `Several` is looked at; ``no-click`` takes one as the choice of
nothing on the list: where it is the click that `Several` keeps, nothing was selected;
``error`` refuses them.
"""


def reduce_clicks(frame: pl.DataFrame, several: Several = "all", off_list: OffList = "drop") -> pl.DataFrame:
    """Return selections with the clicks that the policies leave.

    Parameters
    ----------
    frame : DataFrame
        Selections in the schema of `rankbench.data.tables`.
    several : Several
    off_list : OffList

    Returns
    -------
    DataFrame
        In the schema, rows in the same order. Positions are those of items shown, each at
        most once in a row; except with ``several="all"``, a row has at most one. ``each``
        adds ``#1``, ``#2``, ... to the session ids of the rows that it splits.

    Raises
    ------
    InputError
        ``off_list="error"`` and there is such a click: its session is named.
    """
    import polars as pl

    size = pl.col("shown").list.len()
    rows = frame.with_row_index("_row").with_columns(_size=size)
    clicks = (
        rows.select("_row", "_size", "clicked")
        .explode("clicked", empty_as_null=False)
        .unique(["_row", "clicked"], keep="first", maintain_order=True)
        .with_columns(_off=pl.col("clicked") > pl.col("_size"))
    )
    if off_list == "error" and clicks["_off"].any():
        row = clicks.filter("_off")["_row"][0]
        raise InputError(
            f"session {frame['session_id'][row]!r} of query {frame['query_id'][row]!r} has a click outside of the "
            "list; choose to drop such clicks, or to take them as no click"
        )
    if off_list == "drop" or several == "all":
        clicks = clicks.filter(~pl.col("_off"))
    if several == "drop":
        busy = clicks.group_by("_row").len().filter(pl.col("len") > 1)
        rows = rows.join(busy, on="_row", how="anti", maintain_order="left")
        clicks = clicks.join(busy, on="_row", how="anti", maintain_order="left")
    elif several in ("first", "last"):
        clicks = clicks.unique("_row", keep="first" if several == "first" else "last", maintain_order=True)
    if several == "each":
        made = clicks.with_columns(
            _number=pl.int_range(1, pl.len() + 1).over("_row"), _of=pl.len().over("_row")
        ).select("_row", "_number", "_of", _click=pl.when(~pl.col("_off")).then("clicked"))
    else:
        kept = clicks.filter(~pl.col("_off")).group_by("_row", maintain_order=True).agg(_click="clicked")
        made = kept.with_columns(_number=pl.lit(1), _of=pl.lit(1))
    joined = rows.drop("clicked").join(made, on="_row", how="left", maintain_order="left_right")
    click = pl.col("_click")
    split = pl.concat_str("session_id", pl.lit("#"), "_number")
    lists = pl.when(click.is_null()).then(pl.lit([], pl.List(pl.UInt32)))
    return joined.with_columns(
        clicked=lists.otherwise(click if several != "each" else click.reshape((-1, 1)).arr.to_list()),
        session_id=pl.when((pl.col("_of") > 1).fill_null(False)).then(split).otherwise("session_id"),
    ).select(frame.columns)


def count_clicks(frame: pl.DataFrame) -> tuple[int, int, int]:
    """Return the numbers of clicks on items shown, outside of the list, and on what a session had clicked before.

    Parameters
    ----------
    frame : DataFrame
        Selections in the schema of `rankbench.data.tables`.
    """
    import polars as pl

    rows = frame.select("clicked", _size=pl.col("shown").list.len()).with_row_index("_row")
    clicks = rows.explode("clicked", empty_as_null=False)
    shown = clicks.filter(pl.col("clicked") <= pl.col("_size"))
    distinct = shown.select("_row", "clicked").n_unique()
    return distinct, clicks.height - shown.height, shown.height - distinct
