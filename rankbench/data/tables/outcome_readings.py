"""Readings of outcome columns are chosen by the whole column, or proposed with the first rows in words.

Numbers may be points of the left, margins, scores or games won; words may be either side's. Where two readings are
possible, the user is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

import polars as pl

from rankbench.core.text import count_text, listed, plain_name, short_repr
from rankbench.data.tables.covariates import sided_columns
from rankbench.data.tables.outcomes import (
    NOTHING_SAID,
    as_number,
    named_number,
    number_of_each,
    plain_word,
    tie_words,
)
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.table import ROWS_SHOWN, ColumnReading, columns_text, proposed

_OF_THE_LEFT = ("label", "result", "outcome", "points", "score", "target", "y")
"""Names of columns, in small letters, where 1 says that the left won and 0 that the right did."""

_GRADES = "a grade g between 0 and 1 is one vote: the left gets g points, the right 1 - g; .5 is a tie"


def shown_vote(left: str, right: str, lead: float | None, unread: str = "") -> str:
    """Return a vote in words: who won, by the lead of the left; without one, what is said of the two."""
    x, y = short_repr(left), short_repr(right)
    if lead is None:
        return f"{short_repr(unread) if unread else 'nothing'} of {x} and {y}"
    return f"{y} beats {x}" if lead < 0 else f"{x} {'beats' if lead else 'ties with'} {y}"


def _first_rows(raw: pl.LazyFrame, columns: Iterable[str], *more: pl.Expr) -> list[tuple[Any, ...]]:
    """Return the first rows of some columns, as texts, and of what is computed."""
    texts = [pl.col(name).cast(pl.String).fill_null("").alias(str(at)) for at, name in enumerate(columns)]
    return raw.head(ROWS_SHOWN).select(*texts, *more).collect().rows()


def word_readings(raw: pl.LazyFrame, roles: Mapping[str, str], words: Iterable[str]) -> list[ColumnReading]:
    """Return what two words of a winner's column may mean: each may be the left side's, and the other the right one's.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns of the left, the right and the winner.
    words : iterable of str
        Of the winner's column, the commonest first; ties among them are left out.
    """
    ties = tie_words(roles["left"], roles["right"])
    free = [word for word in words if word.lower() not in ties][:2]
    rows = _first_rows(raw, (roles[role] for role in ("left", "right", "winner")))
    found = []
    for one, other in permutations(free, 2):
        leads = {one: 1, other: -1}
        shown = [shown_vote(x, y, 0 if word.lower() in ties else leads.get(word)) for x, y, word in rows]
        found.append(ColumnReading({**roles, "left_word": one, "right_word": other}, tuple(shown), sure=False))
    return found


def numbers_reading(raw: pl.LazyFrame, roles: Mapping[str, str]) -> ColumnReading:
    """Return a reading of numbers with the first rows, in words.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns of the left and the right, and either of points, perhaps with a weight, of a margin, of preferences, or
        of numbers of both.
    """
    one = next((name for role, name in roles.items() if role in ("points", "margin", "preference")), "")
    pair = [name for role, name in roles.items() if role.startswith(("left_", "right_"))]
    numbers = [named_number({**roles, "winner": one})] if one else number_of_each(pair)
    numbers += [as_number(pl.col(roles["weight"]))] if "weight" in roles else []
    shown = []
    sides = (roles["left"], roles["right"])
    for x, y, *values in _first_rows(raw, sides, *(number.alias(f"value{k}") for k, number in enumerate(numbers))):
        lead = None if None in values else values[0] - sum(values[1:])
        if "weight" in roles and lead is not None:
            share, votes = values
            shown.append(f"{short_repr(x)} has {share + 0.5:g} of {votes:g} votes, {short_repr(y)} the others")
        elif "left_wins" in roles and lead is not None:
            won, lost = values
            shown.append(f"{short_repr(x)} beats {short_repr(y)} {won:g} times and loses {lost:g} times")
        else:
            shown.append(shown_vote(x, y, lead))
    return ColumnReading(dict(roles), tuple(shown), sure=False)


def _proposed(raw: pl.LazyFrame, columns: Mapping[str, str], *says: Mapping[str, str]) -> str:
    """Return what to say of numbers, beside which rows the user leaves out: a proposal says it again."""
    sides = {role: columns[role] for role in ("left", "right")}
    beside = {role: columns[role] for role in ("drop", "self", "mirrored") if role in columns}
    return proposed(numbers_reading(raw, {**sides, **one, **beside}) for one in says)


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
    texts = [plain_word(pl.col(name)) for name in names]
    words = pl.any_horizontal(text.str.contains("^[a-z]") & ~text.is_in(list(NOTHING_SAID)) for text in texts)
    level = (left == 0) & (right == 0)
    if kind == "wins" and "tie" in roles:
        level &= as_number(pl.col(roles["tie"])).fill_null(0) == 0
    whole = (left >= 0) & (right >= 0) & (left == left.floor()) & (right == right.floor())
    found = raw.select(
        words.fill_null(False).max().alias("words"),
        both.max().alias("most"),
        level.fill_null(False).max().alias("nothing"),
        (whole & (left != right)).fill_null(False).min().alias("decided"),
        # Number of rows with the commonest sum, or with the winner's commonest number.
        (left + right).value_counts().struct.field("count").max().alias("sums"),
        both.value_counts().struct.field("count").max().alias("firsts"),
        pl.len().alias("rows"),
    )
    facts = found.collect(engine="streaming").row(0, named=True)
    won, wins, scores = ({f"left_{what}": names[0], f"right_{what}": names[1]} for what in ("won", "wins", "score"))
    often = max(facts["sums"] or 0, facts["firsts"] or 0)
    if kind == "wins" and facts["words"]:
        return {role: name for role, name in roles.items() if role not in wins} | won
    if kind == "wins" and (facts["most"] or 0) <= 1 and facts["nothing"]:
        what = "the columns hold 0 and 1 alone, and two zeros may say that neither won, or that nothing was played: "
        raise InputError(what + _proposed(raw, roles, won, wins), column=names[0])
    if (
        kind == "score"
        and facts["decided"]
        and facts["most"] >= 2
        and often >= max(2, facts["rows"] / 2)
        and "goal" not in names[0].lower()
    ):
        what = "the numbers may be scores, and the higher one won, or the games that each side won: "
        raise InputError(what + _proposed(raw, roles, scores, wins), column=names[0])
    return roles


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
    numbered = all(str(at) in plain_name(columns[side]).split("_") for at, side in enumerate(("left", "right"), 1))
    preference = "preference" in columns or (numbered and facts["preference"] and facts["high"] > 1)
    if preference and not facts["words"]:
        remark(
            f"rankbench reads {short_repr(column)} from 1, where {short_repr(columns['left'])} won, to 2, where "
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
    turned = {"left": columns["right"], "right": columns["left"]}
    if low < 0 and (between or high > 1):
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}; numbers above 0 may mean that either one won: "
            + _proposed(raw, columns, {"margin": column}, {**turned, "margin": column}),
            column=column,
        )
    if low < 0:
        remark(f"rankbench reads {short_repr(column)} as 1 if {columns['left']!r} won, -1 if {columns['right']!r} did")
        return {"margin": column}
    if high > 1:
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}, which do not tell whether "
            f"{short_repr(columns['left'])} won. Write left, right or tie, or the winner's name; or say "
            "--columns left_word=NUMBER,right_word=NUMBER,tie_word=NUMBER",
            column=column,
        )
    if not between and column.strip().lower() not in _OF_THE_LEFT:
        what = "the left won either where the number is 1, or where it is 0 (sides counted from 0): "
        raise InputError(
            what + _proposed(raw, columns, {"points": column}, {**turned, "points": column}), column=column
        )
    remark(
        f"rankbench reads {short_repr(column)} as points of {short_repr(columns['left'])}: 1 where it won, 0 where "
        f"{short_repr(columns['right'])} did"
    )
    if facts["graded"]:
        remark(_GRADES)
        return {"points": column, "graded": column}
    return {"points": column}


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


_SCORES = ("score", "scores", "points", "pts", "goals", "runs")


def level_winners(raw: pl.LazyFrame, roles: Mapping[str, str]) -> None:
    """Say how many rows of winners and losers have equal scores of the two, where no column says which are ties.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns of votes by role.
    """
    names = raw.collect_schema().names()
    plain = {plain_name(name): name for name in names}
    pairs = {**{name: (plain[name],) * 2 for name in _SCORES if name in plain}, **sided_columns(names, roles)}
    pair = next((pairs[name] for name in _SCORES if name in pairs), None)
    if "loser" not in roles or "tie" in roles or pair is None:
        return
    left, right = number_of_each(pair)
    if level := raw.select((left == right).sum()).collect(engine="streaming").item():
        read = {"left": roles["winner"], "right": roles["loser"], "left_score": pair[0], "right_score": pair[1]}
        remark(
            f"{count_text(level, 'row')} with equal scores in {listed(list(dict.fromkeys(pair)))} "
            f"{'counts as a win' if level == 1 else 'count as wins'} (--columns {columns_text(read)} reads ties)"
        )
