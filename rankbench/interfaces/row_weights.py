"""A row may stand for several votes, its count, or have a weight; weights lost in rounding are rejected."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text, listed, plain_name, short_repr
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.table_check import EXACT_BELOW

NOTHING = {"weight": "weightless", "count": "countless"}
"""Roles, beside ``weight`` and ``count``, of their columns where these are 0 in some rows, which are left out."""

MOST_VOTES = 10_000_000
"""Most votes that rows with counts become; of more, rows keep their counts, and votes are only summed."""

_WEIGHTS = "weights"

_COUNTS = {
    *("count", "counts", "cnt", "n", "freq", "freqs", "frequency", "votes", "voters", "ballots", "multiplicity"),
    *("occurrences", _WEIGHTS),
}
"""Words in names of columns that say how many votes or ballots a row stands for."""

_PERHAPS = {
    *("games", "matches", "battles", "comparisons", "times", "total", "wins", "tally", "num", "no", "number"),
    *("quantity", "qty"),
}
"""Words in names of columns that may say so."""

_SHARES = {"share", "percent", "percentage", "pct", "proportion"}
"""Words in names of columns that may say so in parts of a whole."""

_BETWEEN = {"of", "cast"}
_BESIDE = {*_BETWEEN, "total", "num", "number", "vote", "voter", "ballot"}
"""Words that such a name may have as well: number of votes, ballot count."""

_RATIO = 1e15
_HUGE, _TINY = 1e100, 1e-100


def with_counts(raw: pl.LazyFrame, roles: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a log by role, with a column that is called like counts as its ``count``.

    One pass over the columns that are called like counts. A column of whole numbers counts votes, and rows of 0 are
    to be left out: the column is among `NOTHING` as well. Of 1 in every row it says nothing, and words are no counts.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns by role, given or guessed.
    given : mapping of str to str
        The user's: what they say of ``count`` or of ``weight`` decides.

    Raises
    ------
    InputError
        Several columns may count votes, or one that is called like counts holds other numbers, or 1, 2, 3, ...
    """
    standard = "" if "count" in given else roles.get("count", "")
    taken = {name for role, name in roles.items() if role != "count" or "count" in given}
    told = bool({"count", "weight"} & given.keys())
    called = {name: counts_called(name) for name in raw.collect_schema() if name not in taken}
    # Beside two sides games, wins and totals may be anything.
    named = [name for name, how in called.items() if how == "counts" or (how and "left" not in roles)]
    if not told:
        without_counts((name for name in called if name not in named), roles)
    if told or not named:
        return _without_nothing(raw, roles)
    rows, *facts = raw.select(pl.len(), *map(_facts_of, named)).collect(engine="streaming").row(0)
    likely, whole, why = list[str](), dict[str, bool](), ""
    for name, found in zip(named, facts, strict=True):
        numbers, low, high = found["numbers"], found["low"], found["high"]
        own, weights = name == standard, plain_name(name) == _WEIGHTS
        if not own and (not numbers or (low == high == 1 and numbers == rows)):
            continue
        perhaps = called[name] != "counts"
        if perhaps and (low < 0 or (called[name] == "perhaps" and found["whole"] < rows)):
            continue
        likely.append(name)
        whole[name] = found["whole"] == rows and not weights
        if perhaps:
            why = f"{short_repr(name)} may say how many votes a row stands for"
        elif not own and not (low >= 0 and high > 0 and numbers == rows and (whole[name] or weights)):
            why = f"{short_repr(name)} is called like a column of counts, but holds other values than 0, 1, 2, ..."
        elif numbers and low in (0, 1) and high - low + 1 == rows > 1 and _distinct(raw, name) == rows:
            why = f"{short_repr(name)} may count votes, or number the rows from {low:g} to {high:,g}"
    several = ([roles["weight"]] if "weight" in roles and likely != [standard] else []) + likely
    if likely and len(several) > 1:
        why = f"{listed(several)} may each say how many votes a row stands for"
    elif likely and not why and "left_wins" in roles:
        why = f"{short_repr(likely[0])} may count the games of a series, or series that went alike"
    if why:
        # Of numbers of rows and of whole numbers the count is meant, of others the weight of one vote.
        choices = " | ".join(
            f"--columns {shlex.quote(f'count={name}')} counts each row {short_repr(name)} times"
            if whole[name]
            else f"--columns {shlex.quote(f'weight={name}')} weighs each row by {short_repr(name)}"
            for name in likely
        )
        raise InputError(f"{why}: {choices} | --columns count= counts each row once")
    if not likely or likely == [standard]:
        return _without_nothing(raw, roles)
    if not whole[likely[0]]:
        remark(f"{short_repr(likely[0])} weighs the rows (--columns weight= weighs none)")
        return _without_nothing(raw, {**roles, "weight": likely[0]})
    remark(f"{short_repr(likely[0])} counts votes (--columns count= counts each row once)")
    return _without_nothing(raw, {**roles, "count": likely[0]})


