"""Which column weighs the rows of a log, and weights that floating-point sums can be made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.data.tables.comparisons.plain_names import plain_name
from rankbench.data.tables.remarks import remark
from rankbench.errors import InputError
from rankbench.text import listed, short_repr

if TYPE_CHECKING:
    import polars as pl

__all__ = ["WEIGHTLESS", "check_weights", "weightless", "with_counts"]

WEIGHTLESS = "weightless"
"""Role, beside ``weight``, of a weight's column where it is 0 in some rows, which are left out."""

_WEIGHTS = "weights"

_COUNTS = {
    *("count", "counts", "cnt", "n", "freq", "freqs", "frequency", "votes", "num_votes", "n_votes", "number_of_votes"),
    *("vote_count", "voters", "num_voters", "n_voters", "ballots", "num_ballots", "multiplicity", "occurrences"),
    _WEIGHTS,
}
"""Names, as `plain_name` gives them, of columns that say how many votes or ballots a row stands for."""

_RATIO = 1e15
_HUGE, _TINY = 1e100, 1e-100


def with_counts(raw: pl.LazyFrame, roles: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a log by role, with a column of counts as its ``weight``.

    One pass over the columns that are called like counts. A column of whole numbers weighs rows, and those of 0 are
    to be left out: the column is `WEIGHTLESS` as well. Of 1 in every row it says nothing, and words are no counts.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns by role, given or guessed.
    given : mapping of str to str
        The user's: what they say of ``weight`` decides.

    Raises
    ------
    InputError
        Several columns may weigh the rows, or one that is called like counts holds other numbers, or 1, 2, 3, ...
    """
    import polars as pl

    taken = set(roles.values())
    named = [name for name in raw.collect_schema() if plain_name(name) in _COUNTS and name not in taken]
    if "weight" in given or not named:
        return _without_nothing(raw, roles)
    value = {name: pl.col(name).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False) for name in named}
    whole = {name: (value[name] == value[name].floor()) & value[name].is_finite() for name in named}
    facts = raw.select(
        pl.len().alias("rows"),
        *[value[name].count().alias(f"numbers {name}") for name in named],
        *[value[name].min().alias(f"low {name}") for name in named],
        *[value[name].max().alias(f"high {name}") for name in named],
        *[whole[name].sum().alias(f"whole {name}") for name in named],
    )
    found = facts.collect(engine="streaming").row(0, named=True)
    rows, likely, why = found["rows"], list[str](), ""
    for name in named:
        numbers, low, high = (found[f"{fact} {name}"] for fact in ("numbers", "low", "high"))
        if not numbers or (low == high == 1 and numbers == rows):
            continue
        likely.append(name)
        counted = (
            low >= 0
            and high > 0
            and numbers == rows
            and (found[f"whole {name}"] == rows or plain_name(name) == _WEIGHTS)
        )
        if not counted:
            why = f"{short_repr(name)} is called like a column of counts, but holds other values than 0, 1, 2, ..."
        elif low in (0, 1) and high - low + 1 == rows > 1 and _distinct(raw, name) == rows:
            why = f"{short_repr(name)} may count votes, or number the rows from {low:g} to {high:,g}"
    weights = ([roles["weight"]] if "weight" in roles else []) + likely
    if likely and len(weights) > 1:
        why = f"{listed(weights)} may each say how many votes a row stands for"
    elif likely and not why and "left_wins" in roles:
        why = f"{short_repr(likely[0])} may count the games of a series, or series that went alike"
    if why:
        choices = " | ".join(f"--columns weight={name} weighs each row by {short_repr(name)}" for name in weights)
        raise InputError(f"{why}: {choices} | --columns weight= counts each row once")
    if not likely:
        return _without_nothing(raw, roles)
    remark(f"{short_repr(likely[0])} weighs the rows: each counts so many times (--columns weight= counts each once)")
    return _without_nothing(raw, {**roles, "weight": likely[0]})


def _without_nothing(raw: pl.LazyFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """Return columns by role, of which a weight's that is 0 somewhere is `WEIGHTLESS` as well; a remark counts rows."""
    import polars as pl

    dtype = raw.collect_schema()[roles["weight"]] if "weight" in roles else None
    if dtype is None or not (dtype.is_numeric() or dtype == pl.String):
        return dict(roles)  # the check refuses what is no number
    count = raw.select(weightless(roles["weight"]).sum()).collect(engine="streaming").item()
    if not count:
        return dict(roles)
    remark(f"{count:,} rows whose {short_repr(roles['weight'])} is 0 are left out")
    return {**roles, WEIGHTLESS: roles["weight"]}


def weightless(name: str) -> pl.Expr:
    """Return in which rows a column of weights is 0."""
    import polars as pl

    return (pl.col(name).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False) == 0).fill_null(False)


def _distinct(raw: pl.LazyFrame, name: str) -> int:
    import polars as pl

    return int(raw.select(pl.col(name).n_unique()).collect(engine="streaming").item())


def check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights, or sums of them, of which scores would silently be wrong.

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
    if not np.isfinite(total) or total > _HUGE or high < _TINY:
        raise InputError(
            f"weights add up to {total:.3g}, of which no scores can be computed; divide all of them by one number, "
            "so that they are about 1",
            column="weight",
        )
    if high > _RATIO * low:
        raise InputError(
            f"weights, added up, range from {low:.3g} to {high:.3g}: the small ones are lost in rounding; leave them "
            "out, or mend the large ones",
            column="weight",
        )
