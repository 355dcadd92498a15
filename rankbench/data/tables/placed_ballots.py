"""Ballots are read from places, or points: a row for each item, a column for each judge, or a column for each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.ballot_columns import (
    BallotSource,
    beside_columns,
    key_names,
    with_empty,
)
from rankbench.data.tables.ballot_doubts import (
    UNREAD,
    no_number,
    refuse_items_twice,
    refuse_no_items,
    refuse_uneven,
    refuse_unread_key,
)
from rankbench.data.tables.cells import (
    ROW,
    first_row,
    form_of,
    items_text,
    missing_number,
    number_of,
    only_rows,
    says,
    text_of,
    times_of,
)
from rankbench.data.tables.codes import refuse_code, refuse_odd_time
from rankbench.data.tables.doubts import refuse_alike, refuse_blanks, refuse_grouped
from rankbench.data.tables.schemas import NO_NAMES, SAYS_NOTHING
from rankbench.data.tables.totals import refuse_totals
from rankbench.data.tables.weights import Weighed, checked_weights, weight_of
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import expression_of, fits, has_wildcards, names_text
from rankbench.interfaces.table_check import RawTable, ReadTable

_LAST = float("inf")
"""Place of items that did not finish."""

_SHOWN = 8


def of_matrix(source: BallotSource) -> ReadTable:
    """Return the ballots of a table with a column an item and a row a ballot; empty cells are unranked."""
    raw, reading = source.raw, source.reading
    how = reading.first["cells"]
    if how not in ("place", "points"):
        raise Unread(
            f"{listed(reading.all('items')[:3])} hold places, or points?",
            f"{option('columns', 'cells=place')} if less is better, cells=points if more is",
            code="roles",
        )
    labels = _labels(source)
    keys = _keys_of(source, list(labels), how, empty=True)
    refuse_no_items(source, keys, how)
    empty = _counted(raw, {name: text_of(name) == "" for name in labels})
    if empty and "" not in (*source.words("missing"), *source.words("last")):
        source.notes.append(
            f"rankbench compares no item whose cell is empty, {count_text(empty, 'cell')} "
            f"({option('words', 'last=')} places such items behind the others)"
        )
    raw = only_rows(raw, pl.any_horizontal(key.is_not_null() for key in keys.values()))
    source = replace(source, raw=raw)
    columns, parts, gone = beside_columns(source)
    marked = {f"\0{role}": column.alias(f"\0{role}") for role, column in columns.items()}
    out = (gone if gone is not None else pl.lit(value=False)).alias("\0out")
    cells = [key.alias(labels[name]) for name, key in keys.items()]
    wide = raw.frame.with_row_index(ROW).select(ROW, *marked.values(), out, *cells)
    rows = wide.unpivot(
        list(labels.values()), index=[ROW, *marked, "\0out"], variable_name="\0item", value_name="\0key"
    )
    there = rows.filter(pl.col("\0key").is_finite())
    sides = {"\0item": ("item", ()), ROW: ("row", None)}
    row = (pl.col(ROW) + raw.header + 1).cast(pl.String)
    refuse_totals(raw, reading, there.select(row, "\0item", value="\0key"), sides)
    table, count = _ballots(source, rows, [ROW], list(marked), "items")
    said = [f"{'points' if how == 'points' else 'places'}, a row a ballot", items_text(list(labels.values()))]
    return _read(source, table, [*said, *parts], list(keys), {"ballots": count})


def _labels(source: BallotSource) -> dict[str, str]:
    """Return the name of each column's item: the part that matches a pattern's ``*``, or the column's name."""
    columns = source.reading.all("items")
    patterns = [name for name in source.given.all("items") if has_wildcards(name) and name not in columns]
    found = {}
    for name in columns:
        found[name] = name.strip()
        for pattern in patterns:
            if pattern.count("*") == 1 and len(pattern) > 1 and fits(name, pattern):
                before, _, after = pattern.partition("*")
                text = pl.Series([name]).str.extract(f"(?s)^{expression_of(before)}(.*){expression_of(after)}$")[0]
                found[name] = str(text).strip()
    twice = [name for name, label in found.items() if not label or list(found.values()).count(label) > 1]
    if twice:
        raise InputError(
            f"{listed(twice[:3])} would be items of one name, or of none: name the columns instead of a pattern",
            column=twice[0],
        )
    refuse_alike(found.values(), source.reading, source.raw, columns[0])
    if len(found) < 2:
        raise Unread("one item alone is no ballot", option("columns", "items=____|____"), code="roles")
    return found


