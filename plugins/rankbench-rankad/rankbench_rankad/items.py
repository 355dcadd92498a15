"""Points as rankbench's items: one query, whose items' labels are 1 for anomalies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankbench.errors import InputError
from rankbench_rankad.margins import Floats

if TYPE_CHECKING:
    import polars as pl

__all__ = ["QUERY", "from_items", "to_items"]

QUERY = "points"
"""Name of the one query."""


def to_items(x: Floats, labels: Floats | None) -> pl.LazyFrame:
    """Return points in the schema of items.

    Parameters
    ----------
    x : ndarray of float64, shape (n, d)
    labels : ndarray of float64, shape (n,), or None

    Raises
    ------
    InputError
        A feature is beyond the range of float32, which features are kept in.
    """
    import polars as pl

    with np.errstate(over="ignore"):
        features = x.astype(np.float32)
    wrong = np.argwhere(~np.isfinite(features))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        raise InputError(
            f"{x[row, column]:g} is beyond the range of float32", row=row + 1, column=f"feature {column + 1}"
        )
    n, d = features.shape
    return pl.DataFrame(
        {
            "query_id": pl.repeat(QUERY, n, eager=True, dtype=pl.String),
            "item": np.arange(n, dtype=np.uint32),
            "label": pl.repeat(None, n, eager=True, dtype=pl.Float32) if labels is None else labels.astype(np.float32),
            "x": pl.Series(features, dtype=pl.Array(pl.Float32, d)),
        }
    ).lazy()


def from_items(items: pl.LazyFrame) -> tuple[Floats, Floats]:
    """Return the points and labels of a table of items, shapes (n, d) and (n,).

    Raises
    ------
    InputError
        A label is neither 0 nor 1, or missing.
    """
    import polars as pl

    frame = items.select("label", "x").collect()
    labels = frame["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    odd = np.flatnonzero((labels != 0) & (labels != 1))
    if len(odd):
        raise InputError("anomalies must be labeled 1 and nominal points 0", row=int(odd[0]) + 1, column="label")
    return frame["x"].to_numpy().astype(np.float64), labels
