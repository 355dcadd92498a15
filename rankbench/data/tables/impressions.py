"""Impressions become sessions: a row an impression, or several clicks of a session.

A selection of the papers is one position, or nothing ([DMJ13]_ section 5.2); real sessions
have several clicks, and clicks on items that were not in the list. The treatment of these
changes the judgments, so it is declared, never silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.cells import (
    different,
    number_of,
    read_rows,
    refuse_first,
    refuse_no_names,
    text_of,
    without_missing,
)
from rankbench.data.tables.codes import refuse_code
from rankbench.data.tables.doubts import refuse_alike, refuse_blanks
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import BOOLEANS, RawTable, ReadTable

_NEEDED = ("session", "position", "doc", "clicked")


def read_clicks(raw: RawTable, reading: Reading) -> ReadTable:
    """Return clicks by a reading, a row an item that was shown, as lists: a table of the kind `selections`.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        It has ``session``, ``position``, ``doc`` and ``clicked``, and may have ``query``; rows with a word that says
        ``missing`` are left out.

    Raises
    ------
    InputError
        With its row: an invalid value.
    Unread
        A cell may say nothing, or a number may be a code.
    """
    raw, reading, applied = read_rows(raw, reading)
    roles, notes = {role: name for role in (*_NEEDED, "query") if (name := reading.first[role])}, list[str]()
    raw = _told_apart(raw, reading, roles, (*_NEEDED, "query"), notes)
    for name in (roles["position"], roles["clicked"]):
        refuse_code(raw, {name: number_of(text_of(name))}, reading)
    refuse_alike(different(raw, [pl.col(roles["doc"])]), reading, raw, roles["doc"])
    lists, facts = _shown_lists(raw, roles)
    count = raw.collect(lists.frame.select(pl.len())).item()
    counts = {"shown": facts["rows"], "clicked": facts["clicks"], "lists": count}
    first = f"position from {1 if facts['lowest'] else 0}"
    line = f"{roles['session']}, {first}, {roles['doc']}, clicked {facts['clicks']:,} of {facts['rows']:,}"
    notes += _click_notes(facts)
    return ReadTable(lists, applied, (line, count_text(count, "list")), counts, tuple(notes))


def _told_apart(
    raw: RawTable, reading: Reading, roles: Mapping[str, str], full: Sequence[str], notes: list[str]
) -> RawTable:
    """Return the rows in which cells of some roles say something, with the names of sessions, queries and docs."""
    columns = [roles[role] for role in full if role in roles]
    refuse_blanks(raw, columns, reading)
    raw = without_missing(raw, columns, reading.words.get("missing", ()), notes)
    ids = ([roles[role]] for role in ("session", "query", "doc") if role in roles)
    with raw.located():
        return replace(raw, frame=with_whole_names(raw.frame, *ids, notes=notes, rows=None))


def read_lists(raw: RawTable, reading: Reading) -> ReadTable:
    """Return lists that were shown, a row each, under the names of the kind `selections`.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        It has ``session``, ``shown`` and ``clicked``, and may have ``query`` and ``part``.

    Raises
    ------
    InputError
        A column is not there.
    """
    raw, reading, applied = read_rows(raw, reading, ("shown", "clicked"))
    roles = {role: name for role in ("session", "shown", "clicked", "query", "part") if (name := reading.first[role])}
    notes = list[str]()
    raw = _told_apart(raw, reading, roles, ("session", "query"), notes)
    query = pl.col(roles["query"]) if "query" in roles else pl.lit("all")
    columns = {"query_id": query, "session_id": pl.col(roles["session"])}
    columns |= {role: pl.col(roles[role]) for role in ("shown", "clicked", "part") if role in roles}
    frame = raw.frame.select(**columns)
    count = raw.collect(frame.select(pl.len())).item()
    line = ", ".join(name for role, name in roles.items() if role != "part")
    table = replace(raw, frame=frame, roles=roles)
    return ReadTable(table, applied, (line, count_text(count, "list")), {"lists": count}, tuple(notes))


def _click_notes(facts: Mapping[str, int]) -> list[str]:
    """Return notes on unusual facts in impressions."""
    notes = []
    if several := facts["several"]:
        clicked_again = count_text(several, "item", "shown once with several clicks")
        notes.append(f"rankbench counts {clicked_again} as clicked once")
    if not facts["lowest"]:
        notes.append("rankbench counts positions from 0, the top of the list")
    if facts["clicks"] == facts["rows"]:
        notes.append("all items shown were clicked: a log of clicks alone does not say which items were passed over")
    return notes


def _shown_lists(raw: RawTable, roles: Mapping[str, str]) -> tuple[RawTable, dict[str, int]]:
    """Return impressions as lists, and facts: rows, clicks, the lowest position, and items clicked several times.

    Where the first position of all is 0 positions count from 0.

    Raises
    ------
    InputError
        With its row.
    """
    refuse_no_names(raw, [roles[role] for role in ("session", "query", "doc") if role in roles])
    position = pl.col(roles["position"]).cast(pl.Float64, strict=False)
    clicked = _flag(roles["clicked"])
    good = (position >= 0) & (position < 2**31) & (position == position.floor())
    wrong = {roles["position"]: ~good.fill_null(False), roles["clicked"]: clicked.is_null()}
    what = dict(zip(wrong, _WRONG, strict=True))
    refuse_first(raw, wrong, lambda cell, column: InputError(f"{short_repr(cell)} {what[column]}", column=column))
    several = text_of(roles["clicked"]).cast(pl.Float64, strict=False) > 1
    looked_at = {"lowest": position.min(), "several": several.sum(), "clicks": clicked.sum(), "rows": pl.len()}
    facts = raw.collect(raw.frame.select(**looked_at)).row(0, named=True)
    place = (position - (1 if facts["lowest"] else 0) + 1).cast(pl.UInt32)
    rows = raw.frame.select(
        (text_of(roles["query"]) if "query" in roles else pl.lit("all")).alias("query_id"),
        text_of(roles["session"]).alias("session_id"),
        text_of(roles["doc"]).alias("doc"),
        place.alias("place"),
        clicked.alias("clicked"),
    )
    lists = rows.group_by("query_id", "session_id").agg(
        pl.col("doc").sort_by("place").alias("shown"),
        pl.col("place").filter(pl.col("clicked")).sort().alias("clicked"),
        pl.col("place").sort().alias("places"),
    )
    # In one order, for any order of rows and of groups.
    ordered = lists.sort("query_id", "session_id")
    return replace(raw, frame=ordered, roles=roles, locate=lambda row: (raw.path, None)), facts


_WRONG = (
    "is no position: a whole number, 1 (or 0) at the top",
    "does not say whether there was a click: 1 or 0, true or false",
)


def _flag(name: str) -> pl.Expr:
    """Return whether there was a click; a whole number of clicks is one."""
    text = text_of(name).str.to_lowercase()
    number = text.cast(pl.Float64, strict=False)
    whole = pl.when((number >= 0) & (number == number.floor())).then(number > 0)
    return whole.otherwise(text.replace_strict(BOOLEANS, default=None))


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
        In the schema, rows in the same order. Positions are of items shown, each at
        most once in a row; except with ``several="all"``, a row has at most one. ``each``
        adds ``#1``, ``#2``, ... to the session ids of the rows that it splits.

    Raises
    ------
    InputError
        ``off_list="error"`` and there is such a click: its session is named.
    """
    rows = frame.with_row_index("_row").with_columns(_size=pl.col("shown").list.len())
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
    """Return the numbers of clicks on items shown, outside of the list, and on items clicked before in a session.

    Parameters
    ----------
    frame : DataFrame
        Selections in the schema of `rankbench.data.tables`.
    """
    rows = frame.select("clicked", _size=pl.col("shown").list.len()).with_row_index("_row")
    clicks = rows.explode("clicked", empty_as_null=False)
    shown = clicks.filter(pl.col("clicked") <= pl.col("_size"))
    distinct = shown.select("_row", "clicked").n_unique()
    return distinct, clicks.height - shown.height, shown.height - distinct