def of_placed_rows(source: BallotSource, form: str) -> ReadTable:
    """Return the ballots of a row for each item of a query, with its place or its points, or that of each judge."""
    raw, reading = source.raw, source.reading
    columns = reading.all(form)
    keys = [role for role in ("query", "judge") if reading.first[role]]
    item = reading.first["item"]
    if not item or not keys:
        raise Unread(
            "ballots of a row for each item need the item, and the query or the judge that it is of",
            f"{option('columns', 'query=____,item=____,' + names_text({form: columns}))}",
            code="roles",
        )
    names = [*(reading.first[role] for role in keys), item]
    refuse_blanks(raw, names, reading)
    many = form == "places"
    values = _keys_of(source, columns, "points" if form == "points" else "place", empty=many)
    out = pl.all_horizontal(value.is_null() for value in values.values())
    if words := source.words("missing"):
        out |= pl.any_horizontal(says(text_of(name), words) for name in names)
    gone = raw.facts(out.sum())[0]
    source = replace(source, raw=only_rows(raw, ~out))
    rows, beside = _rows(source, keys, values)
    by = [f"\0{role}" for role in keys]
    refuse_items_twice(source, rows, by)
    refuse_uneven(source, rows, by, beside)
    items = raw.collect(rows.select("\0item").unique()).to_series().sort().to_list()
    refuse_alike(items, reading, raw, item)
    if not many:
        refuse_unread_key(source, rows, by, columns[0])
    what = "points" if form == "points" else "places"
    said = [f"{', '.join(columns[:6])}: {what} of {item} by {', '.join(names[:-1])}", items_text(items)]
    return _long(source, rows, keys, beside, said, gone)


def _rows(source: BallotSource, keys: Sequence[str], values: Mapping[str, pl.Expr]) -> tuple[pl.LazyFrame, list[str]]:
    """Return numbered rows with their keys, items, weights and places, and columns that are not read; and roles beside.

    Columns of roles begin with the character 0.
    """
    reading = source.reading
    named = {role: key_names(source, reading.first[role]) for role in (*keys, "item")}
    beside = {role: weight_of(source.raw, role, reading) for role in ("weight", "count") if reading.first[role]}
    for role in beside:
        checked_weights(source.raw, role, reading)
    if reading.first["time"]:
        refuse_odd_time(source.raw, reading)
        beside["time"] = times_of(source.raw, reading)
    columns = [text.alias(f"\0{role}") for role, text in (named | beside).items()]
    columns += [value.alias(name) for name, value in values.items()]
    columns += [text_of(name).alias(f"{UNREAD}{name}") for name in source.unread]
    return source.raw.frame.with_row_index(ROW).select(ROW, *columns), list(beside)


def _long(
    source: BallotSource,
    rows: pl.LazyFrame,
    keys: Sequence[str],
    beside: Sequence[str],
    said: Sequence[str],
    gone: int,
) -> ReadTable:
    """Return the table of ballots of rows that have been checked."""
    form = next(role for role in ("places", "place", "points") if source.reading.first[role])
    columns = source.reading.all(form)
    kept = [f"\0{role}" for role in (*keys, *beside)]
    by = [f"\0{role}" for role in keys]
    rows = rows.unpivot(columns, index=[ROW, *kept, "\0item"], variable_name="\0column", value_name="\0key")
    sides = {f"\0{role}": (role, source.applied.all(role)) for role in (*keys, "item")} | {"\0column": ("column", ())}
    there = rows.filter(pl.col("\0key").is_finite()).select(*sides, value="\0key")
    refuse_totals(source.raw, source.reading, there, sides)
    if form == "places":
        whose = [pl.col("\0judge")] if "judge" in keys else []
        rows = rows.with_columns(pl.concat_str([*whose, pl.col("\0column")], separator=" / ").alias("\0judge"))
        by, kept = list(dict.fromkeys([*by, "\0judge"])), list(dict.fromkeys([*kept, "\0judge"]))
    if "query" not in keys:
        rows, kept = rows.with_columns(pl.lit("all").alias("\0query")), ["\0query", *kept]
    nothing = pl.col("\0weight") == 0 if "weight" in beside else pl.lit(value=False)
    table, count = _ballots(source, rows.with_columns(nothing.alias("\0out")), by, kept, form)
    # A row of the table is one of several of the file.
    table = replace(table, locate=lambda row: (source.raw.path, None))
    said = [*said, *(_weighed(source, table, role) for role in ("weight", "count") if role in beside)]
    return _read(source, table, said, columns, {"ballots": count, **({"left out": gone} if gone else {})})


