"""Outcome columns tell which of two items won.

The columns' own names come first: with ``--columns left=model_b,right=model_a`` the word
``model_a`` is the right one, though it means the left one elsewhere. A short word goes with the
column whose name holds it (``a`` with ``model_a``), and is no side at all where it could be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

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
    held = (name_parts(left), name_parts(right))
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
    for side, other in enumerate(reversed(held)):
        if len(own_words := [part for part in held[side] - other if part.isalpha()]) == 1:
            words[side].update(own_words)
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
    return _as_written([*TIED, *(("d", "x") if _at_home(left, right) else ())], brackets=False)


def _at_home(left: str, right: str) -> bool:
    """Return whether one of two columns is of those at home, the other of those away."""
    return any("home" in name_parts(x) and "away" in name_parts(y) for x, y in ((left, right), (right, left)))


def name_parts(name: str) -> frozenset[str]:
    """Return what a column's name is made of: ``{"model", "a"}`` of ``model_a`` and of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return frozenset(re.findall(r"[^\W\d_]+|\d+", split))


NOTHING_SAID = ("", "na", "n/a", "nan", "null", "none", "-")
"""Texts, in small letters, of a score that nobody made, or of nobody."""

SCORELINE = r"^\s*(\d{1,4})\s*[-:\u2010-\u2015\u2212]\s*(\d{1,4})\s*$"
"""Two scores in one column."""

MOST_GAMES = 1_000_000
"""Games of a row, each way; a row is as many votes."""


def as_number(text: pl.Expr) -> pl.Expr:
    """Return the finite numbers that texts say; truth values are 1 and 0, anything else is null."""
    value = _number(text)
    return pl.when(value.is_finite()).then(value)


def _number(text: pl.Expr) -> pl.Expr:
    plain = text.cast(pl.String).str.strip_chars().str.to_lowercase()
    return plain.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)


def flag(column: pl.Expr) -> pl.Expr:
    """Return a column of truth values, in any writing; null is nothing said."""
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)


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
    return [as_number(text) for text in _text_of_each(names)]


def _text_of_each(names: Sequence[str]) -> list[pl.Expr]:
    if names[0] == names[1]:
        return [pl.col(names[0]).cast(pl.String).str.extract(SCORELINE, group) for group in (1, 2)]
    return [pl.col(name) for name in names]


def scored(columns: Mapping[str, str]) -> tuple[pl.Expr, pl.Expr]:
    """Return the left's score less the right's, and whether one of the two is missing."""
    names = [columns[role] for role in ("left_score", "right_score")]
    left, right = number_of_each(names)
    return left - right, pl.any_horizontal(map(_missing, names))


def series(columns: Mapping[str, str]) -> tuple[list[pl.Expr], pl.Expr]:
    """Return the games that the left won, the right won, and neither did, and whether a row has none.

    A number that is not whole, or not from 0 to `MOST_GAMES`, is null.
    """
    names = [columns[role] for role in ("left_wins", "right_wins", "tie") if role in columns]
    # Few copies of each number: Polars takes long to plan a query with many.
    counts = [_number(text) for text in (*_text_of_each(names[:2]), *map(pl.col, names[2:]))]
    whole = [count.cast(pl.Int64, strict=False) for count in counts]
    games: list[pl.Expr] = [
        pl.when(number.is_between(0, MOST_GAMES) & (number == count)).then(number)
        for number, count in zip(whole, counts, strict=True)
    ]
    games += [pl.lit(0, pl.Int64)] * (3 - len(games))
    none = pl.any_horizontal(map(_missing, names[:2])) | (pl.sum_horizontal(*games, ignore_nulls=False) == 0)
    return games, none.fill_null(False)


def _missing(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String).fill_null("")
    return text.str.strip_chars().str.to_lowercase().is_in(list(NOTHING_SAID))
