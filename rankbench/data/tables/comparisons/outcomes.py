"""Numbers that say which of two items won: points, margins, flags, scores and games won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankbench.data.tables.comparisons.plain_names import plain_name
from rankbench.data.tables.remarks import remark
from rankbench.errors import InputError
from rankbench.kinds.column_readings import ROWS_SHOWN, ColumnReading, proposed
from rankbench.kinds.table_check import BOOLEANS
from rankbench.text import short_repr

__all__ = [
    *("SCORELINE", "as_number", "flag", "named_number", "numbers_meaning", "pair_meaning", "points_of_left", "scored"),
    "series",
]

_OF_THE_LEFT = ("label", "result", "outcome", "points", "score", "target", "y")
"""Names of columns, in small letters, of which 1 says that the left won and 0 that the right did."""

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
"""Texts, in small letters, of a score that nobody made."""

SCORELINE = r"^\s*(\d{1,4})\s*[-:\u2010-\u2015\u2212]\s*(\d{1,4})\s*$"
"""Two scores in one column."""

MOST_GAMES = 1_000_000
"""Games of a row, each way; a row is as many votes."""

_GRADES = "a grade g between 0 and 1 is one vote: the left has g points of it, the right 1 - g, and .5 is a tie"

_FLAGS = BOOLEANS | {"1.0": True, "0.0": False}


def as_number(text: pl.Expr) -> pl.Expr:
    """Return the finite numbers that texts say; truth values are 1 and 0, anything else is null."""
    plain = text.cast(pl.String).str.strip_chars().str.to_lowercase()
    value = plain.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def flag(column: pl.Expr) -> pl.Expr:
    """Return a column of truth values, in any writing; null is nothing said."""
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)


def points_of_left(columns: Mapping[str, str]) -> pl.Expr:
    """Return the points that a winner's column gives to the left: its numbers, or what a preference of 1 to 2 says.

    AlpacaEval's preference is 1 where the left won, 2 where the right did, and 0 or 1.5 of a tie.
    """
    value = as_number(pl.col(columns["winner"]))
    if "preference" not in columns:
        return value
    return pl.when(value == 0).then(0.5).when((value >= 1) & (value <= 2)).then(2 - value)


def named_number(columns: Mapping[str, str]) -> pl.Expr:
    """Return by how much the left won, of the winner's column: above 0 it did, below the right did."""
    value = as_number(pl.col(columns["winner"]))
    if "margin" in columns:
        return value
    if "preference" in columns:
        return points_of_left(columns) - 0.5
    return pl.when((value >= 0) & (value <= 1)).then(value - 0.5)


def number_of_each(names: Sequence[str]) -> list[pl.Expr]:
    """Return the number of the left and that of the right: of a column each, or both of one, ``2-1``."""
    if names[0] == names[1]:
        return [as_number(pl.col(names[0]).cast(pl.String).str.extract(SCORELINE, group)) for group in (1, 2)]
    return [as_number(pl.col(name)) for name in names]


def scored(columns: Mapping[str, str]) -> tuple[pl.Expr, pl.Expr]:
    """Return the left's score less the right's, and whether one of the two is missing."""
    names = [columns[role] for role in ("left_score", "right_score")]
    left, right = number_of_each(names)
    return left - right, pl.any_horizontal(map(_missing, names))


def series(columns: Mapping[str, str]) -> tuple[list[pl.Expr], pl.Expr]:
    """Return the games that the left won, the right won, and neither did, and whether a row has none.

    What is no whole number from 0 to `MOST_GAMES` is null.
    """
    names = [columns[role] for role in ("left_wins", "right_wins", "tie") if role in columns]
    counts = [*number_of_each(names[:2]), *(as_number(pl.col(name)) for name in names[2:])]
    games = [
        pl.when((count >= 0) & (count <= MOST_GAMES) & (count == count.floor())).then(count).cast(pl.Int64)
        for count in counts
    ]
    games += [pl.lit(0, pl.Int64)] * (3 - len(games))
    none = pl.any_horizontal(map(_missing, names[:2])) | (pl.sum_horizontal(*games, ignore_nulls=False) == 0)
    return games, none.fill_null(False)


