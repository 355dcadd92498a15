"""A row may stand for several votes, its count, or have a weight; weights lost in rounding are rejected."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.table_check import EXACT_BELOW

MOST_VOTES = 10_000_000
"""Most votes that rows with counts become; of more, rows keep their counts, and votes are only summed."""


_RATIO = 1e15
_HUGE, _TINY = 1e100, 1e-100


def votes_counted(frame: pl.LazyFrame, gone: str, noun: str) -> int:
    """Return the number of votes of a table's rows with a column ``count``; 0 without numbers in it.

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
    # Other values than numbers are refused later, with their row.
    if schema["count"].is_nested() or schema["count"] == pl.Boolean:
        return 0
    count = count.filter(count.is_finite() & ~(pl.col(gone) if gone in schema else pl.lit(value=False)))
    votes = frame.select(count.sum()).collect(engine="streaming").item()
    if votes >= EXACT_BELOW:
        raise InputError(f"counts add up to {votes:.3g} {noun}, and sums are exact below 2^53 alone", column="count")
    return int(votes)


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.strip_chars().str.strip_suffix("%").cast(pl.Float64, strict=False)


def weightless(name: str) -> pl.Expr:
    """Return whether a weight is 0, for each row."""
    return (_number(name) == 0).fill_null(False)


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
