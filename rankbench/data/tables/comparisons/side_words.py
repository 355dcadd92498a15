"""Which words of a winner's column mean which of its two columns of items.

The columns' own names come first: with ``--columns left=model_b,right=model_a`` the word
``model_a`` is the right one, though it means the left one elsewhere. A short word goes with the
column whose name holds it (``a`` with ``model_a``), and is no side at all where it could be either.
"""

from __future__ import annotations

import re

__all__ = ["TIED", "side_words"]

_PAIRS = (
    (("left",), ("right",)),
    (("a", "model_a", "item_a", "player_a"), ("b", "model_b", "item_b", "player_b")),
    (("first",), ("second",)),
    (("1",), ("2",)),
)
"""Words of the left side and of the right; the first one of each is what names of columns hold."""

TIED = (
    "tie",
    "tied",
    "ties",
    "draw",
    "both",
    "neither",
    "equal",
    "same",
    "tie (bothbad)",
    "bothbad",
    "both_bad",
    "0.5",
)
"""What a winner's column may say instead of a name, in small letters."""


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
    return sorted(words[0] - {own[1]} | {own[0]} - {own[1]}), sorted(words[1] - {own[0]} | {own[1]} - {own[0]})


def _parts(name: str) -> frozenset[str]:
    """Return what a column's name is made of: ``{"model", "a"}`` of ``model_a`` and of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return frozenset(re.findall(r"[^\W\d_]+|\d+", split))


def _only_on_side(held: tuple[frozenset[str], frozenset[str]], side: int, mark: str) -> bool:
    """Return whether only this side's name holds a mark."""
    return mark in held[side] and mark not in held[1 - side]
