"""Which words of a winner's column mean which of its two columns of items.

The columns' own names come first: with ``--columns left=model_b,right=model_a`` the word
``model_a`` is the right one, though it means the left one elsewhere. A short word goes with the
column whose name holds it (``a`` with ``model_a``), and is no side at all where it could be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import polars as pl

from rankbench.kinds.column_readings import ROWS_SHOWN, ColumnReading
from rankbench.text import short_repr

__all__ = ["BOTH_BAD", "MOST_WORDS", "TIED", "plain_word", "side_words", "tie_words", "word_readings"]

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
    *(
        "tie",
        "tied",
        "ties",
        "draw",
        "drawn",
        "both",
        "neither",
        "equal",
        "same",
        "a=b",
        "0.5",
        "1/2-1/2",
        "½-½",
        "1/2",
        "½",
    ),
    *("0.5-0.5", "tie (inconsistent)", "[[c]]", "[[a=b]]"),
    *BOTH_BAD,
)
"""What a winner's column may say instead of a name, in small letters; see `tie_words`."""


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
    swapped = any(_only_on_side(held, 1, pair[0][0]) or _only_on_side(held, 0, pair[1][0]) for pair in _PAIRS)
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


def word_readings(
    roles: Mapping[str, str], rows: Sequence[tuple[str, str, str]], words: Iterable[str]
) -> list[ColumnReading]:
    """Return what two words of a winner's column may mean: each may be the left side's, and the other the right one's.

    Parameters
    ----------
    roles : mapping of str to str
        Columns of the left, the right and the winner.
    rows : sequence of (str, str, str)
        The first of the log: left, right, and what is said of them.
    words : iterable of str
        Of the winner's column, the commonest first; ties among them are left out.
    """
    ties = tie_words(roles["left"], roles["right"])
    free = [word for word in words if word.lower() not in ties][:2]
    found = []
    for sides in permutations(free, 2):
        said = dict(zip(("left_word", "right_word"), sides, strict=True))
        shown = []
        for left, right, word in rows[:ROWS_SHOWN]:
            verb = "ties with" if word.lower() in ties else "beats" if word in sides else "and"
            first, second = (right, left) if word == said["right_word"] else (left, right)
            shown.append(f"{short_repr(first)} {verb} {short_repr(second)}{': nothing' if verb == 'and' else ''}")
        found.append(ColumnReading({**roles, **said}, tuple(shown), sure=False))
    return found


def _at_home(left: str, right: str) -> bool:
    """Return whether one of two columns is of those at home, the other of those away."""
    return any("home" in _parts(x) and "away" in _parts(y) for x, y in ((left, right), (right, left)))


def _parts(name: str) -> frozenset[str]:
    """Return what a column's name is made of: ``{"model", "a"}`` of ``model_a`` and of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return frozenset(re.findall(r"[^\W\d_]+|\d+", split))


def _only_on_side(held: tuple[frozenset[str], frozenset[str]], side: int, mark: str) -> bool:
    """Return whether only this side's name holds a mark."""
    return mark in held[side] and mark not in held[1 - side]
