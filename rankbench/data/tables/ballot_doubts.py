"""Doubts about places and points: second keys, rows of one item, columns that are no items, words among numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rankbench.core.text import listed
from rankbench.data.tables.ballot_columns import BallotSource
from rankbench.data.tables.cells import ROW, cell_at, number_of, text_of
from rankbench.data.tables.column_texts import counted_words, first_cells, is_fact, numbers_rows
from rankbench.data.tables.doubts import number_forms, refuse_twice
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import has_wildcards, names_text

UNREAD = "\0unread "
"""Beginning of the names of columns that are not read, beside those that are."""


def refuse_no_items(source: BallotSource, keys: Mapping[str, pl.Expr], how: str) -> None:
    """Raise a question about a pattern's column that numbers the rows, or has places below the last."""
    if not any(map(has_wildcards, source.given.all("items"))):
        return
    cells = first_cells(source.raw, list(keys))
    odd = [name for name, texts in cells.items() if len(texts) > 2 and numbers_rows(texts)]
    if how == "place":
        below = [(key.is_finite() & (key > len(keys))).any().alias(name) for name, key in keys.items()]
        found = source.raw.collect(source.raw.frame.select(below)).row(0, named=True)
        odd += [name for name, some in found.items() if some and name not in odd]
    if odd:
        raise Unread(
            f"{listed(odd)} may be no items: they number the rows, or have numbers above {len(keys)}, the last place",
            f"{option('columns', names_text({'ignore': tuple(odd)}))}, or count=____ or judge=____; items=____|____ "
            "names items",
            code="index",
            column=odd[0],
        )


def no_number(source: BallotSource, odd: Mapping[str, pl.Expr], found: tuple[int, str]) -> Unread:
    """Return the question about words among places."""
    raw, name = source.raw, found[1]
    shown = counted_words(raw, raw.frame.filter(odd[name]), text_of(name))
    means = f"{option('words', 'last=____,missing=____')} (last: behind the others of the ballot; missing: left out)"
    cell = cell_at(raw, *found)
    begins = pl.select(number_of(pl.lit(cell), "first")).item() is not None
    first = [f"{option('columns', 'numbers=first')} reads the number that a cell begins with"] * begins
    step = "; ".join(number_forms(cell, source.reading) or [means, *first])
    return raw.at(found[0], Unread(f"the column says {shown}: no numbers", step, code="number", column=name))


def refuse_items_twice(source: BallotSource, rows: pl.LazyFrame, keys: Sequence[str]) -> None:
    """Raise a question if an item has two rows in one ballot: an unread column may tell ballots apart."""
    named = {key: key[1:] for key in (*keys, "\0item")}
    step = (
        f"{option('columns', 'judge=____')} if each judge has a ballot, query=____|____ if each value is another "
        f"query, item=____|____ if they are two items; {option('where')} chooses rows"
    )
    refuse_twice(source.raw, rows, named, source.unread, lambda _: step, source.applied.first["item"])


def refuse_uneven(source: BallotSource, rows: pl.LazyFrame, keys: Sequence[str], beside: Sequence[str]) -> None:
    """Raise for a ballot whose rows have several weights, counts or times."""
    for role in beside:
        value = pl.col(f"\0{role}")
        uneven = rows.with_columns(first=value.first().over(keys, order_by=ROW)).filter(
            value.ne_missing(pl.col("first"))
        )
        row = source.raw.collect(uneven.select(pl.col(ROW).min())).item()
        if row is not None:
            name = source.applied.first[role]
            raise source.raw.at(
                row,
                InputError(f"the ballot has another {role} in a row above: all rows of a ballot have one", column=name),
            )


def refuse_unread_key(source: BallotSource, rows: pl.LazyFrame, keys: Sequence[str], value: str) -> None:
    """Raise a question about an unread column with several values within one ballot: a judge, a heat.

    A text that always goes with the item, as a team, says nothing more, unless it tells all items of one place apart.
    """
    raw = source.raw
    cells = first_cells(raw, source.unread)
    names = [name for name in cells if len(set(cells[name])) > 1]
    if not names:
        return
    columns = [f"{UNREAD}{name}" for name in names]
    ballots = rows.group_by(keys).agg(pl.col(columns).n_unique(), pl.len().alias(ROW))
    within = [((pl.col(name) > 1) & (pl.col(name) < pl.col(ROW))).any() for name in columns]
    several = raw.collect(ballots.select(within)).row(0)
    items = rows.group_by("\0item").agg(pl.col(columns).n_unique())
    moves = raw.collect(items.select((pl.col(columns) > 1).any())).row(0)
    tied = (
        rows.filter(pl.col(value).is_finite())
        .group_by(*keys, value)
        .agg(pl.col(columns).n_unique(), pl.len().alias(ROW))
    )
    tied = tied.filter(pl.col(ROW) > 1)
    parts = tied.select((pl.col(name) == pl.col(ROW)).all() & (pl.len() > 0) for name in columns)
    splits = raw.collect(parts).row(0)
    odd = [
        name
        for at, name in enumerate(names)
        if several[at] and (splits[at] or (moves[at] and not is_fact(cells[name])))
    ]
    if odd:
        query = source.applied.all("query")
        raise Unread(
            f"{listed(odd)} {'has' if len(odd) == 1 else 'have'} several values within one ballot, and no role",
            f"{option('columns', names_text({'judge': (odd[0],)}))} if it says whose ballot a row is, "
            f"{names_text({'query': (*query, odd[0])})} if each value is another query, "
            f"{names_text({'ignore': tuple(odd)})} for what says nothing of the result",
            code="second-key",
            column=odd[0],
        )
