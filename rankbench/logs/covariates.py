"""Covariates of votes are loaded as numbers of the winner less the loser."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.data.tables.covariates import CONTROL, parse_control
from rankbench.errors import InputError, option
from rankbench.interfaces.covariate_aggregator import PREDICTION, Covariates

_LONG = 1_000_000
"""Covariates of more votes than these have 32 bits; sums of them have 64."""


def loaded_covariates(frame: pl.DataFrame, order: pl.Series | None, weights: NDArray[np.float64]) -> Covariates | None:
    """Return the covariates in a log's columns, of the winner less the loser; None without any.

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
    if not (columns := [name for name in frame.columns if name.startswith((CONTROL, PREDICTION))]):
        return None
    names = tuple(name.removeprefix(CONTROL) for name in columns)
    values = np.empty((frame.height, len(names)), np.float32 if frame.height > _LONG else np.float64)
    scales = []
    for k, column in enumerate(columns):
        given = frame[column] if order is None else frame[column].gather(order)
        if missing := given.null_count():
            kind, _, name = column.partition(": ")
            where = option("where", "COLUMN is not null")
            raise InputError(
                f"{kind} {name!r}: the value is missing in {missing:,} of {frame.height:,} votes; fill these rows in, "
                f"or leave them out with {where}",
                column=name,
            )
        numbers = given.to_numpy()
        scaled = column.startswith(CONTROL) and parse_control(names[k])[0].scaled
        if column.startswith(CONTROL):
            _refuse_constant(names[k], numbers)
        scales.append(float(np.sqrt(weights @ np.square(numbers) / weights.sum())) if scaled else 1.0)
        values[:, k] = numbers / scales[k]
    if "first" in frame.columns:
        first = frame["first"] if order is None else frame["first"].gather(order)
        values[~first.to_numpy()] *= -1
    return Covariates(names, tuple(scales), values)


def _refuse_constant(name: str, numbers: NDArray[np.float64]) -> None:
    low, high = float(numbers.min()), float(numbers.max())
    if low == high and (low == 0 or not name.startswith("side")):
        raise InputError(
            f"control {name!r}: it is {low:g} in every vote; leave it out (that the left wins more often is the "
            "control 'side')",
            column=name,
        )
