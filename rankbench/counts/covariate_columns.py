"""Columns of a log that are covariates, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.data.tables.comparisons.controls import CONTROL, parse_control
from rankbench.errors import InputError
from rankbench.kinds.covariates import Covariates

if TYPE_CHECKING:
    import polars as pl

__all__ = ["loaded_covariates"]

_LONG = 1_000_000
"""Covariates of more votes than these have 32 bits; sums of them have 64."""


def loaded_covariates(frame: pl.DataFrame, order: pl.Series | None, weights: NDArray[np.float64]) -> Covariates | None:
    """Return the covariates among a log's columns, of the winner less the loser; None if there are none.

    Parameters
    ----------
    frame : DataFrame
        In the schema of comparisons: covariates are of the left less the right.
    order : Series, optional
        Rows in the order of time; by default as they stand.
    weights : ndarray of float64, shape (n,)
        Of the votes, in this order.

    Raises
    ------
    InputError
        One is missing in some rows, 0 in all, or the same in all.
    """
    columns = [name for name in frame.columns if name.startswith(CONTROL)]
    if not columns:
        return None
    names = tuple(name.removeprefix(CONTROL) for name in columns)
    values = np.empty((frame.height, len(names)), np.float32 if frame.height > _LONG else np.float64)
    scales = []
    for k, column in enumerate(columns):
        given = frame[column] if order is None else frame[column].gather(order)
        missing = given.null_count()
        if missing:
            raise InputError(
                f"control {names[k]!r}: the value is missing in {missing:,} of {frame.height:,} votes; fill these rows "
                "in, or leave them out of the log",
                column=names[k],
            )
        numbers = given.to_numpy()
        _refuse_constant(names[k], numbers)
        term = parse_control(names[k])[0]
        scales.append(float(np.sqrt(weights @ np.square(numbers) / weights.sum())) if term.scaled else 1.0)
        values[:, k] = numbers / scales[k]
    if "first" in frame.columns:
        first = frame["first"] if order is None else frame["first"].gather(order)
        values[~first.to_numpy()] *= -1
    return Covariates(names, tuple(scales), values)


def _refuse_constant(name: str, numbers: NDArray[np.float64]) -> None:
    low, high = float(numbers.min()), float(numbers.max())
    if low == high == 0:
        raise InputError(
            f"control {name!r}: it is 0 in every vote, so that it explains nothing; leave it out", column=name
        )
    if low == high and not name.startswith("side"):
        raise InputError(
            f"control {name!r}: it is {low:g} in every vote; that the left wins more often is the control 'side'",
            column=name,
        )
