"""Outcome columns tell which of two items won.

The columns' own names come first: with ``--columns left=model_b,right=model_a`` the word
``model_a`` is the right one, though it means the left one elsewhere. A short word goes with the
column whose name holds it (``a`` with ``model_a``), and is no side at all where it could be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

import polars as pl

from rankbench.core.text import plain_name, short_repr
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.table import ROWS_SHOWN, ColumnReading, proposed
from rankbench.interfaces.table_check import BOOLEANS

MOST_WORDS = 6
"""Different words of a column that may say who won in words of its own."""

_PAIRS = (
    (("left",), ("right",)),
    (("a", "model_a", "item_a", "player_a", "response_a"), ("b", "model_b", "item_b", "player_b", "response_b")),
    (("first",), ("second",)),
    (
        ("1", "model_1", "item_1", "player_1", "model1", "player1"),
        ("2", "model_2", "item_2", "player_2", "model2", "player2"),
    ),
    (("home", "h"), ("away",)),
    (("white",), ("black",)),
)
"""Words of the left side and of the right; the first one of each is what names of columns hold."""

_ORDERED = (("1-0", "a>b", "a>>b", "win", "won", "w"), ("0-1", "b>a", "b>>a", "loss", "lost", "l"))
"""Words of the one that a log has first, and of the other; none are known where columns were given in another order."""

BOTH_BAD = ("tie (bothbad)", "bothbad", "both_bad", "both bad")
"""Ties of two items that are bad both, in small letters."""

TIED = (
    *("tie", "tied", "ties", "draw", "drawn", "both", "neither", "equal", "same", "a=b", "0.5", "1/2-1/2", "½-½"),
    *("1/2", "½", "0.5-0.5", "tie (inconsistent)", "[[c]]", "[[a=b]]"),
    *BOTH_BAD,
)
"""Words of a winner's column in place of a name, in small letters; see `tie_words`."""


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


def plain_word(word: pl.Expr) -> pl.Expr:
    """Return words of a winner's column in small letters, without blanks around them."""
    return word.cast(pl.String).str.strip_chars().str.to_lowercase()


def _as_written(words: Iterable[str], *, brackets: bool) -> list[str]:
    """Return words with each dash that may stand for their hyphens; sides also in the brackets of judges' verdicts.

    The words are few and the rows are many: rows are compared as they are.
    """
    dashed = {word.replace("-", dash) for word in words for dash in ("-", *_DASHES)}
    return sorted(dashed | ({f"[[{word}]]" for word in dashed} if brackets else set()))


def side_words(left: str, right: str) -> tuple[list[str], list[str]]:
    """Return the words that mean the left column, and those that mean the right one, in small letters.

    Parameters
    ----------
    left, right : str
        Names of the two columns.
    """
    own = (left.strip().lower(), right.strip().lower())
    held = (_parts(left), _parts(right))
    swapped = any(one[0] in held[1] - held[0] or other[0] in held[0] - held[1] for one, other in _PAIRS)
    words: tuple[set[str], set[str]] = (set(), set())
    for pair in _PAIRS:
        marks = {names[0] for names in pair}
        for side, names in enumerate(pair):
            if marks & (held[0] | held[1]):
                # Of both marks in one name, neither says which column is meant.
                sides = [i for i in (0, 1) if held[i] & marks == {names[0]}]
            else:
                # Swapped columns take their roles from what was given, which is called left and right.
                sides = [side] if not swapped or pair is _PAIRS[0] else []
            if len(sides) == 1:
                words[sides[0]].update(names)
    if not swapped:
        for side, names in enumerate(_ORDERED):
            words[side].update(names)
    if _at_home(left, right):
        # The letters of football: H, D, A.
        away = 1 if "away" in held[1] else 0
        words[1 - away].difference_update({"a", "b"})
        words[away].difference_update({"b"})
        words[away].add("a")
    first, second = words[0] - {own[1]} | {own[0]} - {own[1]}, words[1] - {own[0]} | {own[1]} - {own[0]}
    return _as_written(first, brackets=True), _as_written(second, brackets=True)


def tie_words(left: str, right: str) -> list[str]:
    """Return the words that mean that neither column won, in small letters; see `side_words`."""
    return _as_written([*TIED, *(("d",) if _at_home(left, right) else ())], brackets=False)


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
        Columns of the left and the right, and either of points, of a margin, or of numbers of both.
    """
    one = next((name for role, name in roles.items() if role in ("points", "margin")), "")
    pair = [name for role, name in roles.items() if role.startswith(("left_", "right_"))]
    numbers = [named_number({**roles, "winner": one})] if one else number_of_each(pair)
    shown = []
    sides = (roles["left"], roles["right"])
    for x, y, *values in _first_rows(raw, sides, *(number.alias(f"value{k}") for k, number in enumerate(numbers))):
        lead = None if None in values else values[0] - sum(values[1:])
        if "left_wins" in roles and lead is not None:
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


def _at_home(left: str, right: str) -> bool:
    """Return whether one of two columns is of those at home, the other of those away."""
    return any("home" in _parts(x) and "away" in _parts(y) for x, y in ((left, right), (right, left)))


def _parts(name: str) -> frozenset[str]:
    """Return what a column's name is made of: ``{"model", "a"}`` of ``model_a`` and of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return frozenset(re.findall(r"[^\W\d_]+|\d+", split))


_OF_THE_LEFT = ("label", "result", "outcome", "points", "score", "target", "y")
"""Names of columns, in small letters, where 1 says that the left won and 0 that the right did."""

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
    if low < 0 and (between or high > 1):
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}; if numbers above 0 mean that the left won: "
            + _proposed(raw, columns, {"margin": column}),
            column=column,
        )
    if low < 0:
        remark(f"{short_repr(column)} is read as 1 where {columns['left']!r} won, -1 where {columns['right']!r} did")
        return {"margin": column}
    if high > 1:
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}, and rankbench cannot decide which say that "
            f"{short_repr(columns['left'])} won: write left, right or tie, or the winner's name",
            column=column,
        )
    if not between and column.strip().lower() not in _OF_THE_LEFT:
        turned = {"left": columns["right"], "right": columns["left"], "points": column}
        what = "1 may say that the left won, or 0 may, as its number from 0: "
        raise InputError(what + _proposed(raw, columns, {"points": column}, turned), column=column)
    remark(
        f"{short_repr(column)} is read as points of {short_repr(columns['left'])}: 1 where it won, 0 where "
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
