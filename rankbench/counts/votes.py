"""A log of comparisons as columns: what cross-validation and the bootstrap resample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.data.tables.weights import check_weights
from rankbench.errors import InputError
from rankbench.kinds.queries import Comparisons

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.counts import PairCounts

__all__ = ["NO_TIMES", "Votes", "load_votes", "votes_of_ballots"]

_AS_READ = "methods that go by the order of votes take the file's order"

NO_TIMES = f"the log does not say when votes were cast: {_AS_READ}"
"""What a reader of a sequential method must know of a log without times."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes on items of one name space, whatever query they were asked under.

    They stand in the order in which they were cast, as far as it is known, so that rows in rising
    order are what a sequential aggregator is to be shown: by time, votes of one time in the
    order of the log; in the order of the log alone where times are not known.

    Attributes
    ----------
    items : list of str, length m
        Sorted.
    winners, losers : ndarray of int32, shape (n,)
        Indices into `items`; which is which means nothing for a tie.
    ties : ndarray of bool, shape (n,)
    weights : ndarray of float64, shape (n,)
    judges : ndarray of int64, shape (n,), or None
        Number of the judge; None where the log does not name them.
    groups : ndarray of int32, shape (n,)
        Number of the (query, pair of items): votes on one thing have one number.
    times : ndarray of int64, shape (n,), or None
        Place in the order of time, not decreasing, equal times have one place; None where a vote
        has none.
    unsigned : int
        Votes without a judge, in a log that names judges of others.
    undated : int
        Votes without a time, in a log that has times of others.
    """

    items: list[str]
    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    ties: NDArray[np.bool_]
    weights: NDArray[np.float64]
    judges: NDArray[np.int64] | None
    groups: NDArray[np.int32]
    times: NDArray[np.int64] | None
    unsigned: int = 0
    undated: int = 0

    def __len__(self) -> int:
        return len(self.winners)

    def order_note(self) -> str:
        """Return what a reader of a sequential method must know of the order of the votes; empty: nothing."""
        if self.undated:
            return f"{self.undated:,} of {len(self):,} votes have no time: {_AS_READ} of all"
        if self.times is None:
            return NO_TIMES
        alike = len(self) - int((np.bincount(self.times) == 1).sum())
        return f"{alike:,} of {len(self):,} votes share their time with others: {_AS_READ} of these" if alike else ""

    def decisive(self) -> NDArray[np.bool_]:
        """Return which votes prefer one item, with some weight, shape (n,)."""
        return ~self.ties & (self.weights > 0)

    def comparisons(self, rows: NDArray[np.int64] | None = None) -> Comparisons:
        """Return all votes, or those at `rows`, as the comparisons of one query."""
        chosen = slice(None) if rows is None else rows
        winners = self.winners[chosen]
        return Comparisons(
            np.array([0, len(winners)], dtype=np.int64),
            winners,
            self.losers[chosen],
            self.weights[chosen],
            self.ties[chosen],
        )

    def counts(self, rows: NDArray[np.int64] | None = None) -> PairCounts:
        """Return the sums by pair of all votes, or of those at `rows`."""
        from rankbench.counts.count import count_pairs

        said = self.comparisons(rows)
        weights = None if (said.weights == 1).all() else said.weights
        return count_pairs(said.winners, said.losers, weights=weights, ties=said.ties, items=self.items)


def load_votes(comparisons: pl.LazyFrame) -> Votes:
    """Collect a table of comparisons.

    Parameters
    ----------
    comparisons : LazyFrame
        In the schema of `rankbench.data.tables`.

    Raises
    ------
    InputError
        There are no rows, or only one item; or weights are too large or different.
    """
    import polars as pl

    frame = comparisons.collect(engine="streaming")
    if not frame.height:
        raise InputError("the log has no votes")
    undated = frame["time"].null_count() if "time" in frame.columns else 0
    if "time" in frame.columns and not undated:
        frame = frame.sort("time", maintain_order=True)
    names = pl.concat([frame["winner"], frame["loser"]]).unique().sort()
    if len(names) < 2:
        raise InputError("the log names one item only: there is nothing to rank")
    kind = pl.Enum(names)
    winners, losers = (
        frame[column].cast(kind).to_physical().cast(pl.Int32).to_numpy() for column in ("winner", "loser")
    )
    pair = np.minimum(winners, losers).astype(np.int64) * len(names) + np.maximum(winners, losers)
    groups = frame.select("query_id", pair=pl.Series(pair)).select(
        pl.struct("query_id", "pair").rank("dense").cast(pl.Int32) - 1
    )
    ties = frame["tie"].fill_null(False).to_numpy() if "tie" in frame.columns else np.zeros(frame.height, np.bool_)
    weights = frame["weight"].fill_null(1.0).to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    check_weights(weights)
    unsigned = frame["judge"].null_count() if "judge" in frame.columns else 0
    return Votes(
        names.to_list(),
        winners,
        losers,
        ties.astype(np.bool_),
        weights.astype(np.float64),
        _ranked(frame, "judge"),
        groups.to_series().to_numpy(),
        _ranked(frame, "time"),
        0 if unsigned == frame.height else unsigned,
        0 if undated == frame.height else undated,
    )


def _ranked(frame: pl.DataFrame, column: str) -> NDArray[np.int64] | None:
    """Return dense ranks of a column that is there without gaps; None otherwise."""
    if column not in frame.columns or frame[column].null_count():
        return None
    return (frame[column].rank("dense") - 1).to_numpy().astype(np.int64)


def votes_of_ballots(orders: pl.LazyFrame) -> Votes:
    """Return the comparisons that the ballots of a log imply; a ballot is a judge.

    Parameters
    ----------
    orders : LazyFrame
        In the schema of `rankbench.data.tables`. An item that a ballot leaves out is not
        compared by it.

    Raises
    ------
    InputError
        The ballots imply no comparison, or too many.
    """
    from rankbench.data.tables.orders.load import load_orders, take_orders
    from rankbench.kinds.ballots import check_implied, implied_comparisons

    log = load_orders(orders)
    check_implied(log.orders, len(log.items))
    names = sorted(set(log.items))
    number = {name: i for i, name in enumerate(names)}
    of_log = np.array([number[name] for name in log.items], dtype=np.int32)
    lengths = np.diff(log.orders.starts)
    # A ballot that leaves items out says nothing about them: l items are l (l - 1) / 2 comparisons.
    pairs = lengths * (lengths - 1) // 2
    winners, losers, ties, weights = [], [], [], []
    for q in range(len(log)):
        if not pairs[log.orders.offsets[q] : log.orders.offsets[q + 1]].any():
            continue  # ballots of one item
        begin, end = log.item_offsets[q], log.item_offsets[q + 1]
        said = implied_comparisons(take_orders(log.orders, q), int(end - begin))
        winners.append(of_log[begin:end][said.winners])
        losers.append(of_log[begin:end][said.losers])
        ties.append(np.zeros(len(said), np.bool_) if said.ties is None else said.ties)
        weights.append(said.weights)
    if not winners:
        raise InputError("the ballots say nothing: none of them ranks two items")
    judges = np.repeat(np.arange(len(log.orders)), pairs)
    queries = np.repeat(np.repeat(np.arange(len(log)), log.orders.counts), pairs)
    won, lost = np.concatenate(winners), np.concatenate(losers)
    pair = np.minimum(won, lost).astype(np.int64) * len(names) + np.maximum(won, lost)
    keys = np.stack([queries, pair], axis=1)
    groups = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
    return Votes(names, won, lost, np.concatenate(ties), np.concatenate(weights), judges, groups, None)
