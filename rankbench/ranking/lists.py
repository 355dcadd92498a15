"""Ballots, and clicks on shown lists, as logs that can be ranked."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import Units, units_of_lists, units_of_voters
from rankbench.counts.votes import NO_TIMES
from rankbench.data.tables.orders.load import load_orders
from rankbench.data.tables.selections.load import load_selections, take_selections
from rankbench.data.tables.selections.several_clicks import count_clicks
from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.queries import Orders, Selections, Unranked
from rankbench.kinds.resamples import draws_of
from rankbench.kinds.scores import finite_scores
from rankbench.kinds.selection_aggregator import SelectionAggregator
from rankbench.ranking.logs import RankedLog
from rankbench.ranking.tallies import ItemTallies, tallies_of_orders, tallies_of_selections

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ballots", "Sessions", "load_ballots", "load_sessions"]


class _Lists(RankedLog):
    """Judgments of one query that are more than pairs."""

    @abstractmethod
    def _again(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Return scores, (m,), of the log with each unit so many times, (G,); None: as it is."""

    def scores(self, aggregator: Aggregator) -> NDArray[np.float64]:
        """Return the scores of the items, shape (m,)."""
        aggregator.check_size(len(self.items))
        return self._again(aggregator, None)

    def replicates(
        self, aggregator: Aggregator, scores: NDArray[np.float64], resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the scores of resamples of the units, (B, m)."""
        draws = draws_of(self.units.count, resamples, seed)
        drawn = np.full((resamples, len(self.items)), np.nan)
        for r, row in enumerate(drawn):
            try:
                row[:] = self._again(aggregator, draws.times(r))
            except (ContenderDiverged, InputError):
                continue
        return drawn

    def notes(self, aggregator: Aggregator) -> list[str]:
        """Return what a reader of these scores must know."""
        return [NO_TIMES] if "sequential" in aggregator.properties else []


@dataclass(frozen=True, eq=False)
class Ballots(_Lists):
    """Ballots of one query.

    Attributes
    ----------
    items : list of str, length m
    orders : Orders
    judges : ndarray of int64, shape (ballots,), or None
        Whose ballot it is, where judges are the units. Else voters are, where weights are whole numbers
        (a ballot of weight w was cast by w voters); else ballots.
    """

    items: list[str]
    orders: Orders
    judges: NDArray[np.int64] | None = None

    @property
    def by_judge(self) -> bool:  # type: ignore[override]
        """Whether judges are the units."""
        return self.judges is not None

    @property
    def _voters(self) -> bool:
        weights = self.orders.weights
        whole = bool((weights == np.rint(weights)).all()) and weights.sum() < 2**24
        return self.judges is None and whole

    @cached_property
    def _unit(self) -> NDArray[np.int64]:
        """The judge or the ballot of each ballot, (ballots,); the ballot of each voter."""
        if self.judges is not None:
            return self.judges
        each = np.arange(len(self.orders))
        return np.repeat(each, self.orders.weights.astype(np.int64)) if self._voters else each

    @cached_property
    def units(self) -> Units:
        """What is independent, and how much of it there is."""
        orders, m, unit = self.orders, len(self.items), self._unit
        if orders.unranked == "last":
            return Units.alike(len(unit) if self._voters else int(unit.max()) + 1, m)
        if self._voters:
            return units_of_voters(orders.items, orders.starts, orders.weights, m)
        return units_of_lists(orders.items, orders.starts, unit, orders.weights, m)

    def tallies(self) -> ItemTallies:
        """Return the ballots that name each item, and those that put it first."""
        return tallies_of_orders(self.orders, len(self.items))

    def _again(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.orders
        if times is not None and self._voters:
            said = _weighed(said, np.bincount(self._unit, times, len(said)).astype(np.float64))
        elif times is not None:
            said = _weighed(said, said.weights * times[self._unit])
        return finite_scores(aggregator.from_orders(said, len(self.items)), len(self.items))

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return _scales(self.orders, len(self.items))


@dataclass(frozen=True, eq=False)
class Sessions(_Lists):
    """Sessions of one query; they are the units.

    Scores from clicks are rates, of which every item has its own: all stand on one scale.

    Attributes
    ----------
    items : list of str, length m
    selections : Selections
        All clicks on what was shown.
    off_list, repeated : int
        Clicks outside of the shown lists, and on what the session had clicked before.
    """

    items: list[str]
    selections: Selections
    by_judge: bool = False
    off_list: int = 0
    repeated: int = 0

    @cached_property
    def units(self) -> Units:
        """What is independent, and how much of it there is."""
        shown, each = self.selections, np.arange(len(self.selections))
        return units_of_lists(shown.items, shown.starts, each, np.ones(len(shown)), len(self.items))

    def tallies(self) -> ItemTallies:
        """Return how often each item was shown, and clicked."""
        return tallies_of_selections(self.selections, len(self.items))

    def _again(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.selections
        if times is not None:
            said = take_selections(said, np.repeat(np.arange(len(times)), times))
        return finite_scores(aggregator.from_selections(said, len(self.items)), len(self.items))

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return np.zeros(len(self.items), np.int64)

    def notes(self, aggregator: Aggregator) -> list[str]:
        """Return what a reader of these scores must know: which clicks they do not use."""
        clicked = self.selections.clicked
        unused = {"outside of the shown list": self.off_list, "on what a session had clicked before": self.repeated}
        if isinstance(aggregator, SelectionAggregator) and aggregator.stops:
            busy = np.maximum.reduceat(clicked, self.selections.starts[:-1])
            unused[f"below the topmost of a list ({aggregator.name} takes one click a list)"] = int(
                clicked.sum() - busy.sum()
            )
        said = ", ".join(f"{count:,} {where}" for where, count in unused.items() if count)
        return [f"{aggregator.name} does not use all clicks; it leaves out {said}"] if said else []


def load_ballots(frame: pl.LazyFrame, *, judges: bool = False, unranked: Unranked = "absent") -> Ballots:
    """Return the ballots of one query.

    Parameters
    ----------
    frame : LazyFrame
        Orders in the schema, of one query.
    judges : bool
        Resample judges with all their ballots.
    unranked : {"absent", "last"}
        See `rankbench.kinds.queries.Orders`.

    Raises
    ------
    InputError
        No rows; `judges`, and the log does not name two of them, or not all.
    """
    log = load_orders(frame, unranked=unranked)
    return Ballots(log.items, log.orders, _judges(frame) if judges else None)


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
        raise InputError("all ballots are of one judge: resample ballots instead (--intervals bootstrap)")
    return (column.rank("dense") - 1).to_numpy().astype(np.int64)


def _weighed(orders: Orders, weights: NDArray[np.float64]) -> Orders:
    """Return the ballots that have any weight left, with these weights."""
    kept = weights > 0
    lengths = np.diff(orders.starts)
    rows = np.repeat(kept, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[kept])])
    offsets = np.array([0, int(kept.sum())], dtype=np.int64)
    return replace(
        orders,
        offsets=offsets,
        starts=starts,
        items=orders.items[rows],
        places=orders.places[rows],
        weights=weights[kept],
    )


def _scales(orders: Orders, m: int) -> NDArray[np.int64]:
    """Return a number for each item, the same where a chain of ballots connects them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if orders.unranked == "last":
        return np.zeros(m, np.int64)
    lengths = np.diff(orders.starts)
    first = np.repeat(orders.items[orders.starts[:-1]], lengths)
    graph = coo_array((np.ones(len(first)), (first, orders.items)), shape=(m, m))
    labels: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels
