"""Votes are held as columns, with covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError
from rankbench.interfaces.covariate_aggregator import Covariates
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, numbered_pairs
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.row_weights import MOST_VOTES, check_weights
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.logs.covariates import loaded_covariates

_TABLE = 1 << 22
"""Numbers that are looked up in a table, however few votes there are."""

_AS_READ = "methods that go by the order of votes take the file's order"

NO_TIMES = f"the log does not say when votes were cast: {_AS_READ}"
"""Remark on a log without times, for readers of a sequential method."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes on the items of one name space, of all queries together.

    Only they hold the judge, the query and the time of each vote.

    They stand in the order in which they were cast, as far as it is known, so that rows in rising
    order are the order for a sequential aggregator: by time, votes of one time in the
    order of the log; in the order of the log alone where times are not known.

    Attributes
    ----------
    items : list of str, length m
        Sorted.
    winners, losers : ndarray of int32, shape (n,)
        Indices into `items`; which is which means nothing for a tie.
    ties : ndarray of bool, shape (n,)
    weights : ndarray of float64, shape (n,)
        Where all are 1, `all_ones`, which takes no memory.
    judges : ndarray of int32, shape (n,), or None
        Number of the judge; None where the log does not name them.
    groups : ndarray of int32, shape (n,)
        Number of the (query, pair of items): votes on one thing have one number.
    times : ndarray of int32, shape (n,), or None
        Place in the order of time, not decreasing, equal times have one place; None where a vote
        has none.
    unsigned : int
        Votes without a judge, in a log that names judges of others.
    undated : int
        Votes without a time, in a log that has times of others.
    covariates : Covariates, optional
        Of the winner less the loser, where the log was asked for some.
    rest : ndarray of bool, shape (n,), or None
        Rows that are the rest of the vote of the row before: a vote whose points are split has two rows, one for
        each item, whose weights are its points. None: every row is a vote.
    queries : ndarray of int32, shape (n,) or (0,)
        Number of the query, in the order of `query_names`; empty where it is not kept.
    query_names, judge_names : sequence of str
        Sorted; names of judges are empty where `judges` are not known.
    places : ndarray of int64, shape (n,), or None
        Number of each vote in the order of the log, from 1; None where all votes have one weight.
    """

    items: list[str]
    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    ties: NDArray[np.bool_]
    weights: NDArray[np.float64]
    judges: NDArray[np.int32] | None
    groups: NDArray[np.int32]
    times: NDArray[np.int32] | None
    unsigned: int = 0
    undated: int = 0
    covariates: Covariates | None = None
    rest: NDArray[np.bool_] | None = None
    queries: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    query_names: Sequence[str] = ()
    judge_names: Sequence[str] = ()
    places: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.winners)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the vote of each row, from 0, shape (n,)."""
        return np.arange(len(self)) if self.rest is None else np.cumsum(~self.rest) - 1

    @property
    def count(self) -> int:
        """Number of votes."""
        return len(self) if self.rest is None else int(len(self) - self.rest.sum())

    @property
    def judge_count(self) -> int:
        """Number of judges; 0 where not all votes have one."""
        return 0 if self.judges is None else int(self.judges.max()) + 1

    @property
    def alike(self) -> bool:
        """True if all weights are 1."""
        return bool((self.weights == 1).all())

    def order_note(self) -> str:
        """Return a note on the order of the votes, for readers of a sequential method, or ``""``."""
        if self.undated:
            return f"{self.undated:,} of {self.count:,} votes have no time: {_AS_READ} of all"
        if self.times is None:
            return NO_TIMES
        times = self.times if self.rest is None else self.times[~self.rest]
        alike = self.count - int((np.bincount(times) == 1).sum())
        return f"{alike:,} of {self.count:,} votes share their time with others: {_AS_READ} of these" if alike else ""

    def share_won(self, side: NDArray[np.integer] | int) -> NDArray[np.float64]:
        """Return an item's share of each vote, shape (n,): 1 if it won, 1/2 of a tie, else 0.

        Parameters
        ----------
        side : ndarray of int, shape (n,), or int
            The item of each vote: one of its two.
        """
        return np.where(self.ties, 0.5, self.winners == side)

    def decisive(self) -> NDArray[np.bool_]:
        """Return which votes prefer one item, with some weight, shape (n,)."""
        return ~self.ties & (self.weights > 0)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the pairs of items that were compared, shape (P, 2), and the number of each row's pair, shape (n,)."""
        return numbered_pairs(self.winners, self.losers, len(self.items))

    def comparisons(self, rows: NDArray[np.int64] | None = None) -> Comparisons:
        """Return all votes, or the votes at `rows`, as the comparisons of one query."""
        chosen = slice(None) if rows is None else rows
        winners = self.winners[chosen]
        return Comparisons(
            np.array([0, len(winners)], dtype=np.int64),
            winners,
            self.losers[chosen],
            np.ascontiguousarray(self.weights[chosen]),
            self.ties[chosen],
        )

    def counts(self, rows: NDArray[np.int64] | None = None) -> PairCounts:
        """Return the sums by pair of all votes, or of the votes at `rows`; each row is a judgment."""
        said = self.comparisons(rows)
        weights = None if (said.weights == 1).all() else said.weights
        return count_pairs(said.winners, said.losers, weights=weights, ties=said.ties, items=self.items)

    def clusters(
        self,
        units: NDArray[np.integer],
        rows: NDArray[np.int64] | None = None,
        ends: tuple[NDArray[np.integer], NDArray[np.integer]] | None = None,
        m: int | None = None,
    ) -> ClusterCounts:
        """Return each cluster's sums by pair; each vote is a judgment.

        Parameters
        ----------
        units : ndarray of int
            Cluster of each vote, or of each at `rows`.
        rows : ndarray of int64, optional
        ends : (ndarray of int, ndarray of int), optional
            Winners and losers of these votes by other numbers, in ``[0, m)``.
        m : int, optional
        """
        chosen = slice(None) if rows is None else rows
        winners, losers = (self.winners[chosen], self.losers[chosen]) if ends is None else ends
        weights, size = None if self.alike else self.weights[chosen], len(self.items) if m is None else m
        found = count_clusters(winners, losers, units, ties=self.ties[chosen], weights=weights, m=size)
        if self.rest is None:
            return found
        return replace(found, counts=replace(found.counts, judgments=int((~self.rest[chosen]).sum())))

    def single(
        self,
        rows: NDArray[np.int64] | None = None,
        ends: tuple[NDArray[np.integer], NDArray[np.integer]] | None = None,
        m: int | None = None,
    ) -> ClusterCounts | None:
        """Return each vote as a cluster; None if sums by pair are enough, as each row has weight 1."""
        return None if self.alike else self.clusters(self.numbers[slice(None) if rows is None else rows], rows, ends, m)


