"""Items called alike: names that people would take for one another, and names that are odd in themselves.

References
----------
.. [UTS39] Unicode Technical Standard 39: Unicode security mechanisms.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["lookalikes", "odd", "skeleton"]

_TWINS: dict[str, str] = {
    # Cyrillic, Greek and Armenian letters that look like small or capital Latin ones.
    "a": "аα",
    "b": "вβьЬ",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еεҽ",
    "g": "ɡց",
    "h": "һнη",
    "i": "іιıӏ",
    "j": "јϳ",
    "k": "кκ",
    "m": "мμ",
    "n": "пո",
    "o": "оοσօ0",
    "p": "рρ",
    "q": "ԛ",
    "r": "гг",
    "s": "ѕ",
    "t": "тτ",
    "u": "υս",
    "v": "νѵ",
    "w": "ԝω",
    "x": "хχ",
    "y": "уγү",
    "l": "1|",
}
_NUMBER = re.compile(r"\+?(-?)([0-9]+)(?:\.([0-9]*))?")
_ROUNDS = 5
_TABLE = {ord(twin): latin for latin, twins in _TWINS.items() for twin in twins.casefold()}


def skeleton(name: str) -> str:
    """Return what names that look alike have in common, in the manner of [UTS39]_.

    Compatible forms, capitals, white space, hidden characters, dashes and quotes make no
    difference; nor do letters of other alphabets that look like Latin ones, the
    digits 0 and 1, or a capital I for a small l. Numbers that are equal look alike,
    as 007 and 7.0.
    """
    before, after = "", name
    # What is left may compose anew, or have another small form.
    for _ in range(_ROUNDS):
        if before == after:
            break
        before, after = after, _reduced(after)
    return after


def _reduced(name: str) -> str:
    number = _NUMBER.fullmatch(name.strip())
    if number is not None:
        sign, whole, fraction = number.groups(default="")
        name = f"{sign}{whole.lstrip('0') or '0'}.{fraction.rstrip('0')}".removesuffix(".")
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).replace("I", "l").casefold())
    kept = []
    for character in folded:
        category = unicodedata.category(character)
        if category in ("Cf", "Cc", "Zs", "Zl", "Zp") or character.isspace():
            continue
        if category in ("Pd", "Pc") or character == "\u2212":
            kept.append("-")
        elif category in ("Pi", "Pf") or character in "'\"`´":
            kept.append("'")
        else:
            kept.append(_TABLE.get(ord(character), character))
    return "".join(kept)


def lookalikes(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of different names with one skeleton, sorted."""
    groups: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        groups.setdefault(skeleton(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def odd(names: Iterable[str]) -> list[str]:
    """Return the names that are odd, sorted.

    Those that are empty, hold control or hidden characters, begin or end with space, or
    look like formulas of spreadsheets.
    """
    return sorted(name for name in set(names) if _odd(name))


def _odd(name: str) -> bool:
    if not name.strip() or name != name.strip() or name[0] in "=+@":
        return True
    return any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") for character in name)
