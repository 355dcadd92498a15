"""Rankings from ballots and from clicks on shown lists, with replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.counts.units import Units, units_of_lists, units_of_voters
from rankbench.data.tables.orders.load import load_orders
from rankbench.data.tables.selections.clicks import OffList, Several
from rankbench.data.tables.selections.load import load_selections, take_selections
from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.queries import Orders, Selections, Unranked
from rankbench.ranking.replicates import finite_scores

__all__ = ["ListLog", "load_ballots", "load_sessions"]


@dataclass(frozen=True, eq=False)
class ListLog:
    """Judgments of one query that are more than pairs.

    Attributes
    ----------
    items : list of str, length m
    units : Units
        What can be resampled: voters, ballots, judges or sessions.
    scales : ndarray of int64, shape (m,)
        The same number where a chain of ballots connects two items.
    scores : callable
        From a number of times that each unit is there, shape (units,), or None for the
        log as it is, to scores, shape (m,).
    """

    items: list[str]
    units: Units
    scales: NDArray[np.int64]
    scores: Callable[[NDArray[np.int64] | None], NDArray[np.float64]]

    def replicates(self, repetitions: int, seed: int) -> NDArray[np.float64]:
        """Return the scores of resampled logs, shape (repetitions, m); nan where there are none."""
        rng, count = np.random.default_rng([seed, 5]), self.units.count
        drawn = np.full((repetitions, len(self.items)), np.nan)
        for row in drawn:
            times = np.bincount(rng.integers(count, size=count), minlength=count)
            try:
                row[:] = self.scores(times)
            except (ContenderDiverged, InputError):
                continue
        return drawn


def load_ballots(
    frame: pl.LazyFrame, aggregator: Aggregator, *, judges: bool = False, unranked: Unranked = "absent"
) -> ListLog:
    """Return the ballots of one query.

    Parameters
    ----------
    frame : LazyFrame
        Orders in the schema, of one query.
    aggregator : Aggregator
    judges : bool
        Resample judges with all their ballots. Else voters, where weights are whole numbers
        (a ballot of weight w was cast by w voters); else ballots.
    unranked : {"absent", "last"}
        See `rankbench.kinds.queries.Orders`.

    Raises
    ------
    InputError
        No rows; `judges`, and the log does not name two of them, or not all.
    """
    log = load_orders(frame, unranked=unranked)
    m, orders = len(log.items), log.orders
    unit = np.arange(len(orders))
    whole = not judges and bool((orders.weights == np.rint(orders.weights)).all()) and orders.weights.sum() < 2**24
    if judges:
        unit = _judges(frame)
    elif whole:
        unit = np.repeat(unit, orders.weights.astype(np.int64))
    if orders.unranked == "last":
        units = Units.alike(len(unit) if whole else int(unit.max()) + 1, m)
    elif whole:
        units = units_of_voters(orders.items, orders.starts, orders.weights, m)
    else:
        units = units_of_lists(orders.items, orders.starts, unit, orders.weights, m)

    def scores(times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        if times is None:
            said = orders
        elif whole:
            said = _weighed(orders, np.bincount(unit, times, len(orders)).astype(np.float64))
        else:
            said = _weighed(orders, orders.weights * times[unit])
        return finite_scores(aggregator.from_orders(said, m), m)

    return ListLog(log.items, units, _scales(orders, m), scores)


def load_sessions(
    frame: pl.LazyFrame, aggregator: Aggregator, *, several: Several = "first", off_list: OffList = "drop"
) -> ListLog:
    """Return the sessions of one query; they are what is resampled.

    Scores from clicks are rates, of which every item has its own: all stand on one scale.

    Parameters
    ----------
    frame : LazyFrame
        Selections in the schema, of one query.
    aggregator : Aggregator
    several, off_list
        See `rankbench.data.tables.selections.clicks`.

    Raises
    ------
    InputError
        No rows, or the policies leave none.
    """
    log = load_selections(frame, several=several, off_list=off_list)
    m = len(log.items)

    def scores(times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said: Selections = log.selections
        if times is not None:
            said = take_selections(said, np.repeat(np.arange(len(times)), times))
        return finite_scores(aggregator.from_selections(said, m), m)

    shown, each = log.selections, np.arange(len(log.selections))
    units = units_of_lists(shown.items, shown.starts, each, np.ones(len(shown)), m)
    return ListLog(log.items, units, np.zeros(m, np.int64), scores)


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
