"""Votes by stretches of calendar years."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.count import count_pairs
from rankbench.counts.votes import Votes, coded_votes, load_votes
from rankbench.errors import InputError, SpecError
from rankbench.kinds.counts import PairCounts
from rankbench.kinds.dataset import Dataset

__all__ = ["DatedVotes", "counts_of_period", "dated_votes"]

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class DatedVotes:
    """Votes with the stretch of years that they are from.

    Attributes
    ----------
    votes : Votes
        In the log's order.
    lefts : ndarray of bool, shape (n,)
        Whether `winners` of a vote is its left.
    sided : ndarray of bool, shape (n,)
        Whether sides mean anything in a vote.
    period : ndarray of int64, shape (n,)
    names : tuple of str
        Of the periods that have votes, in their order: ``1990 to 1999``.
    """

    votes: Votes
    lefts: NDArray[np.bool_]
    sided: NDArray[np.bool_]
    period: NDArray[np.int64]
    names: tuple[str, ...]


def dated_votes(dataset: Dataset, years: int, *, sides: bool = False, unless: str = "") -> DatedVotes:
    """Load votes with their periods.

    Parameters
    ----------
    dataset : Dataset
        Of comparisons with dates.
    years : int
        That a period has; periods begin where the year is a multiple of it.
    sides : bool
        Whether the log must say which item was the left.
    unless : str
        A column of true and false: where it is true, sides mean nothing.

    Raises
    ------
    InputError
        There are no dates, no sides, or votes without them; or the column holds something else.
    SpecError
        The data set has no such column.
    """
    import polars as pl

    frame = dataset.scan_as(f"query={unless}") if unless else dataset.scan()
    names = frame.collect_schema()
    if "time" not in names or not names["time"].is_temporal():
        raise InputError(f"{dataset!s} does not say on which day votes were cast", column="time")
    if sides and "first" not in names:
        raise InputError(f"{dataset!s} does not say which item was on the left", column="first")
    kept = ["query_id", "winner", "loser", *(name for name in ("weight", "tie") if name in names)]
    whole = frame.select(*kept, *(["first"] if sides else []), year=pl.col("time").dt.year()).collect().lazy()
    beside = whole.select("year", *(["first"] if sides else []), "query_id").collect()
    if beside.null_count().sum_horizontal().item():
        raise InputError(f"{dataset!s} has votes without a time or a side")
    votes = load_votes(coded_votes(whole.select(kept)))
    begin = beside["year"].to_numpy().astype(np.int64) // years * years
    last = int(beside["year"].max())  # type: ignore[arg-type]  # of a column of years
    first, period = np.unique(begin, return_inverse=True)
    sided = np.ones(len(votes), np.bool_)
    if unless:
        said = beside["query_id"].cast(pl.String).str.to_lowercase()
        if not said.is_in(list(_FLAGS)).all():
            raise SpecError(f"column {unless!r} says more than true and false")
        sided = (said == "false").to_numpy()
    lefts = beside["first"].to_numpy().astype(np.bool_) if sides else np.ones(len(votes), np.bool_)
    return DatedVotes(votes, lefts, sided, period.reshape(-1).astype(np.int64), _named(first.tolist(), years, last))


def counts_of_period(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    ties: NDArray[np.bool_],
    weights: NDArray[np.float64],
    items: Sequence[str],
) -> tuple[PairCounts, NDArray[np.int32]]:
    """Return the sums by pair of some votes, of the items that they are about, and which items these are."""
    there = np.unique(np.concatenate([winners, losers]))
    won, lost = np.searchsorted(there, winners), np.searchsorted(there, losers)
    given = None if (weights == 1).all() else weights
    counts = count_pairs(won, lost, ties=ties, weights=given, items=[items[i] for i in there])
    return counts, there.astype(np.int32)


def _named(first: Sequence[int], years: int, last: int) -> tuple[str, ...]:
    ends = [min(year + years - 1, last) for year in first]
    return tuple(str(year) if year == end else f"{year} to {end}" for year, end in zip(first, ends, strict=True))