def all_ones(n: int) -> NDArray[np.float64]:
    """Return n weights of 1 that take the memory of one, read-only."""
    return np.broadcast_to(np.ones(1), n)


def refuse_counts(comparisons: pl.LazyFrame) -> None:
    """Raise for a table with counts, which are too many votes for a row each.

    Raises
    ------
    InputError
        It has a column ``count``.
    """
    if "count" in comparisons.collect_schema():
        raise InputError(
            f"counts add up to more than {MOST_VOTES:,} votes, too many to be looked at one by one. A method of counts "
            "ranks them",
            column="count",
        )


def coded_votes(comparisons: pl.LazyFrame) -> pl.LazyFrame:
    """Collect a table of comparisons, its texts as numbers: 4 bytes a name, however long that is.

    Parameters
    ----------
    comparisons : LazyFrame
        In the schema of `rankbench.data.tables`, or what this function returned.

    Returns
    -------
    LazyFrame
        Of the columns in memory; texts are categories, the same of winners and losers.
    """
    refuse_counts(comparisons)
    schema = comparisons.collect_schema()
    texts = [name for name, dtype in schema.items() if dtype == pl.String]
    kinds = {name: pl.Categorical(pl.Categories.random(namespace=name)) for name in texts}
    if "winner" in kinds and "loser" in kinds:
        kinds["loser"] = kinds["winner"]
    coded = comparisons.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    return coded.collect(engine="streaming").lazy()


def in_log_order(comparisons: pl.LazyFrame) -> pl.LazyFrame:
    """Return a table of comparisons without times, so that they load in the order of the log."""
    kept = ("query_id", "winner", "loser", "judge", "weight", "count", "tie", REST)
    names = comparisons.collect_schema().names()
    return comparisons.select(name for name in kept if name in names)


