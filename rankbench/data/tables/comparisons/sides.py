"""What the winner's column of a log with two sides says: sides or names of items, decided once a column.

A word such as ``a`` may be both. Were it read row by row, one word would mean different things in
one column; so all of the column is looked at, and what stays ambiguous is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from rankbench.data.tables.comparisons.side_words import TIED, side_words
from rankbench.errors import InputError
from rankbench.kinds.table_check import BOOLEANS
from rankbench.text import short_repr

__all__ = ["CONTRADICTED", "MARKED", "SAID", "decided", "of_two_sides"]

SAID = "said"
"""Column of what the winner's column said, where that is not one of the two and no tie."""

CONTRADICTED = "contradicted"
"""Column of what the winner's column said, where the column of ties says otherwise."""

MARKED = "marked"
"""The column of ties as it is, where there is one."""


@dataclass(frozen=True)
class _Words:
    """Expressions of what a row's winner is by each reading: ``left``, ``right`` or null."""

    left: pl.Expr
    right: pl.Expr
    said: pl.Expr
    side: pl.Expr
    item: pl.Expr
    tied: pl.Expr

    @classmethod
    def from_columns(cls, columns: Mapping[str, str]) -> _Words:
        left, right, said = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right", "winner"))
        word = said.str.strip_chars().str.to_lowercase()
        on_left, on_right = pl.lit("left"), pl.lit("right")
        of_left, of_right = side_words(columns["left"], columns["right"])
        side = pl.when(word.is_in(of_left)).then(on_left).when(word.is_in(of_right)).then(on_right)
        item = pl.when(said == left).then(on_left).when(said == right).then(on_right)
        return cls(left, right, said, side, item, word.is_in(list(TIED)).fill_null(False))


def decided(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a log by role, with ``side`` or ``item`` as what its winner's column holds.

    One pass over three columns, unless the log has no sides or it was given which of the two it is. The reading
    is the one that fits every row; where both do, they must agree in every row.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        As `rankbench.data.tables.comparisons.column_meanings.guess` returns them.

    Raises
    ------
    InputError
        With its row, from 1: a word that is a side, or a tie, and an item's name; or both sides and names.
        Without one: a column that is called like a tie.
    """
    roles = dict(columns)
    if "loser" in roles:
        return roles
    for name in (roles["left"], roles["right"]):
        if name.strip().lower() in TIED:
            raise InputError("the column's name also means a tie: rename the column", column=name)
    if "side" in roles or "item" in roles:
        return roles
    words, row = _Words.from_columns(columns), pl.col("row")
    side, item, tied = words.side.is_not_null(), words.item.is_not_null(), words.tied
    cases = {
        "side": side & ~item,
        "item": item & ~side & ~tied,
        # An item against itself is another trouble.
        "both": item & ((side & (words.side != words.item)) | tied) & (words.left != words.right),
        "tied": item & tied,
    }
    marked = raw.select(
        words.said.alias("said"), *[case.fill_null(False).alias(name) for name, case in cases.items()]
    ).with_row_index("row")
    facts = marked.select(
        *[row.filter(pl.col(name)).min().alias(name) for name in cases],
        *[pl.col("said").filter(pl.col(name)).first().alias(f"said_{name}") for name in cases],
    )
    found = facts.collect(engine="streaming").row(0, named=True)
    column = columns["winner"]
    how = f"--columns side={column} reads it as sides, --columns item={column} as names of items"
    if found["side"] is not None and found["item"] is not None:
        other, last = sorted(("side", "item"), key=found.__getitem__)
        what = {"side": "a side", "item": "the name of an item"}
        raise InputError(
            f"{short_repr(found[f'said_{last}'])} is {what[last]}, but the column says {what[other]} in other rows "
            f"(first {short_repr(found[f'said_{other}'])}): write sides or names of items throughout",
            row=found[last] + 1,
            column=column,
        )
    if found["side"] is not None:
        return roles | {"side": column}
    case = "both" if found["item"] is None else "tied"
    if found[case] is not None:
        value = short_repr(found[f"said_{case}"])
        raise InputError(
            f"{value} may be meant as a side or a tie, or as the item of this name: {how}",
            row=found[case] + 1,
            column=column,
        )
    return roles | {"item": column}


def of_two_sides(raw: pl.LazyFrame, columns: Mapping[str, str]) -> list[pl.Expr]:
    """Return winner, loser, tie, first, and what is to be refused.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        As `decided` returns them.
    """
    words = _Words.from_columns(columns)
    by_side = "side" in columns
    side = words.side if by_side else words.item
    tied = words.tied if by_side else words.tied & words.item.is_null()
    refused = []
    if "tie" in columns:
        marked = _flag(raw.collect_schema()[columns["tie"]], columns["tie"])
        blank = words.said.fill_null("").str.strip_chars() == ""
        against = (marked & side.is_not_null() & ~tied) | (~marked & tied)
        tied |= marked.fill_null(False) & blank
        side = pl.when(~against.fill_null(False)).then(side)
        tied &= ~against.fill_null(False)
        refused = [
            pl.when(against).then(words.said).alias(CONTRADICTED),
            pl.col(columns["tie"]).alias(MARKED),
        ]
    outcome = pl.when(tied).then(pl.lit("tie")).otherwise(side)
    return [
        pl.when(outcome.is_in(["left", "tie"]))
        .then(words.left)
        .when(outcome == "right")
        .then(words.right)
        .alias("winner"),
        pl.when(outcome.is_in(["left", "tie"]))
        .then(words.right)
        .when(outcome == "right")
        .then(words.left)
        .alias("loser"),
        (outcome == "tie").fill_null(False).alias("tie"),
        (outcome != "right").fill_null(False).alias("first"),
        pl.when(outcome.is_null()).then(words.said.fill_null("")).alias(SAID),
        *refused,
    ]


def _flag(dtype: pl.DataType, name: str) -> pl.Expr:
    """Return a column of ties as truth values; null is nothing said."""
    if dtype == pl.Boolean:
        return pl.col(name)
    text = pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)