def votes_counted(frame: pl.LazyFrame, gone: str, noun: str) -> int:
    """Return how many votes the rows of a table with a column ``count`` are, as a remark says; 0 if it has no numbers.

    Parameters
    ----------
    frame : LazyFrame
    gone : str
        Name of the column, if it is there, of rows that are left out.
    noun : str
        "votes" or "ballots".

    Raises
    ------
    InputError
        They are more than floats count.
    """
    schema, count = frame.collect_schema(), _number("count")
    # What is no number is refused later, with its row.
    if schema["count"].is_nested() or schema["count"] == pl.Boolean:
        return 0
    count = count.filter(count.is_finite() & ~(pl.col(gone) if gone in schema else pl.lit(value=False)))
    rows, votes = frame.select((count > 0).sum(), count.sum().alias("votes")).collect(engine="streaming").row(0)
    if votes >= EXACT_BELOW:
        raise InputError(f"counts add up to {votes:.3g} {noun}, and sums are exact below 2^53 alone", column="count")
    if votes != rows:
        remark(f"{count_text(rows, 'row')} are {votes:,.0f} {noun}")
    return int(votes)


def left_out(roles: Mapping[str, str]) -> list[pl.Expr]:
    """Return in which rows the weight, or the count, is 0, where it is in some."""
    return [weightless(roles[role]) for role in NOTHING.values() if role in roles]


def counts_called(name: str) -> Literal["counts", "share", "perhaps", ""]:
    """Return whether a column is called like those that say how many votes a row stands for."""
    words = set(plain_name(name).strip("_").split("_"))
    if words & _COUNTS and words <= _COUNTS | _BESIDE:
        return "counts"
    if words & _SHARES and words <= _COUNTS | _BESIDE | _SHARES:
        return "share"
    return "perhaps" if words & (_COUNTS | _PERHAPS) and words <= _COUNTS | _PERHAPS | _BETWEEN else ""


def may_count(texts: Sequence[str]) -> bool:
    """Return whether numbers may be of votes: whole ones, which do not number the rows."""
    numbers = [float(text) for text in texts if text]
    whole = all(number >= 0 and number.is_integer() for number in numbers)
    return whole and not (len(set(numbers)) == len(numbers) == max(numbers) - min(numbers) + 1 > 1)


def without_counts(names: Iterable[str], roles: Mapping[str, str]) -> None:
    """Remark which columns that are called like counts are not used."""
    for name in names:
        if counts_called(name) and name not in roles.values():
            remark(f"rankbench does not use {short_repr(name)}: it weighs no row")


def _without_nothing(raw: pl.LazyFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """Return columns by role, with weights and counts that are 0 somewhere among `NOTHING`; a remark counts rows."""
    found, schema = dict(roles), raw.collect_schema()
    for role, nothing in NOTHING.items():
        name = roles.get(role, "")
        # The check refuses what is no number.
        if not name or not (schema[name].is_numeric() or schema[name] == pl.String):
            continue
        if rows := raw.select(weightless(name).sum()).collect(engine="streaming").item():
            remark("rankbench leaves out " + count_text(rows, "row", f"whose {short_repr(name)} is 0"))
            found[nothing] = name
    return found


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.strip_chars().str.strip_suffix("%").cast(pl.Float64, strict=False)


def _facts_of(name: str) -> pl.Expr:
    """Return how many numbers a column has, how many of them are whole, and the least and the largest."""
    value = _number(name)
    whole = (value == value.floor()) & value.is_finite()
    facts = {"numbers": value.count(), "whole": whole.sum(), "low": value.min(), "high": value.max()}
    return pl.struct([fact.alias(key) for key, fact in facts.items()]).alias(name)


def weightless(name: str) -> pl.Expr:
    """Return in which rows a column of weights is 0."""
    return (_number(name) == 0).fill_null(False)


def _distinct(raw: pl.LazyFrame, name: str) -> int:
    return int(raw.select(pl.col(name).n_unique()).collect(engine="streaming").item())


def check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights, or sums of them, that would make scores silently wrong.

    A float has sixteen digits: besides a weight that is 1e15 times as large, another one is lost
    in the sum. Squares of weights beyond 1e100, or below 1e-100, leave the finite numbers.

    Parameters
    ----------
    weights : ndarray of float64
        Positive.

    Raises
    ------
    InputError
        Their sum is not finite or beyond these bounds, or they differ too much.
    """
    if not weights.size:
        return
    low, high = float(weights.min()), float(weights.max())
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total) or total > _HUGE or high < _TINY or high > _RATIO * low:
        raise InputError(
            f"weights add up to {total:.3g}, and range from {low:.3g} to {high:.3g}: scores would be lost in rounding. "
            "Divide all weights by one number, so that they are about 1, and mend those that are far from the others",
            column="weight",
        )
