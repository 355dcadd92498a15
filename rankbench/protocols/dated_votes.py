"""Dated votes are cut by calendar years into periods, and the votes of a period are counted by pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_pairs
from rankbench.logs.votes import Votes, coded_votes, load_votes

_FLAGS = {"true": True, "false": False}


DatedVotes: TypeAlias = tuple[Votes, dict[str, NDArray[Any]], NDArray[np.int64]]
"""Votes in the log's order; columns of them, shape (n,); the first and the last year of each period, shape (P, 2).

Columns are ``winners``, ``losers``, ``ties``, ``weights`` and ``period``, the number of a vote's period. With sides
there are ``lefts``, whether the winner is the left item, ``sided``, whether sides mean something, and ``won``, the left
item's share. The last period ends with the votes.
"""


def dated_votes(dataset: Dataset, years: int, *, sides: bool = False, unless: str = "") -> DatedVotes:
    """Load votes with their periods.

    Parameters
    ----------
    dataset : Dataset
        Of comparisons with dates.
    years : int
        That a period has; periods begin where the year is a multiple of it.
    sides : bool
        The log must name the item on the left.
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
    kept = ["query_id", "winner", "loser", *(name for name in ("weight", "tie", REST) if name in names)]
    whole = frame.select(*kept, *(["first"] if sides else []), year=pl.col("time").dt.year()).collect().lazy()
    beside = whole.select("year", *(["first"] if sides else []), "query_id").collect()
    if beside.null_count().sum_horizontal().item():
        raise InputError(f"{dataset!s} has votes without a time or a side")
    votes = load_votes(coded_votes(whole.select(kept)))
    begin = beside["year"].to_numpy().astype(np.int64) // years * years
    last = int(beside["year"].max())  # type: ignore[arg-type]  # of a column of years
    first, period = np.unique(begin, return_inverse=True)
    ends = np.column_stack([first, np.minimum(first + years - 1, last)])
    columns = {
        "winners": votes.winners,
        "losers": votes.losers,
        "ties": votes.ties,
        "weights": np.array(votes.weights),
        "period": period.reshape(-1).astype(np.int64),
    }
    if not sides:
        return votes, columns, ends
    sided = np.ones(len(votes), np.bool_)
    if unless:
        said = beside["query_id"].cast(pl.String).str.to_lowercase()
        if not said.is_in(list(_FLAGS)).all():
            raise SpecError(f"column {unless!r} says more than true and false")
        sided = (said == "false").to_numpy()
    lefts = beside["first"].to_numpy().astype(np.bool_)
    won = votes.share_won(np.where(lefts, votes.winners, votes.losers))
    return votes, columns | {"lefts": lefts, "sided": sided, "won": won}, ends


def counts_of_votes(
    stored: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> tuple[PairCounts, NDArray[np.int32]]:
    """Return the sums by pair of some rows of packed votes, and the items that these are about, called by numbers."""
    winners, losers, ties, weights = (stored[name][rows] for name in ("winners", "losers", "ties", "weights"))
    there = np.unique(np.concatenate([winners, losers]))
    won, lost = np.searchsorted(there, winners), np.searchsorted(there, losers)
    given = None if (weights == 1).all() else weights
    counts = count_pairs(won, lost, ties=ties, weights=given, items=[str(item) for item in there])
    return counts, there


def years_text(first: int, last: int) -> str:
    """Return the name of a period: ``1990 to 1999``, ``1990``."""
    return str(first) if first == last else f"{first} to {last}"
