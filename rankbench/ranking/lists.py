"""Ballots and clicks are opened as logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.aggregators.ballot_rules import BallotRule
from rankbench.aggregators.social_choice import MajorityRule
from rankbench.core.runtime import resample_entropy
from rankbench.core.text import first_of, short_reprs
from rankbench.data.tables.impressions import count_clicks
from rankbench.data.tables.order_log import load_orders
from rankbench.data.tables.selections import load_selections, take_selections
from rankbench.errors import InputError, option
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Orders, Selections, implied_comparisons
from rankbench.interfaces.row_weights import MOST_VOTES
from rankbench.logs.votes import NO_TIMES
from rankbench.ranking.ranked_log import ItemTallies, RefittedLog
from rankbench.ranking.sampling_units import JUDGES, Units, units_of_lists


@dataclass(frozen=True, eq=False)
class Ballots(RefittedLog):
    """Ballots of one query.

    Only they rank by what whole ballots say, each of one voter or of many.

    Attributes
    ----------
    items : list of str, length m
    orders : Orders
    judges : ndarray of int64, shape (ballots,), or None
        Each ballot's judge, if judges are the units. Else voters are, or ballots without counts of voters.
    counts : ndarray of int64, shape (ballots,), or None
        Number of voters who cast each ballot; None: one each.
    """

    items: list[str]
    orders: Orders
    judges: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None

    @property
    def by_judge(self) -> bool:  # type: ignore[override]
        """True if judges are the units."""
        return self.judges is not None

    @cached_property
    def _times(self) -> NDArray[np.int64]:
        """Number of voters who cast each ballot, (ballots,)."""
        return np.ones(len(self.orders), np.int64) if self.counts is None else self.counts

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        orders = self.orders
        found = units_of_lists(orders.items, orders.starts, self.judges, orders.weights, len(self.items), self._times)
        return replace(found, noun=JUDGES if self.by_judge else "ballots")

    @cached_property
    def tallies(self) -> ItemTallies:
        """The number of ballots that name each item, and of ballots that rank nothing before it."""
        orders, m = self.orders, len(self.items)
        lengths = np.diff(orders.starts)
        weights = np.repeat(orders.weights, lengths)
        best = np.repeat(np.minimum.reduceat(orders.places, orders.starts[:-1]), lengths)
        first = np.where(orders.places == best, weights, 0.0)
        named, won = (np.bincount(orders.items, each, m).astype(np.float64) for each in (weights, first))
        return ItemTallies(named, won, "ballots", "firsts", int(self._times.sum()), float(orders.weights.sum()))

    def _refitted(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.orders
        if times is not None:
            one = said.weights / self._times if self.judges is None else said.weights
            said = replace(said, weights=one * (times if self.judges is None else times[self.judges]))
        return call_aggregator(aggregator, said, len(self.items))

    def _drawn(self, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """Yield the number of draws of each judge, or of each ballot's voters, in each resample."""
        if self.judges is not None or self.counts is None:
            yield from super()._drawn(resamples, seed)
        elif (voters := int(self.counts.sum())) <= MOST_VOTES:
            ballot = np.repeat(np.arange(len(self.counts)), self.counts)
            for times in super()._drawn(resamples, seed):
                yield np.bincount(ballot, times, len(self.counts)).astype(np.int64)
        else:
            rng = np.random.default_rng(np.random.SeedSequence(resample_entropy(seed, voters)))
            for _ in range(resamples):
                yield rng.multinomial(voters, self.counts / voters)

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,), equal for items connected by a chain of ballots."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if isinstance(aggregator, BallotRule):
            return np.zeros(len(self.items), np.int64)
        orders, m = self.orders, len(self.items)
        first = np.repeat(orders.items[orders.starts[:-1]], np.diff(orders.starts))
        graph = coo_array((np.ones(len(first)), (first, orders.items)), shape=(m, m))
        return np.asarray(connected_components(graph, directed=False)[1].astype(np.int64))

    def winners(self, aggregator: Aggregator) -> NDArray[np.bool_] | None:
        """Return whether a rule of social choice elects each item, (m,); None of other aggregators."""
        orders, m = self.orders.weighed(), len(self.items)
        if isinstance(aggregator, BallotRule):
            return aggregator.winners(orders, m)
        if isinstance(aggregator, MajorityRule):
            return aggregator.winners(PairCounts.from_comparisons(implied_comparisons(orders), m))
        return None

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores."""
        return [NO_TIMES] if "sequential" in aggregator.properties else []


@dataclass(frozen=True, eq=False)
class Sessions(RefittedLog):
    """Sessions of one query; they are the sampling units.

    Only they rank by clicks.

    Scores from clicks are rates, and every item has its own: all stand on one scale.

    Attributes
    ----------
    items : list of str, length m
    selections : Selections
        All clicks on shown items.
    off_list, repeated : int
        Clicks outside of the shown lists, and on items that the session had clicked before.
    """

    items: list[str]
    selections: Selections
    by_judge: bool = False
    off_list: int = 0
    repeated: int = 0

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        shown = self.selections
        found = units_of_lists(shown.items, shown.starts, None, np.ones(len(shown)), len(self.items))
        return replace(found, noun="sessions")

    @cached_property
    def tallies(self) -> ItemTallies:
        """The number of times that each item was shown, and clicked."""
        items, clicks, m = self.selections.items, self.selections.clicked, len(self.items)
        shown, clicked = (np.bincount(some, minlength=m).astype(np.float64) for some in (items, items[clicks]))
        return ItemTallies(shown, clicked, "shown", "clicks", len(self.selections))

    def _refitted(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.selections
        if times is not None:
            said = take_selections(said, np.repeat(np.arange(len(times)), times))
        return call_aggregator(aggregator, said, len(self.items))

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return np.zeros(len(self.items), np.int64)

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores: unused clicks, items without an observation."""
        shown, unseen = self.selections, list[str]()
        unused = {"outside of the shown list": self.off_list, "on what a session had clicked before": self.repeated}
        if isinstance(aggregator, SelectionAggregator):
            seen = np.bincount(shown.items[aggregator.observed(shown)], minlength=len(self.items))
            unseen = short_reprs([item for item, times in zip(self.items, seen, strict=True) if not times])
            if aggregator.stops:
                busy = np.maximum.reduceat(shown.clicked, shown.starts[:-1])
                below = f"below the topmost of a list ({aggregator.name} takes one click a list)"
                unused[below] = int(shown.clicked.sum() - busy.sum())
        said = ", ".join(f"{count:,} {where}" for where, count in unused.items() if count)
        notes = [f"{aggregator.name} does not use all clicks; it leaves out {said}"] if said else []
        if unseen:
            notes.append(f"{aggregator.name} has no observation of {first_of(unseen, 4)}: such scores are no estimates")
        return notes


