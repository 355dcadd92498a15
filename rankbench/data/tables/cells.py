"""Cells of a table before its checks are texts; numbers are read as the reading says that they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rankbench.errors import InputError
from rankbench.interfaces.reading import JOINED, Reading, expression_of, has_wildcards

EMPTY = (
    *("", "na", "n/a", "nan", "null", "none", "-", "\u2013", "\u2014", "?", "\\n"),
    *("skipped", "undervote", "overvote"),
)
"""Cells that may say nothing, in small letters. They are never read as a name or an outcome: rankbench asks."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
"""A number as it is written where nothing else is said."""

_WHOLE = r"^(-?\d+)\.0+$"
"""A whole number that stands as a float."""

_SIGN = r"(?:\u00b1|\+/-|\+-)"
_WITH_ERROR = rf"^({NUMBER})\s*%?\s*(?:{_SIGN}\s*{NUMBER}\s*%?|\(\s*{_SIGN}?\s*{NUMBER}\s*%?\s*\))$"
"""A number and its standard error: ``90 ± 1``, ``0.641 (0.008)``."""


def text_of(name: str) -> pl.Expr:
    """Return a column's cells as texts without blanks around them; empty where nothing stands."""
    return pl.col(name).cast(pl.String).str.strip_chars().fill_null("")


def name_of(name: str) -> pl.Expr:
    """Return a column's cells as names: texts, whole numbers that stand as floats without the point."""
    return text_of(name).str.replace(r"^(-?\d{1,15})\.0+$", "$1")


def with_joined(frame: pl.LazyFrame, reading: Reading) -> tuple[pl.LazyFrame, Reading]:
    """Return a table, and its reading, in which roles of several columns have one: ``Cup / 1`` of ``Cup`` and 1."""
    joined = {}
    for role in JOINED & reading.columns.keys():
        if len(names := reading.all(role)) > 1:
            joined[role] = " / ".join(names)
            frame = frame.with_columns(
                pl.concat_str([name_of(name) for name in names], separator=" / ").alias(joined[role])
            )
    return frame, reading.with_({role: (name,) for role, name in joined.items()}) if joined else reading


def is_nothing(text: pl.Expr) -> pl.Expr:
    """Return where a text may say nothing: see `EMPTY`."""
    return text.str.to_lowercase().is_in(list(EMPTY))


def says(text: pl.Expr, words: Sequence[str]) -> pl.Expr:
    """Return where a text is one of some words, in small or capital letters, or what one of the patterns means.

    A whole number may stand as a float: ``1.0`` is the word 1. The word ``*`` alone is that text.
    """
    low, plain = text.str.to_lowercase(), [re.sub(_WHOLE, r"\1", word.strip().lower()) for word in words]
    patterns = [word for word in plain if has_wildcards(word) and word not in ("*", "?")]
    found = low.str.replace(_WHOLE, "$1").is_in([word for word in plain if word not in patterns])
    if patterns:
        found |= low.str.contains(f"(?s)^(?:{'|'.join(map(expression_of, patterns))})$")
    return found


def number_of(text: pl.Expr, form: str = "") -> pl.Expr:
    """Return the finite numbers that texts say; true and false are 1 and 0, anything else is null.

    Parameters
    ----------
    text : Expr
    form : str
        The number 1234.5 as the file has it: ``1.234,5``; "first": the number that a text begins with. A standard
        error behind a number, and a percent sign, are not read.

    Raises
    ------
    InputError
        The form is none.
    """
    if form == "first":
        plain = text.str.extract(f"^({NUMBER})")
    else:
        if form:
            match = re.fullmatch(r"1(\D?)234(\D)5", form)
            if match is None:
                raise InputError(f"numbers={form}: say how 1234.5 is written, as numbers=1.234,5 or numbers=1,234.5")
            thousands, point = match.groups()
            text = text.str.replace_all(thousands, "", literal=True) if thousands else text
            text = text.str.replace(point, ".", literal=True)
        low = text.str.to_lowercase().replace({"true": "1", "false": "0"})
        plain = pl.coalesce(low.str.extract(_WITH_ERROR), low.str.strip_suffix("%").str.strip_chars_end())
    value = plain.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def form_of(reading: Reading) -> str:
    """Return how a reading says that numbers are written."""
    return reading.one("numbers")


def missing_number(text: pl.Expr, number: pl.Expr, words: Sequence[str]) -> pl.Expr:
    """Return where a cell is one of the words for a missing number; -1 is one where ``-1.0`` stands, too."""
    numbers = [float(word) for word in words if re.fullmatch(NUMBER, word.strip())]
    found = says(text, words)
    return found | number.is_in(numbers).fill_null(False) if numbers else found
