"""The protocol `held-out-ballots` tells which method predicts ballots that it has not seen.

References
----------
.. [K38] M. G. Kendall. A new measure of rank correlation. Biometrika 30, 1938.
.. [P75] R. L. Plackett. The analysis of permutations. Applied Statistics 24(2), 1975.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.text import count_text
from rankbench.data.tables.order_log import OrderLog, load_orders, single_ballots
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.cell import BlockKey, CellResult, Split, failed, guarded
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack, unpack
from rankbench.interfaces.queries import Orders
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.protocols.folds import FOLDS, cut_groups
from rankbench.protocols.judging import each_cell
from rankbench.protocols.links import GAIN
from rankbench.protocols.log_votes import misfit_of, unchanged

_STEEPEST = 50.0
"""Largest scale of scores whose standard deviation is one."""


class HeldOutBallots(Protocol):
    r"""Repeated cross-validation on a log of ballots without ties; an item of one name is the same in all queries.

    A fifth of the ballots is held out at a time: single ballots, all of a query, or those of a later time. A contender
    scores the items by the others. As chances are Plackett-Luce's [P75]_, of b times the scores, among the items that
    the ballot ranks, every method of ballots or of the comparisons that they imply becomes a model of ballots. Its
    parameters and b are chosen within the training ballots, by the loss of three inner folds.

    The metrics: ``next-place``, the mean over places of -log of the chance that was given to the item there, among
    those behind it (nats; the last place of a ballot is no choice); ``kendall-tau``, the mean over ballots of the
    correlation [K38]_ between ballot and scores, items of equal scores counting 0.

    Prefer it to choose a method for ballots of several items; `own-log` predicts the comparisons that they imply.
    """

    name: ClassVar[str] = "held-out-ballots"
    source: ClassVar[str] = "[P75]_; [K38]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = "orders"
    counts: ClassVar[str] = "ballots"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "next-place",
            sentence="Mean over places of -log of the chance that was given to the item there, among those behind it.",
            low=0,
            unit="nats",
        ),
        Metric(
            "kendall-tau",
            sentence="Mean correlation of the order of a ballot with that of the scores.",
            direction="maximize",
            low=-1,
            high=1,
            chance=0,
            jumps=True,
        ),
    )
    splits: ClassVar[dict[Split, str]] = {"heldout": "Held-out ballots"}
    test_share: ClassVar[float | None] = 1 / FOLDS
    tunes: ClassVar[bool] = True

    folds: Literal["ballot", "query", "time"] = Field(
        default="ballot", description="Ballots that are held out together: each alone, all of a query, or of a time."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the ballots; n = 1 of the suite means all of them."""
        dataset = self.required(dataset)
        fingerprint = dataset.fingerprint()
        table = dataset.scan().collect(engine="streaming")
        unchanged(dataset, fingerprint)
        log = single_ballots(load_orders(table.lazy()))
        places, told = _places(log)
        rows, which = np.unique(places[told], axis=0, return_inverse=True)
        group = self._groups(table, log)[told]
        arrays = pack("ballots", rows=rows, which=which.ravel(), weight=log.orders.weights[told], group=group)
        count, items = int(told.sum()), int(rows.max()) + 1
        notes = [f"{count_text(count, 'ballot')} on {count_text(items, 'item')}, held out by {self.folds}."]
        notes += [f"Ballots of one item, {len(told) - count:,}, are left out."] if count < len(told) else []
        units: dict[Split, tuple[str, ...]] = {"heldout": ("all held-out ballots",)}
        fixed = FOLDS if self.folds == "time" else None
        return Prepared(self, dataset, fingerprint, units, arrays, float(count), tuple(notes), fixed=fixed)

    def _groups(self, table: pl.DataFrame, log: OrderLog) -> NDArray[np.int64]:
        """Return the group of each ballot, shape (n,)."""
        if self.folds == "ballot":
            return np.arange(len(log.orders))
        if self.folds == "query":
            return np.repeat(np.arange(len(log)), log.orders.counts)
        if "time" not in table.columns or "count" in table.columns:
            raise SpecError("the log does not say when each ballot was cast: there are no folds by time")
        times = table.sort("query_id", maintain_order=True)["time"]
        return times.rank("dense").to_numpy().astype(np.int64) - 1

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the items of ballots, or ``""``."""
        if isinstance(contender, SequentialAggregator):
            return "it goes by the order of votes, and these ballots are counted together"
        ballots = isinstance(contender, Aggregator) and contender.judgments == "orders"
        return "" if ballots else misfit_of(contender)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Fit every contender to the training ballots and judge it on the others."""
        trial = guarded(lambda: self._trial(prepared, task.key))
        if isinstance(trial, Exception):
            return [failed(cell, trial) for cell in task.cells]
        return each_cell(task, partial(_judged, trial, task.metrics))

    def _trial(self, prepared: Prepared, key: BlockKey) -> _Trial:
        of = unpack(prepared.arrays, "ballots")
        total = np.bincount(of["group"])
        kind: Literal["time", "vote"] = "time" if self.folds == "time" else "vote"
        cut = cut_groups(kind, (total, total), key.seed, key.repetition)
        part = cut.part[of["group"]].astype(np.int64)
        weights = np.zeros((cut.tested + 1, len(of["rows"])))
        np.add.at(weights, (part[part >= 0], of["which"][part >= 0]), of["weight"][part >= 0])
        return _Trial(np.array(of["rows"]), weights, cut.inner)


