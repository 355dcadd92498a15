"""Rows of a matrix become queries: their names, weights and comparisons."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.errors import InputError, SpecError, nearest
from rankbench.interfaces.queries import Comparisons, Queries

UNSAID = ""
"""The parameter `query` if rows were not assigned to queries."""

_NO_QUERIES = (
    "nothing says which rows belong to which query. Give qid=, name a column of a frame as Ranker(query='qid'), or "
    "write Ranker(query=None) if all rows are one list. Cross-validation, searches and pipelines pass qid on where it "
    "is routed: sklearn.set_config(enable_metadata_routing=True) and "
    "ranker.set_fit_request(qid=True).set_score_request(qid=True)"
)


def _column_names(X: Any) -> list[Any]:
    """Return the names of a frame's columns, also of PyArrow's; none for other objects."""
    # The class knows: a column of a pandas frame is an attribute too.
    return list(X.column_names if hasattr(type(X), "column_names") else getattr(X, "columns", ()))


def without_queries(X: Any, query: str | None) -> Any:
    """Return a frame without its column of queries, if any."""
    names = _column_names(X) if query else []
    if query not in names:
        return X
    kept = [name for name in names if name != query]
    return X.select(kept) if hasattr(type(X), "select") else X[kept]


def with_queries(X: Any, qid: ArrayLike | None, query: str | None) -> tuple[Any, ArrayLike | None]:
    """Return the features, and the query of each row; None: all rows are one list.

    Raises
    ------
    SpecError
        Nothing says it, or two things do; or there is no such column.
    """
    if query is not None and not isinstance(query, str):
        raise SpecError(f"Ranker, parameter 'query': the name of a column or None, not {query!r}")
    if query == UNSAID:
        if qid is None:
            raise SpecError(_NO_QUERIES)
        return X, qid
    if qid is not None:
        raise SpecError(f"qid and query={query!r} both say which rows belong to which query: leave one out")
    if query is None:
        return X, None
    if not (names := _column_names(X)):
        raise SpecError(
            f"query={query!r} names a column, and X, of type {type(X).__name__}, has no columns with names. Give a "
            "frame, or qid=; a transformer before Ranker keeps frames after set_output(transform='polars') or 'pandas'"
        )
    if query not in names:
        raise SpecError(f"query={query!r}: X has no such column{nearest(query, map(str, names))}")
    return without_queries(X, query), X[query]


def queries_of_rows(
    x: NDArray[np.float32], y: NDArray[np.float64] | None, qid: ArrayLike | None
) -> tuple[Queries, NDArray[np.int64]]:
    """Return queries in the order of first appearance, and the row of X of each of their items."""
    numbers: dict[Hashable, int] = {}
    names = [0] * len(x) if qid is None else _query_names(qid, len(x))
    of = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    order = np.argsort(of, kind="stable")
    offsets = np.searchsorted(of[order], np.arange(len(numbers) + 1)).astype(np.int64)
    truth = None if y is None else np.asarray(y, np.float64)[order]
    return Queries([str(name) for name in numbers], offsets, x[order], truth), order


def _query_names(qid: ArrayLike, n: int) -> list[Hashable]:
    """Return the query of each of n rows.

    Raises
    ------
    InputError
        Another shape, a row without a query, or texts beside numbers.
    """
    # NumPy makes texts of a list of numbers and texts, where 1 and "1" are one query.
    held = np.asarray(qid if hasattr(qid, "__array__") else np.array(qid, object))
    if held.shape not in ((n,), (n, 1)):
        raise InputError(f"qid holds the query of each row: shape ({n},) for X of {n} rows, not {held.shape}")
    held = held.reshape(n)
    names: list[Hashable] = (qid.reshape(n) if np.ma.isMaskedArray(qid) else held).tolist()
    none = np.isnat(held) if held.dtype.kind in "mM" else [_is_none(name) for name in names]
    if any(none):
        row = int(np.argmax(none))
        raise InputError(f"row {row} of X has no query: qid[{row}] is {names[row]}")
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        row = texts.index(not texts[0])
        raise InputError(
            f"qid has texts beside numbers: qid[0] is {names[0]} ({type(names[0]).__name__}), and qid[{row}] is "
            f"{names[row]} ({type(names[row]).__name__}); write one kind"
        )
    return names


def warn_of_query_features(x: NDArray[np.float32], qid: ArrayLike | None) -> None:
    """Warn if a column of X holds the numbers of the queries, and so is a feature by mistake."""
    of = np.asarray(qid)
    if of.dtype.kind not in "iuf" or (of == of.flat[0]).all():
        return
    same = np.flatnonzero((x == of.reshape(-1, 1).astype(np.float32)).all(axis=0))
    if len(same):
        warnings.warn(
            f"column {same[0]} of X holds the queries that qid names, and is a feature: leave it out",
            stacklevel=3,
        )


def contents_of(queries: Queries) -> dict[str, int]:
    """Return a number for each query that tells its items from others, in any order of them."""
    bits = np.ascontiguousarray(queries.x).view(np.uint32).astype(np.uint64)
    sums = np.add.reduceat(bits.sum(axis=1), queries.offsets[:-1])
    return dict(zip(queries.ids, sums.tolist(), strict=True))


def warn_of_cut_queries(judged: dict[str, int], learned: dict[str, int]) -> None:
    """Warn if a ranker is judged by queries that it has learned from other items of: their lists have been cut."""
    cut = [name for name, content in judged.items() if learned.get(name, content) != content]
    if cut:
        warnings.warn(
            f"fit had other items of {len(cut)} of {len(judged)} queries, as query {cut[0]}. A split that cuts queries "
            "judges short lists, and scores too high: keep them whole, as GroupKFold() with groups= does. Different "
            "queries need different names",
            stacklevel=3,
        )


def _is_none(name: Any) -> bool:
    try:
        return name is None or bool(name != name) or name in (math.inf, -math.inf)
    except TypeError:  # as of pandas.NA
        return True


def query_weights(
    given: NDArray[np.float64], queries: Queries, rows: NDArray[np.int64], chosen: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weights of the chosen queries, which their items share; `given` has one for each row of X."""
    if given.shape != rows.shape or (given < 0).any():
        raise InputError(f"sample_weight holds a weight of at least 0 for each row of X, shape {rows.shape}")
    weights = given[rows]
    first = weights[queries.offsets[:-1]]
    odd = np.flatnonzero(weights != np.repeat(first, queries.sizes))
    if len(odd):
        raise InputError(
            f"sample_weight of row {rows[odd[0]]} is {weights[odd[0]]:g}, not that of the other rows of its query. "
            "NDCG weighs queries: write one weight for all items of a query"
        )
    if not first[chosen].any():
        raise InputError("sample_weight is 0 for all queries with an order, so there is no mean over them")
    return np.asarray(first[chosen])


def compared_rows(pairs: NDArray[np.int64], queries: Queries, rows: NDArray[np.int64]) -> Comparisons:
    """Return comparisons of rows of X, shape (n, 2), sorted by query, in their order within a query."""
    if pairs.shape[1] != 2 or pairs.min() < 0 or pairs.max() >= len(rows):
        raise ValueError(f"comparisons are rows (winner, loser) of X, from 0 to {len(rows) - 1}, shape (n, 2)")
    place = np.argsort(rows)[pairs]
    query = np.searchsorted(queries.offsets, place, side="right") - 1
    wrong = np.flatnonzero((query[:, 0] != query[:, 1]) | (place[:, 0] == place[:, 1]))
    if len(wrong):
        raise ValueError(f"comparison {wrong[0]}, {pairs[wrong[0]].tolist()}, is not of two items of one query")
    order = np.argsort(query[:, 0], kind="stable")
    within = (place - queries.offsets[query])[order].astype(np.int32)
    starts = np.searchsorted(query[order, 0], np.arange(len(queries) + 1)).astype(np.int64)
    winners, losers = (np.ascontiguousarray(column) for column in within.T)
    return Comparisons(starts, winners, losers, np.ones(len(pairs)))