def _keys_of(source: BallotSource, columns: Sequence[str], how: str, *, empty: bool) -> dict[str, pl.Expr]:
    """Return the numbers that order items, less is better, by column: null where one is missing, infinite if last.

    Raises
    ------
    Unread
        A cell is no number and no word of the reading, or a number may be a code.
    """
    raw, reading, form = source.raw, source.reading, form_of(source.reading)
    refuse_grouped(raw, columns, reading)
    refuse_blanks(
        raw,
        columns,
        with_empty(reading) if empty else reading,
        more=("last",),
        gone="such items" if empty else "such rows",
    )
    numbers, odd = dict[str, pl.Expr](), dict[str, pl.Expr]()
    keys: dict[str, pl.Expr] = {}
    for name in columns:
        text = text_of(name)
        number = number_of(text, form, errors=False)
        last = missing_number(text, number, source.words("last"))
        missing = missing_number(text, number, source.words("missing")) & ~last
        if empty:
            missing |= (text == "") & ~last
        numbers[name] = number
        odd[name] = number.is_null() & ~last & ~missing
        key = -number if how == "points" else number
        keys[name] = pl.when(last).then(_LAST).when(~missing).then(key)
    if (found := first_row(raw, odd)) is not None:
        raise no_number(source, odd, found)
    refuse_code(raw, numbers, reading, lowest=0 if how == "points" else 1)
    return keys


def _ballots(
    source: BallotSource, rows: pl.LazyFrame, keys: Sequence[str], kept: Sequence[str], form: str
) -> tuple[RawTable, int]:
    """Return ballots, and their number, under the names of the schema, of rows of an item each.

    They stand in the order of their first rows, and items of one place are tied. A note counts ballots whose lowest
    place is not 1.
    """
    beside = [pl.col(name).first() for name in (*kept, "\0out") if name not in keys]
    number = [] if ROW in keys else [pl.col(ROW).min()]
    placed, low = rows.filter(pl.col("\0key").is_not_null()), pl.col("\0key").min()
    facts = placed.group_by(keys).agg(late=(low != 1) & low.is_finite()).select(pl.len(), pl.col("late").sum())
    count, late = source.raw.collect(facts).row(0)
    if late and "points" not in (form, source.reading.first["cells"]):
        what = count_text(late, "ballot", "whose lowest is not 1")
        source.notes.append(f"rankbench takes the lowest place for the best in {what}")
    tied = placed.group_by(*keys, "\0key", maintain_order=True).agg("\0item", *number, *beside)
    ordered = tied.sort("\0key", maintain_order=True).group_by(*keys, maintain_order=True)
    ballots = ordered.agg(pl.col("\0item").alias("ranking"), *number, *beside).sort(ROW, maintain_order=True)
    columns = {"query_id" if name == "\0query" else name[1:]: pl.col(name) for name in kept}
    no_names = pl.lit(pl.Series([[]], dtype=pl.List(pl.String)))
    columns |= {SAYS_NOTHING: pl.col("\0out"), "ranking": pl.col("ranking"), NO_NAMES: no_names}
    frame = ballots.select(**columns)
    roles = {role: source.applied.first[role] for role in ("query", "judge", "weight", "count", "time")}
    roles = {role: name for role, name in roles.items() if name} | {"ranking": source.applied.first[form]}
    return replace(source.raw, frame=frame, roles=roles), int(count)


def _read(
    source: BallotSource, table: RawTable, said: Sequence[str], columns: Sequence[str], counts: dict[str, int]
) -> ReadTable:
    """Return a table of ballots with notes on items that are last, and on rows that are left out."""
    if last := source.words("last"):
        numbers = {name: number_of(text_of(name), form_of(source.reading)) for name in columns}
        cases = {name: missing_number(text_of(name), number, last) for name, number in numbers.items()}
        counts["last"] = _counted(source.raw, cases)
        words = ", ".join(map(short_repr, last[:_SHOWN]))
        source.notes.append(
            f"rankbench places {count_text(counts['last'], 'item')} behind the others of the ballot, tied ({words})"
        )
    if gone := counts.get("left out"):
        source.notes.append(f"rankbench leaves out {count_text(gone, 'row')} that a word says is missing")
    return ReadTable(table, source.applied, tuple(said), counts, tuple(source.notes))


def _weighed(source: BallotSource, table: RawTable, role: str) -> str:
    """Return a text on the sum of the ballots' weights, or counts."""
    value = pl.col(role)
    facts = table.facts(pl.len(), (value == 0).sum(), value.sum(), value.min(), value.max())
    return Weighed(*facts).text(source.applied.first[role], role)


def _counted(raw: RawTable, cases: Mapping[str, pl.Expr]) -> int:
    """Return in how many cells some cases are true."""
    some = raw.collect(raw.frame.select(case.sum().alias(name) for name, case in cases.items()))
    return int(sum(some.row(0)))