def load_votes(comparisons: pl.LazyFrame) -> Votes:
    """Load a table of comparisons; memory does not depend on the length of names.

    Parameters
    ----------
    comparisons : LazyFrame
        In the schema of `rankbench.data.tables`, or what `coded_votes` makes of such a table.

    Raises
    ------
    InputError
        There are no rows, or only one item; or weights are too large or different.
    """
    frame = coded_votes(comparisons).collect()
    if not frame.height:
        raise InputError("the log has no votes")
    whole = frame.filter(~pl.col(REST)) if REST in frame.columns else frame
    undated = whole["time"].null_count() if "time" in frame.columns else 0
    order, times = (None, None) if undated or "time" not in frame.columns else _in_time(frame["time"])

    def column(name: str) -> pl.Series:
        return frame[name] if order is None else frame[name].gather(order)

    items, place = _alphabetical(frame["winner"], frame["loser"])
    if len(items) < 2:
        raise InputError("the log names one item only: there is nothing to rank")
    winners, losers = (place[column(name).to_physical().to_numpy()] for name in ("winner", "loser"))
    ties = column("tie").fill_null(False).to_numpy() if "tie" in frame.columns else np.zeros(frame.height, np.bool_)
    weights = all_ones(frame.height)
    if "weight" in frame.columns:
        given = column("weight").fill_null(1.0).cast(pl.Float64).to_numpy()
        check_weights(given)
        weights = weights if (given == 1).all() else given
    unsigned = whole["judge"].null_count() if "judge" in frame.columns else 0
    judges, judge_names = None, list[str]()
    if "judge" in frame.columns and not unsigned:
        judge_names, judge_place = _alphabetical(frame["judge"])
        judges = judge_place[column("judge").to_physical().to_numpy()]
    query_names, query_place = _alphabetical(frame["query_id"])
    queries = query_place[column("query_id").to_physical().to_numpy()]
    return Votes(
        items,
        winners,
        losers,
        ties.astype(np.bool_, copy=False),
        weights,
        judges,
        numbered_groups(queries, winners, losers, len(items)),
        times,
        0 if unsigned == whole.height else unsigned,
        0 if undated == whole.height else undated,
        loaded_covariates(frame, order, weights),
        column(REST).to_numpy() if whole.height < frame.height else None,
        queries,
        query_names,
        judge_names,
        None if np.ptp(weights) == 0 else _places(frame, order),
    )


def _places(frame: pl.DataFrame, order: pl.Series | None) -> NDArray[np.int64]:
    """Return the number of the vote of each row, from 1, in the order of the log."""
    whole = ~frame[REST] if REST in frame.columns else pl.Series([True]).new_from_index(0, frame.height)
    places = whole.cast(pl.Int64).cum_sum()
    return (places if order is None else places.gather(order)).to_numpy()


def _alphabetical(*columns: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names in columns of the same categories, sorted, and the place of each category's number."""
    known = columns[0].dtype.categories.to_series()  # type: ignore[attr-defined]
    used = np.zeros(len(known), np.bool_)
    for column in columns:
        used[column.drop_nulls().to_physical().to_numpy()] = True
    numbers = np.flatnonzero(used)
    names = known.gather(numbers)
    order = names.arg_sort().to_numpy()
    place = np.full(len(known), -1, np.int32)
    place[numbers[order]] = np.arange(len(order), dtype=np.int32)
    return names.gather(order).to_list(), place


def _in_time(times: pl.Series) -> tuple[pl.Series | None, NDArray[np.int32]]:
    """Return the rows' stable order by time (None: they are sorted), and their places in time."""
    order = None
    if not times.is_sorted():
        by_time = times.to_frame("time").with_row_index("row").sort("time", maintain_order=True)
        order, times = by_time["row"], by_time["time"]
    return order, (times != times.shift(1)).fill_null(False).cum_sum().cast(pl.Int32).to_numpy()


def _dense_ranks(keys: NDArray[np.int64], bound: int) -> NDArray[np.int32]:
    """Return the place of each key, in ``[0, bound)``, among the different ones, shape (n,)."""
    if bound > max(_TABLE, len(keys)):
        return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int32)
    seen = np.zeros(bound, np.bool_)
    seen[keys] = True
    known = np.flatnonzero(seen)
    place = np.zeros(bound, np.int32)
    place[known] = np.arange(len(known), dtype=np.int32)
    return place[keys]


def numbered_groups(
    queries: NDArray[np.integer], winners: NDArray[np.int32], losers: NDArray[np.int32], m: int
) -> NDArray[np.int32]:
    """Return the number of each vote's (query, pair), by query and then by pair, shape (n,)."""
    pairs, pair = numbered_pairs(winners, losers, m)
    if queries.max() == 0:
        return pair
    key = queries.astype(np.int64)
    key *= len(pairs)
    key += pair
    return _dense_ranks(key, (int(queries.max()) + 1) * len(pairs))