def load_ballots(frame: pl.LazyFrame, *, judges: bool = False) -> Ballots:
    """Return the ballots of one query.

    Parameters
    ----------
    frame : LazyFrame
        Orders in the schema, of one query.
    judges : bool
        Resample judges with all their ballots.

    Raises
    ------
    InputError
        No rows; `judges`, and the log does not name two of them, or not all.
    """
    log = load_orders(frame)
    return Ballots(log.items, log.orders, _judges(frame) if judges else None, log.counts)


def load_sessions(frame: pl.LazyFrame) -> Sessions:
    """Return the sessions of one query, with all their clicks.

    Parameters
    ----------
    frame : LazyFrame
        Selections in the schema, of one query.

    Raises
    ------
    InputError
        No rows.
    """
    table = frame.collect(engine="streaming")
    log = load_selections(table.lazy())
    _, off_list, repeated = count_clicks(table)
    return Sessions(log.items, log.selections, off_list=off_list, repeated=repeated)


def _judges(frame: pl.LazyFrame) -> NDArray[np.int64]:
    column = frame.select("judge").collect(engine="streaming")["judge"]
    if column.null_count():
        raise InputError("the judge is missing", row=int(column.is_null().arg_max() or 0) + 1, column="judge")
    if column.n_unique() < 2:
        raise InputError(f"all ballots are of one judge: resample ballots instead ({option('intervals', 'bootstrap')})")
    return (column.rank("dense") - 1).to_numpy().astype(np.int64)