def _missing(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String).fill_null("")
    return text.str.strip_chars().str.to_lowercase().is_in(list(_MISSING))


def pair_meaning(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of a log with a column of numbers for each of the two items, where nobody gave these roles.

    Columns called wins may be truth values. Columns called scores may be games won: where whole numbers are never
    level, and half of the rows have one sum, or one number of the winner, as series of best of three have.

    Raises
    ------
    InputError
        Both readings are possible.
    """
    roles = dict(columns)
    kind = "wins" if "left_wins" in roles else "score"
    names = [roles[f"left_{kind}"], roles[f"right_{kind}"]]
    left, right = number_of_each(names)
    both = pl.max_horizontal(left, right)
    words = pl.any_horizontal(
        pl.col(name).cast(pl.String).str.strip_chars().str.contains(r"^[A-Za-z]") for name in names
    )
    level = (left == 0) & (right == 0)
    if kind == "wins" and "tie" in roles:
        level &= as_number(pl.col(roles["tie"])).fill_null(0) == 0
    whole = (left >= 0) & (right >= 0) & (left == left.floor()) & (right == right.floor())
    found = raw.select(
        words.fill_null(False).max().alias("words"),
        both.max().alias("most"),
        level.fill_null(False).max().alias("nothing"),
        (whole & (left != right)).fill_null(False).min().alias("decided"),
        # How often the commonest sum, or the winner's commonest number, stands there.
        (left + right).value_counts().struct.field("count").max().alias("sums"),
        both.value_counts().struct.field("count").max().alias("firsts"),
        pl.len().alias("rows"),
    )
    facts = found.collect(engine="streaming").row(0, named=True)
    if kind == "wins":
        flags = roles | {"left_won": names[0], "right_won": names[1]}
        flags = {role: name for role, name in flags.items() if role not in ("left_wins", "right_wins")}
        if facts["words"]:
            return flags
        if (facts["most"] or 0) <= 1 and facts["nothing"]:
            raise InputError(
                "the columns hold 0 and 1 alone, and two zeros may say that neither won, or that nothing was played: "
                + proposed([_pair_shown(raw, roles, "won", names), _pair_shown(raw, roles, "wins", names)]),
                column=names[0],
            )
        return roles
    often = max(facts["sums"] or 0, facts["firsts"] or 0)
    if (
        facts["decided"]
        and facts["most"] >= 2
        and often >= max(2, facts["rows"] / 2)
        and "goal" not in names[0].lower()
    ):
        raise InputError(
            "the numbers may be scores, and the higher one won, or the games that each side won: "
            + proposed([_pair_shown(raw, roles, "score", names), _pair_shown(raw, roles, "wins", names)]),
            column=names[0],
        )
    return roles


def _pair_shown(raw: pl.LazyFrame, columns: Mapping[str, str], kind: str, names: list[str]) -> ColumnReading:
    given = {"left": columns["left"], "right": columns["right"], f"left_{kind}": names[0], f"right_{kind}": names[1]}
    given |= _beside(columns)
    texts = [pl.col(columns[role]).cast(pl.String).fill_null("") for role in ("left", "right")]
    won, lost = number_of_each(names)
    rows = raw.head(ROWS_SHOWN).select(left=texts[0], right=texts[1], won=won, lost=lost)
    shown = []
    for left, right, won, lost in rows.collect().iter_rows():
        if won is None or lost is None:
            shown.append(f"nothing of {short_repr(left)} and {short_repr(right)}")
        elif kind == "wins":
            shown.append(f"{short_repr(left)} beats {short_repr(right)} {won:g} times and loses {lost:g} times")
        else:
            shown.append(_words((left, right, won - lost)))
    return ColumnReading(given, tuple(shown))


def numbers_meaning(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return what a winner's column of numbers holds, by role: points of the left, or by how much it won.

    One pass over the column. Empty: it holds words too, or sides called 1 and 2 alone.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, with a winner, or with points.

    Raises
    ------
    InputError
        Several readings are possible, or none is.
    """
    column = columns["winner"]
    facts = _facts(raw, column)
    if not facts["words"] and ("preference" in columns or _is_preference(facts, columns)):
        remark(
            f"{short_repr(column)} is read from 1, where {short_repr(columns['left'])} won, to 2, where "
            f"{short_repr(columns['right'])} did; 0 and 1.5 are ties"
        )
        if facts["fractions"]:
            remark(_GRADES)
        return {"preference": column} | ({"graded": column} if facts["fractions"] else {})
    if "points" in columns:
        return {"graded": column} if facts["graded"] else {}
    if facts["words"] or not facts["numbers"]:
        return {}
    low, high, between = facts["low"], facts["high"], facts["between"]
    swapped = dict(columns) | {"left": columns["right"], "right": columns["left"]}
    if low < 0 and (between or high > 1):
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}; where those above 0 say that the left won: "
            + proposed([_shown(raw, columns, "margin")]),
            column=column,
        )
    if low < 0:
        remark(f"{short_repr(column)} is read as 1 where {columns['left']!r} won, -1 where {columns['right']!r} did")
        return {"margin": column}
    if high > 1:
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}, of which it is not clear which say that "
            f"{short_repr(columns['left'])} won: write left, right or tie, or the winner's name",
            column=column,
        )
    if not between and column.strip().lower() not in _OF_THE_LEFT:
        raise InputError(
            "1 may say that the left won, or 0 may, as its number from 0: "
            + proposed([_shown(raw, columns, "points"), _shown(raw, swapped, "points")]),
            column=column,
        )
    remark(
        f"{short_repr(column)} is read as points of {short_repr(columns['left'])}: 1 where it won, 0 where "
        f"{short_repr(columns['right'])} did"
    )
    if facts["graded"]:
        remark(_GRADES)
        return {"points": column, "graded": column}
    return {"points": column}


