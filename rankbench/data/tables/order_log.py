"""Tables of orders are collected: ballots by query, with numbers for the names of items."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.queries import MOST_IMPLIED, Orders
from rankbench.interfaces.row_weights import check_weights


@dataclass(frozen=True, eq=False)
class OrderLog:
    """Ballots with the names of queries and items.

    Attributes
    ----------
    ids : list of str, length Q
        Queries, sorted.
    items : list of str, length N
        Names of the items, query after query: the candidates in their own order, or else
        every item that a ballot of the query ranks, sorted.
    item_offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are ``items[item_offsets[q]:item_offsets[q + 1]]``.
    orders : Orders
        Within a query in the order of the table. Weights are those of all voters of a ballot.
    counts : ndarray of int64, shape (ballots,), or None
        Number of voters who cast each ballot; None: each row is one ballot.
    """

    ids: list[str]
    items: list[str]
    item_offsets: NDArray[np.int64]
    orders: Orders
    counts: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)


def load_orders(table: pl.LazyFrame) -> OrderLog:
    """Collect a table of orders into an `OrderLog`.

    Parameters
    ----------
    table : LazyFrame
        In the schema of `rankbench.data.tables`, as readers return it.

    Raises
    ------
    InputError
        There are no rows; or weights are too large or different.
    """
    frame = table.collect(engine="streaming")
    if not frame.height:
        raise InputError("the data has no rows")
    frame = frame.sort("query_id", maintain_order=True).with_row_index("ballot")
    runs = frame["query_id"].rle().struct.unnest()
    rows = (
        frame.select("ballot", "query_id", "ranking")
        .explode("ranking", empty_as_null=False)
        .with_columns(place=pl.int_range(pl.len(), dtype=pl.Int32).over("ballot"))
        .explode("ranking", empty_as_null=False)
        .rename({"ranking": "item"})
    )
    if "candidates" in frame.columns:
        first = frame.group_by("query_id", maintain_order=True).agg(pl.col("candidates").first())
        names = first.explode("candidates", empty_as_null=False).rename({"candidates": "item"})
    else:
        names = rows.select("query_id", "item").unique().sort("query_id", "item")
    names = names.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int32).over("query_id"))
    numbered = rows.join(names, on=["query_id", "item"], how="left", maintain_order="left")
    if numbered["number"].null_count():
        row = numbered.filter(pl.col("number").is_null()).row(0, named=True)
        raise InputError(f"item {row['item']!r} of query {row['query_id']!r} is not among its candidates")
    lengths = rows["ballot"].rle().struct.field("len").to_numpy()
    counts = frame["count"].to_numpy() if "count" in frame.columns else None
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    orders = Orders(
        _offsets(runs["len"].to_numpy()),
        _offsets(lengths),
        np.ascontiguousarray(numbered["number"].to_numpy()),
        np.ascontiguousarray(numbered["place"].to_numpy()),
        np.array(weights if counts is None else weights * counts),
    )
    check_weights(orders.weights)
    sizes = names["query_id"].rle().struct.field("len").to_numpy()
    ids = [str(query) for query in runs["value"].to_list()]
    return OrderLog(ids, names["item"].to_list(), _offsets(sizes), orders, counts)


def single_ballots(log: OrderLog) -> OrderLog:
    """Return a log with each ballot as often as voters cast it.

    Raises
    ------
    InputError
        The ballots imply too many comparisons.
    """
    if log.counts is None:
        return log
    orders, lengths = log.orders, np.diff(log.orders.starts)
    implied = float((lengths * (lengths - 1) / 2) @ log.counts)
    if implied > MOST_IMPLIED:
        raise InputError(f"the ballots imply {implied:.3g} comparisons; at most {MOST_IMPLIED:,} are held")
    rows = np.repeat(np.arange(len(orders)), log.counts)
    offsets = np.concatenate([[0], np.cumsum(log.counts)])[orders.offsets]
    begin = np.repeat(orders.starts[rows], lengths[rows])
    starts = _offsets(lengths[rows])
    at = begin + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths[rows])
    weights = (orders.weights / log.counts)[rows]
    return replace(log, orders=Orders(offsets, starts, orders.items[at], orders.places[at], weights), counts=None)


def take_orders(orders: Orders, q: int) -> Orders:
    """Return the ballots of query number `q` alone, as aggregators want them."""
    first, last = int(orders.offsets[q]), int(orders.offsets[q + 1])
    begin, end = int(orders.starts[first]), int(orders.starts[last])
    return Orders(
        np.array([0, last - first], dtype=np.int64),
        orders.starts[first : last + 1] - begin,
        orders.items[begin:end],
        orders.places[begin:end],
        orders.weights[first:last],
    )


def _offsets(lengths: NDArray[np.generic]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths.astype(np.int64))]).astype(np.int64)
