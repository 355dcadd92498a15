"""An outlying number or time may be a code: for a missing value, or for an event that did not happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import text_of
from rankbench.data.tables.times import time_reading
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.table_check import RawTable

_HUGE = 1e30

_NEAR = 0.96
"""Part of a code above which other codes stand beside it: 98 beside 99."""

_FEW = 5
"""Different numbers beside which 0 may be a code, where it is farther from them than they are from each other."""

_APART = 20
"""Times the span of all other times that a code is apart from them."""


def refuse_code(raw: RawTable, values: Mapping[str, pl.Expr], reading: Reading, *, lowest: float = 0) -> None:
    """Raise a question about numbers that are outliers: -1, 999, 0 among places.

    Parameters
    ----------
    raw : RawTable
    values : mapping of str to Expr
        Numbers of one kind, by column.
    reading : Reading
        Where it says ``missing`` or ``last``, no number is a code.
    lowest : float
        No number is below it, but a code: 1 among places, minus infinity among margins.

    Raises
    ------
    Unread
    """
    if {"missing", "last"} & reading.words.keys() or not values:
        return
    numbers = raw.frame.select(value.alias(name) for name, value in values.items())
    ends = raw.collect(pl.concat([numbers.min(), numbers.max()]))
    if not any(_may_be_code(end, lowest) for name in values for end in ends[name].drop_nulls()):
        return
    every = pl.concat(numbers.select(pl.col(name).alias("x")) for name in values)
    counted = raw.collect(every.drop_nulls().group_by("x").len().sort("x"))
    some = counted["x"].to_list()
    if odd := codes_among(some, lowest=lowest):
        count = int(counted["len"].filter(counted["x"].is_in(odd)).sum())
        rest = [value for value in some if value not in odd]
        # Two numbers of one column have two keys.
        shown = list(dict.fromkeys(name.rstrip("\0") for name in values))
        where = f"{'stands' if len(odd) == 1 else 'stand'} {_times(count)} in {listed(shown)}"
        raise code_question(odd, where, rest, "leaves such rows out", next(iter(values)))


def code_question(
    odd: Sequence[float], where: str, rest: Sequence[float], does: str, column: str | None = None
) -> Unread:
    """Return the question whether outlying numbers are codes; `does`: the effect of calling them missing."""
    words = names_text({"missing": [f"{value:g}" for value in odd]})
    return Unread(
        f"{' and '.join(f'{value:g}' for value in odd)} {where}, apart from {min(rest):g} to {max(rest):g}: "
        f"{'a number, or a code' if len(odd) == 1 else 'numbers, or codes'}?",
        f"{option('words', words)} {does}; {option('words', 'missing=')} (empty cells alone say missing) reads "
        f"{'it as a number' if len(odd) == 1 else 'them as numbers'}",
        code="code",
        column=column,
    )


def refuse_odd_time(raw: RawTable, reading: Reading) -> None:
    """Raise a question about the first or the last time, if it is an outlier, as 0, 9999 or 1900-01-01 are.

    Raises
    ------
    Unread
    """
    name = reading.first["time"]
    if not name or "missing" in reading.words or reading.first["dates"]:
        return
    given = pl.col(name).filter(text_of(name) != "") if raw.schema[name] == pl.String else pl.col(name)
    with raw.located(name):
        ends = pl.LazyFrame({name: raw.facts(given.min(), given.max())}, {name: raw.schema[name]})
        shown = ends.select(_ordered(ends, name), text_of(name).alias("text")).drop_nulls().collect().rows()
        if not any(time <= 0 or text.startswith("99") for time, text in shown):
            return
        time = _ordered(raw.frame, name)
        low, high = time.min(), time.max()
        first, second, before, last = raw.facts(
            low, time.filter(time > low).min(), time.filter(time < high).max(), high
        )
    for odd, near, far in ((first, second, last), (last, before, first)):
        if near is not None and abs(odd - near) > _APART * abs(near - far) > 0:
            word, count = raw.facts(text_of(name).filter(time == odd).first(), (time == odd).sum())
            words = option("words", names_text({"missing": (word,)}))
            raise Unread(
                f"{short_repr(word)} stands {_times(count)} in {short_repr(name)}, far from others: a time, or a code?",
                f"{words} says that these times are missing; {option('words', 'missing=')} reads it as a time",
                code="code",
                column=name,
            )


def _ordered(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """Return the numbers that order the times of a column: days, microseconds, or the times themselves."""
    return time_reading(frame, name).expression(name).to_physical().cast(pl.Float64)


def _may_be_code(end: float, lowest: float) -> bool:
    """Return whether the least, or the largest, number of some may be a code."""
    return end < lowest or end == lowest == 0 or abs(end) > _HUGE or set(f"{abs(end):g}") == {"9"}


def codes_among(some: Sequence[float], *, lowest: float = 0) -> list[float]:
    """Return outlying numbers, likely codes, of sorted different numbers: 99, and 98 beside it."""
    below, rest = [value for value in some if value < lowest], [value for value in some if value >= lowest]
    ends = (below[0], below[-1], rest[0], rest[-1]) if below and rest else (0, 0, 0, 0)
    # Of places all are from 1; several numbers below 0 are codes if they follow one another far from the others.
    far = len(below) == ends[1] - ends[0] + 1 and ends[2] - ends[1] > ends[3] - ends[2] > 0
    if any(ends) and (lowest or len(below) == 1 or far) and all(float(value).is_integer() for value in below):
        return below
    if not lowest and not below and len(rest) > _FEW and rest[0] == 0 and rest[1] > rest[-1] - rest[1]:
        return rest[:1]
    for sign in (1, -1):
        ordered = sorted(sign * value for value in some)
        top = ordered[-1] if ordered else 0.0
        near = [value for value in ordered if value > _NEAR * top]
        others = ordered[: len(ordered) - len(near)]
        nines = set(f"{top:g}") == {"9"} and all(float(value).is_integer() for value in near)
        if others and top > 5 * max(others[-1], 10) and (top > _HUGE or nines):
            return sorted(sign * value for value in near)
    return []


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