def _is_preference(facts: Mapping[str, Any], columns: Mapping[str, str]) -> bool:
    """Return whether numbers are 0 or from 1 to 2, and the columns of the items are numbered so."""
    numbered = all(str(at) in plain_name(columns[side]).split("_") for at, side in enumerate(("left", "right"), 1))
    return numbered and bool(facts["preference"]) and facts["high"] > 1


def _shown(raw: pl.LazyFrame, columns: Mapping[str, str], role: str) -> ColumnReading:
    """Return a reading of numbers with the first rows, in words."""
    given = {"left": columns["left"], "right": columns["right"], role: columns["winner"], **_beside(columns)}
    named = {name: pl.col(columns[name]).cast(pl.String).fill_null("") for name in ("left", "right")}
    rows = raw.head(ROWS_SHOWN).select(**named, value=named_number({**columns, role: columns["winner"]})).collect()
    return ColumnReading(given, tuple(map(_words, rows.iter_rows())))


def _beside(columns: Mapping[str, str]) -> dict[str, str]:
    """Return which rows the user leaves out: a proposal says it again."""
    return {role: columns[role] for role in ("drop", "self", "mirrored") if role in columns}


def _words(row: tuple[str, str, float | None]) -> str:
    left, right, value = short_repr(row[0]), short_repr(row[1]), row[2]
    if value is None:
        return f"nothing of {left} and {right}"
    first, second = (right, left) if value < 0 else (left, right)
    return f"{first} {'ties with' if value == 0 else 'beats'} {second}"


def _facts(raw: pl.LazyFrame, column: str) -> dict[str, Any]:
    """Return the least and the largest number, and whether there are words, numbers but 1 and 2, and others."""
    said = pl.col(column).cast(pl.String).str.strip_chars()
    held = raw.select(value=as_number(said), said=said)
    value = pl.col("value")
    # Largest of truth values: `any` is not computed batch by batch.
    found = held.select(
        value.min().alias("low"),
        value.max().alias("high"),
        (value.is_null() & (pl.col("said") != "")).max().alias("words"),
        ((value != 1) & (value != 2)).max().alias("numbers"),
        ((value != 0) & (value.abs() != 1)).max().alias("between"),
        ((value != 0) & (value != 1) & (value != 0.5)).max().alias("graded"),
        ((value == 0) | ((value >= 1) & (value <= 2))).min().alias("preference"),
        ((value > 1) & (value < 2) & (value != 1.5)).max().alias("fractions"),
    )
    return found.collect(engine="streaming").row(0, named=True)
