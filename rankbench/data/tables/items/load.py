"""From lazy frames in the schema to the containers that everything else works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.queries import Queries

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.dataset import Dataset

__all__ = ["load_dataset", "load_queries", "usable"]


def load_queries(items: pl.LazyFrame) -> Queries:
    """Collect items into a `Queries`; features are shared with the frame where types allow.

    Nothing is left out: see `usable`.

    Parameters
    ----------
    items : LazyFrame
        In the schema of `rankbench.data.tables`, the rows of a query together.

    Raises
    ------
    InputError
        There are no rows, or a query's rows do not stand together.
    """
    import polars as pl

    frame = items.select("query_id", "label", "x").collect(engine="streaming")
    if not frame.height:
        raise InputError("the data has no rows")
    runs = frame["query_id"].rle().struct.unnest()
    ids = [str(query) for query in runs["value"].to_list()]
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        again = next(query for query in ids if query in seen or seen.add(query))  # type: ignore[func-returns-value]
        raise InputError(f"the rows of query {again!r} do not stand together", column="query_id")
    offsets = np.concatenate([[0], np.cumsum(runs["len"].to_numpy().astype(np.int64))])
    labels = frame["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    x = frame.drop_in_place("x").to_numpy()
    return Queries(ids, offsets, np.ascontiguousarray(x, np.float32), labels)


def usable(queries: Queries) -> NDArray[np.int64]:
    """Return the indices of the queries that a ranking can be judged on.

    Left out are queries with fewer than two items, with a single label value, or with an
    item that nobody labelled; callers say how many.
    """
    first = queries.offsets[:-1]
    low = np.minimum.reduceat(queries.labels, first) if len(queries) else np.zeros(0)
    high = np.maximum.reduceat(queries.labels, first) if len(queries) else np.zeros(0)
    # NaN (unlabelled) spreads through minimum and maximum and compares false.
    return np.flatnonzero((queries.sizes > 1) & (low < high)).astype(np.int64)


def load_dataset(dataset: Dataset) -> Queries:
    """Return a data set's queries.

    Raises
    ------
    InputError
        The data is not there (says how to get it) or cannot be read.
    """
    return load_queries(dataset.scan())