def _places(log: OrderLog) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the items of each ballot by place, shape (n, L), padded with -1, and whether it ranks several.

    Raises
    ------
    InputError
        Items are tied on a ballot, or no ballot ranks two.
    """
    orders, number = log.orders, {name: i for i, name in enumerate(sorted(set(log.items)))}
    named = np.array([number[name] for name in log.items], dtype=np.int32)
    lengths = np.diff(orders.starts)
    ballot = np.repeat(np.arange(len(orders)), lengths)
    place = np.arange(len(orders.items)) - orders.starts[:-1][ballot]
    if (orders.places != place).any():
        raise InputError("ballots tie items: this protocol predicts one item a place; own-log takes their comparisons")
    if not (lengths > 1).any():
        raise InputError("the ballots say nothing: none of them ranks two items")
    places = np.full((len(orders), int(lengths.max())), -1, dtype=np.int32)
    query = np.repeat(np.arange(len(log)), orders.counts)
    places[ballot, place] = named[log.item_offsets[query[ballot]] + orders.items]
    return places, lengths > 1


@dataclass(frozen=True, eq=False)
class _Trial:
    """Different ballots, shape (K, L), with their weights in each inner part, the tested one last, and inner cuts."""

    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    inner: tuple[tuple[tuple[int, ...], int], ...]

    def scores(self, aggregator: Aggregator, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an aggregator's scores of ballots, shape (m,)."""
        rows, cast = self.rows[weights > 0], weights[weights > 0]
        told = rows >= 0
        starts = np.concatenate([[0], np.cumsum(told.sum(axis=1))]).astype(np.int64)
        places = np.broadcast_to(np.arange(rows.shape[1], dtype=np.int32), rows.shape)[told]
        orders = Orders(np.array([0, len(rows)], dtype=np.int64), starts, rows[told], places, cast)
        return call_aggregator(aggregator, orders, int(self.rows.max()) + 1)

    def next_place(self, scores: NDArray[np.float64], weights: NDArray[np.float64], b: float) -> NDArray[np.float64]:
        """Return the summed loss of all choices, and their weight."""
        kept = weights > 0
        rows, cast = self.rows[kept], weights[kept]
        told = rows >= 0
        values = np.where(told, b * scores[rows], -np.inf)
        behind = np.logaddexp.accumulate(values[:, ::-1], axis=1)[:, ::-1]
        choice = told[:, :-1] & told[:, 1:]
        lost = np.where(choice, behind[:, :-1] - np.where(choice, values[:, :-1], 0.0), 0.0)
        return np.array([cast @ lost.sum(axis=1), cast @ choice.sum(axis=1)])

    def chosen(self, grid: Sequence[Aggregator]) -> tuple[int, float]:
        """Return the point of a grid and the scale of its scores of least loss on the inner folds."""
        best, least = (0, 0.0), math.inf
        for number, point in enumerate(grid):
            seen = [(self.scores(point, self.weights[list(known)].sum(axis=0)), out) for known, out in self.inner]
            b, loss = self._scale(seen)
            if loss < least - GAIN:
                best, least = (number, b), loss
        return best

    def _scale(self, seen: Sequence[tuple[NDArray[np.float64], int]]) -> tuple[float, float]:
        """Return the scale of scores of least loss, which is convex in it, and that loss."""
        from scipy.optimize import minimize_scalar

        unit = float(np.std(np.concatenate([scores for scores, _ in seen])))

        def loss(scale: float) -> float:
            b = scale / unit if unit else 0.0
            lost, choices = sum((self.next_place(scores, self.weights[out], b) for scores, out in seen), np.zeros(2))
            return float(lost / choices)

        even = loss(0.0)
        if not unit:
            return 0.0, even
        found = minimize_scalar(loss, bounds=(0.0, _STEEPEST), method="bounded", options={"xatol": 1e-7})
        return (found.x / unit, found.fun) if found.fun < even else (0.0, even)

    def tau(self, scores: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
        """Return the mean correlation of the scores with the ballots."""
        kept = weights > 0
        rows, cast = self.rows[kept], weights[kept]
        agreed = np.zeros(len(rows))
        for first in range(rows.shape[1] - 1):
            behind = rows[:, first + 1 :]
            ahead = np.sign(scores[rows[:, first, None]] - scores[behind])
            agreed += np.where(behind >= 0, ahead, 0.0).sum(axis=1)
        length = (rows >= 0).sum(axis=1)
        return float(np.average(2 * agreed / (length * (length - 1)), weights=cast))


def _judged(trial: _Trial, metrics: Sequence[str], cell: str, contender: Contender) -> CellResult:
    grid, tested = contender.grid(Aggregator), trial.weights[-1]
    point, b = trial.chosen(grid)
    scores = trial.scores(grid[point], trial.weights[:-1].sum(axis=0))
    lost, choices = trial.next_place(scores, tested, b)
    found: dict[str, Any] = {"next-place": lost / choices, "kendall-tau": trial.tau(scores, tested)}
    losses: dict[tuple[str, Split], NDArray[np.float64]] = {
        (name, "heldout"): np.array([found[name]]) for name in metrics
    }
    return CellResult(cell, "done", "", math.nan, losses, {}, {"point": float(point), "scale": b})
