"""Columns of ballots: the rows to read, and the columns beside a ballot: queries, judges, weights, counts, times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.cells import (
    read_rows,
    refuse_no_names,
    says,
    text_of,
    times_of,
    unread_columns,
)
from rankbench.data.tables.codes import refuse_odd_time
from rankbench.data.tables.doubts import refuse_blanks
from rankbench.data.tables.schemas import SAYS_NOTHING
from rankbench.data.tables.weights import checked_weights, weight_of
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.interfaces.reading import Reading, has_wildcards
from rankbench.interfaces.table_check import RawTable, ReadTable

KEYS = ("query", "judge")
"""Roles of the columns of names beside a ballot."""

BESIDE = ("weight", "count", "time", "candidates")
"""Roles of other columns beside a ballot."""


@dataclass(frozen=True)
class BallotSource:
    """A table of ballots before it is read.

    Attributes
    ----------
    raw : RawTable
        The rows that are read.
    reading : Reading
        Each key is one column.
    applied : Reading
        In the columns of the file.
    given : Reading
        With its patterns.
    unread : list of str
        Columns of single values that no role reads.
    notes : list of str
    """

    raw: RawTable
    reading: Reading
    applied: Reading
    given: Reading
    unread: list[str]
    notes: list[str] = field(default_factory=list)

    def words(self, meaning: str) -> tuple[str, ...]:
        """Return the words with a meaning."""
        return self.reading.words.get(meaning, ())


def ballot_source(raw: RawTable, reading: Reading) -> BallotSource:
    """Return the rows of a table that a reading reads, with one column for each key.

    Raises
    ------
    InputError
        A column is not there, or holds lists where names must stand.
    """
    rows, *readings = read_rows(raw, reading, ("ranking", "candidates"))
    joined, applied = (_in_order(one, reading) for one in readings)
    groups, notes = [joined.all(role) for role in (*KEYS, "item", "ranks")], list[str]()
    if joined.first["best"] or joined.first["worst"]:  # else they are columns of places
        groups.append(joined.all("items"))
    with rows.located():
        rows = replace(rows, frame=with_whole_names(rows.frame, *groups, notes=notes, rows=None))
    return BallotSource(rows, joined, applied, reading, unread_columns(raw, applied), notes)


def _in_order(applied: Reading, given: Reading) -> Reading:
    """Return a reading with ranks that a pattern names in the order of their numbers."""
    ranks = applied.all("ranks")
    if not any(map(has_wildcards, given.all("ranks"))) or not all(re.search(r"\d", name) for name in ranks):
        return applied
    return applied.with_(
        {"ranks": tuple(sorted(ranks, key=lambda name: [int(number) for number in re.findall(r"\d+", name)]))}
    )


def a_row_each(
    source: BallotSource, ballots: Sequence[pl.Expr], nothing: pl.Expr, roles: dict[str, str], parts: Sequence[str]
) -> ReadTable:
    """Return the ballots of a table whose rows are a ballot each.

    Parameters
    ----------
    source : BallotSource
    ballots : sequence of Expr
        The column ``ranking``, and others of the raw table of orders.
    nothing : Expr
        Whether a ballot ranks no item.
    roles : dict of str to str
        Columns that errors name.
    parts : sequence of str
        Parts of the line that states the reading.
    """
    raw = source.raw
    columns, weighed, gone = beside_columns(source)
    if gone is not None:
        nothing |= gone
    frame = raw.frame.select(*columns.values(), *ballots, nothing.alias(SAYS_NOTHING))
    roles |= {role: name for role in (*KEYS, *BESIDE) if (name := source.applied.first[role])}
    table = replace(raw, frame=frame, roles=roles)
    counted = raw.collect(frame.select((~pl.col(SAYS_NOTHING)).sum(), pl.len().alias("rows")))
    count, rows = counted.row(0)
    counts = {"ballots": count, **({"left out": rows - count} if rows > count else {})}
    return ReadTable(table, source.applied, (*parts, *weighed), counts, tuple(source.notes))


def beside_columns(source: BallotSource) -> tuple[dict[str, pl.Expr], list[str], pl.Expr | None]:
    """Return the columns beside a ballot by their names in the schema, a text on each, and rows of weight 0.

    Raises
    ------
    InputError, Unread
        A name is missing; a weight or a count is no number.
    """
    raw, reading, missing = source.raw, source.reading, source.words("missing")
    columns, parts = {"query": pl.lit("all").alias("query_id")}, list[str]()
    gone, or_missing = None, " or missing" * bool(missing)
    if name := reading.first["query"]:
        refuse_blanks(raw, [name], reading)
        columns["query"] = key_names(source, name).alias("query_id")
        gone = says(text_of(name), missing) if missing else None
    if name := reading.first["judge"]:
        refuse_blanks(raw, [name], with_empty(reading))  # the ballot's judge is unknown
        text = key_names(source, name)
        columns["judge"] = pl.when((text != "") & ~says(text, missing)).then(text).alias("judge")
    if reading.first["time"]:
        refuse_odd_time(raw, reading)
        columns["time"] = times_of(raw, reading).alias("time")
    if name := reading.first["candidates"]:
        columns["candidates"] = pl.col(name).alias("candidates")
    for role in ("weight", "count"):
        if name := reading.first[role]:
            value, weighed = weight_of(raw, role, reading), checked_weights(raw, role, reading)
            columns[role] = value.alias(role)
            if weighed.zero:
                which = f"whose {short_repr(name)} is 0{or_missing}"
                source.notes.append(f"rankbench leaves out {count_text(weighed.zero, 'row', which)}")
            if role == "weight":
                gone = value == 0 if gone is None else gone | (value == 0)
            parts.append(weighed.text(name, role))
    return columns, parts, gone


def with_empty(reading: Reading) -> Reading:
    """Return a reading that accepts empty cells."""
    return reading.model_copy(update={"words": {**reading.words, "name": (*reading.words.get("name", ()), "")}})


def key_names(source: BallotSource, name: str) -> pl.Expr:
    """Return the names in a column of queries, judges or items."""
    refuse_no_names(source.raw, [name])
    return text_of(name)
