"""Votes by stretches of calendar years, and what protocols on them share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.count import count_pairs
from rankbench.counts.votes import Votes, coded_votes, load_votes
from rankbench.data.tables.comparisons.schema import REST
from rankbench.errors import InputError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import CellResult, Layout, Split
from rankbench.kinds.counts import PairCounts
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Fact
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.protocols.log_votes import unchanged
from rankbench.protocols.own_log import OwnLog

__all__ = ["DatedVotes", "PeriodProtocol", "PeriodRows", "counts_of_period", "dated_votes", "years_text"]

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
    years : ndarray of int64, shape (P, 2)
        The first and the last year of each period that has votes, in their order; the last one ends with the votes.
    names : tuple of str
        Of the periods: ``1990 to 1999``.
    """

    votes: Votes
    lefts: NDArray[np.bool_]
    sided: NDArray[np.bool_]
    period: NDArray[np.int64]
    years: NDArray[np.int64]
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
    kept = ["query_id", "winner", "loser", *(name for name in ("weight", "tie", REST) if name in names)]
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
    ends = np.column_stack([first, np.minimum(first + years - 1, last)])
    called = tuple(years_text(*pair) for pair in ends.tolist())
    return DatedVotes(votes, lefts, sided, period.reshape(-1).astype(np.int64), ends, called)


class PeriodRows(NamedTuple):
    """What a protocol says of stretches.

    Attributes
    ----------
    names : sequence of str
        A name for each row.
    arrays : mapping of str to ndarray
        What it keeps beside the votes and their stretches.
    notes : tuple of str
        What a reader must know.
    """

    names: Sequence[str]
    arrays: Mapping[str, NDArray[Any]]
    notes: tuple[str, ...] = ()


class PeriodProtocol(Protocol):
    """A series over stretches of years: each contender says something of the votes of each."""

    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    facts: ClassVar[tuple[Fact, ...]] = ()
    counts: ClassVar[str] = "votes"
    layout: ClassVar[Layout] = "series"

    @abstractmethod
    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with their stretches."""

    @abstractmethod
    def rows(self, log: DatedVotes, votes: Mapping[str, NDArray[Any]]) -> PeriodRows:
        """Return the rows of the series; `votes` are the columns of the log as `stored` returns them.

        Raises
        ------
        SpecError
            There are none.
        """

    @abstractmethod
    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Return what a contender says, by metric, a number a row."""

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes with their stretches, and what is said of these."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a log")
        fingerprint = dataset.fingerprint()
        log = self.dated(dataset)
        unchanged(dataset, fingerprint)
        votes = {
            "winners": log.votes.winners,
            "losers": log.votes.losers,
            "ties": log.votes.ties,
            "weights": np.array(log.votes.weights),
            "period": log.period,
        }
        names, more, notes = self.rows(log, votes)
        arrays = pack("dated", **votes, **more)
        return Prepared(self, dataset, fingerprint, {"design": tuple(names)}, arrays, float(log.votes.count), notes)

    def stored(self, prepared: Prepared) -> dict[str, NDArray[Any]]:
        """Return winners, losers, ties, weights and period of each vote, and what the protocol keeps beside them."""
        return {name.removeprefix("dated."): array for name, array in prepared.arrays.items()}

    def refusal(self, dataset: Dataset) -> str:
        """Return why a data set is no log of votes; empty if it is one."""
        return OwnLog().refusal(dataset)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Return what every contender says."""
        from rankbench.kinds.guard import failed, guarded

        split: Split = "design"
        found = []
        for cell, contender in task.cells.items():
            said = guarded(partial(self.series, prepared, contender.component(Aggregator), task.key.seed))
            if isinstance(said, Exception):
                found.append(failed(cell, said))
            else:
                losses = {(name, split): values for name, values in said.items()}
                found.append(CellResult(cell, "done", "", math.nan, losses))
        return found


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


def years_text(first: int, last: int) -> str:
    """Return how a stretch of years is called: ``1990 to 1999``, ``1990``."""
    return str(first) if first == last else f"{first} to {last}"
