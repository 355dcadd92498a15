"""Protocols judge aggregators alone: `aggregation` on known populations of votes, `selection` on simulated users."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.core.component import Component, StructureKind
from rankbench.core.runtime import JUDGMENTS, draw_entropy
from rankbench.core.text import returned_numbers
from rankbench.data.simulators.btl import Judges, LawName, best_orders, make_populations
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator, LabelAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, label_structure, structure_of
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.click_aggregator import ClickPopulation, SelectionAggregator
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.queries import Comparisons, Orders, Selections, implied_comparisons
from rankbench.losses.evaluate import Structures
from rankbench.plugin.third_party import disposable_judgments, is_ours
from rankbench.protocols.judging import each_cell, each_unit, losses_of, usable_scores

_LEVEL = 1e-12


def directions(structure: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return 1 for pairs with i before j in a structure, -1 with i after j, 0 if level, (m, m).

    Scores are compared; of a weighted graph, the two edges of a pair. Differences below 1e-12 of
    the largest value are none.
    """
    lead = structure[:, None] - structure[None, :] if structure.ndim == 1 else structure - structure.T
    lead = np.where(np.abs(lead) <= _LEVEL * np.abs(structure).max(initial=0.0), 0.0, lead)
    return np.sign(lead).astype(np.int8)


def misordered(structure: NDArray[np.float64], order: NDArray[np.int64]) -> float:
    """Return the share of pairs that are not as in `order`, best item first; level ones count half."""
    found = directions(structure)[np.ix_(order, order)][np.triu_indices(len(order), 1)]
    return float(((found < 0) + 0.5 * (found == 0)).mean())


def regret(structure: NDArray[np.float64], order: NDArray[np.int64], wins: NDArray[np.float64]) -> float:
    """Return the expected disagreement (10) with one preference on a random pair, less that of `order`.

    Pairs count alike, however often they are compared; a level one disagrees by half. Of a
    score vector it is never negative if `order` is the best. A weighted graph may have cycles
    as the population has, and then do better than any order.
    """
    rows = np.triu_indices(len(order), 1)
    ahead = wins[np.ix_(order, order)][rows]
    found = directions(structure)[np.ix_(order, order)][rows]
    return float(((1 - found) / 2 * (2 * ahead - 1)).mean())


def rmse(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the root mean squared error after the best affine fit of `scores` to `truth`."""
    s, t = scores - scores.mean(), truth - truth.mean()
    size = float(s @ s)
    slope = float(s @ t) / size if size > 0 else 0.0
    return float(np.sqrt(np.mean((t - slope * s) ** 2)))


VOTE = 32
"""Bytes of a vote: two items and a weight, and the copy that an aggregator gets."""

IMPLIED = 64
"""Bytes of a comparison that a ballot implies, while it is found: eight numbers of 8."""


_Drawn: TypeAlias = tuple[int, Comparisons | Orders, Comparisons]
"""A population, its judgments, and the comparisons that these are or imply."""


class AggregationTrial(Protocol):
    """Aggregators on populations whose true scores and law of judgments are known.

    Every population has its own n judgments, drawn by `law`
    (`rankbench.data.simulators.btl`): comparisons, or under ``plackett-luce`` ballots, whose implied
    pairs aggregators of comparisons get. Judgments of a repetition are prefixes
    of one draw. All laws but ``hidden-context`` have the same true scores for the same seed.

    *misordered*: share of pairs that are not in the population's own order, level ones half. That is the order of
    least expected disagreement (10): of the true scores, unless the law is ``intransitive``. With ``target`` it is the
    order of the scores, or of the mean shares of wins. *regret*: expected disagreement with one preference on a uniform
    pair, less that of the population's own order. *rmse*: error of the scores after the best affine fit to the true
    ones, which are standard normal; weighted graphs have no scores and are skipped.

    Prefer it to compare aggregators where the truth is known: how many judgments does each need?
    """

    name: ClassVar[str] = "aggregation"
    source: ClassVar[str] = "[DMJ13]_ section 5, eq. (10)"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "misordered",
            sentence="Share of pairs not in the population's own order.",
            low=0,
            high=1,
            chance=0.5,
            jumps=True,
        ),
        Metric(
            "regret",
            sentence="Expected disagreement with a preference, minus the minimum over all orders; graphs with cycles "
            "may fall below 0.",
            # An order is best, so that it is against at most half of all preferences.
            low=-0.5,
            high=1,
            jumps=True,
        ),
        Metric("rmse", sentence="Error of the scores after the best affine fit to the true ones.", low=0),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Populations (laws of judgments that are known exactly)"}
    counts: ClassVar[str] = "judgments of each population"
    judged_on: ClassVar[str] = "populations"
    simulated: ClassVar[bool] = True

    law: LawName = Field(default="btl", description="Law that judgments are drawn from.")
    items: int = Field(default=10, ge=2, le=14, strict=True, description="Items m of a population.")
    populations: int = Field(default=50, ge=1, le=10_000, strict=True, description="Number of populations.")
    exposure: float = Field(
        default=0.0, ge=0, le=10, description="Items get attention in proportion to place^-exposure; 0: all alike."
    )
    ties: float = Field(default=0.0, ge=0, le=100, description="Davidson's nu: 0 is no ties; law btl only.")
    cycle: float = Field(default=1.0, ge=0, le=100, description="Size of the cyclic part; law intransitive only.")
    judges: Judges = Field(default="all", description="Judges whose votes are drawn; law hidden-context only.")
    target: Literal["disagreement", "scores", "borda"] = Field(
        default="disagreement",
        description="The population's own order: of least expected disagreement, of the true scores, or of Borda's "
        "exact mean shares of wins.",
    )
    length: int = Field(default=5, ge=2, le=14, strict=True, description="Items on a ballot; law plackett-luce only.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.ties and self.law != "btl":
            raise ValueError(f"there are ties under law btl, not under {self.law}")
        if self.law == "plackett-luce" and self.exposure:
            raise ValueError("ballots are of uniform sets of items: no exposure under law plackett-luce")
        if self.law == "plackett-luce" and self.length > self.items:
            raise ValueError(f"a ballot of {self.length} items is longer than a population of {self.items}")
        if self.judges != "all" and self.law != "hidden-context":
            raise ValueError(f"there are groups of judges under law hidden-context, not under {self.law}")
        return self

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Make the populations and find their best orders."""
        made = make_populations(
            self.law, self.populations, self.items, seed, cycle=self.cycle, exposure=self.exposure, judges=self.judges
        )
        low, high = np.triu_indices(self.items, 1)
        pairs = made.shares[:, low] * made.shares[:, high]
        upto = np.cumsum(pairs / pairs.sum(axis=1, keepdims=True), axis=1)
        if self.target == "disagreement":
            orders = best_orders(made.wins)
        else:
            orders = np.argsort(-(made.scores if self.target == "scores" else made.wins.sum(axis=2)), axis=1)
        arrays = pack("populations", scores=made.scores, wins=made.wins, upto=upto, orders=orders)
        units = tuple(f"population {p + 1}" for p in range(self.populations))
        return Prepared(self, None, "", {"design": units}, arrays)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the judgments of all populations, aggregate them by every contender, measure."""

        def drawn(p: int) -> _Drawn:
            judged = self._draw(prepared, task, p)
            return p, judged, implied_comparisons(judged) if isinstance(judged, Orders) else judged

        return each_unit(task, Aggregator, self.populations, drawn, partial(self._measures, prepared, task.metrics))

    def _measures(
        self, prepared: Prepared, metrics: tuple[str, ...], aggregator: Aggregator, drawn: _Drawn
    ) -> dict[str, float]:
        """Return a contender's metrics on one population."""
        p, judged, pairs = drawn
        ours = is_ours(aggregator)
        if aggregator.judgments == "orders" and isinstance(judged, Orders):
            structure = call_aggregator(aggregator, judged if ours else disposable_judgments(judged), self.items)
        else:
            structure = structure_of(aggregator, pairs if ours else disposable_judgments(pairs), self.items)
        shape = (self.items,) if aggregator.structure == "scores" else (self.items, self.items)
        if np.shape(structure) != shape:
            raise TypeError(f"the structure has shape {np.shape(structure)}, not {shape}")
        structure = np.asarray(structure, dtype=np.float64)
        if not np.isfinite(structure).all():
            raise ContenderDiverged("the structure is not finite")
        if "rmse" in metrics and structure.ndim == 2:
            raise SpecError(f"{aggregator!s} makes weighted graphs, which have no rmse")
        scores, wins, orders = (prepared.arrays[f"populations.{name}"][p] for name in ("scores", "wins", "orders"))
        found = {
            "misordered": lambda: misordered(structure, orders),
            "regret": lambda: regret(structure, orders, wins),
            "rmse": lambda: rmse(structure, scores),
        }
        return {metric: found[metric]() for metric in metrics}

    def _draw(self, prepared: Prepared, task: BlockTask, p: int) -> Comparisons | Orders:
        """Return the judgments of population p in this block."""
        from rankbench.data.simulators.kernels import draw_ballots, draw_votes_between
        from rankbench.kernels.random import seed_state

        n = task.key.n
        # Copies: what workers share is read-only, which the kernels' signatures are not.
        scores, wins, upto = (
            np.array(prepared.arrays[f"populations.{name}"][p]) for name in ("scores", "wins", "upto")
        )
        state = seed_state((task.key.seed, task.key.repetition, JUDGMENTS, p))
        offsets = np.array([0, n], dtype=np.int64)
        if self.law == "plackett-luce":
            ballots = np.empty((n, self.length), dtype=np.int32)
            draw_ballots(scores, self.length, state, ballots)
            starts = np.arange(n + 1, dtype=np.int64) * self.length
            places = np.tile(np.arange(self.length, dtype=np.int32), n)
            return Orders(offsets, starts, ballots.ravel(), places, np.ones(n))
        winners, losers, ties = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.bool_)
        draw_votes_between(upto, wins, scores, self.ties, state, winners, losers, ties)
        return Comparisons(offsets, winners, losers, np.ones(n), ties if self.ties else None)

    def misfit(self, contender: Component) -> str:
        """Return an error text for an aggregator that cannot use these judgments, or ``""``."""
        if not isinstance(contender, Aggregator):
            return "it is not an aggregator"
        if contender.needs_truth:
            return "it is made from the truth, not from judgments"
        wanted = ("comparisons", "orders") if self.law == "plackett-luce" else ("comparisons",)
        if contender.judgments not in wanted:
            return f"it works on {contender.judgments}, and under law {self.law} there are {wanted[-1]}"
        return ""

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of one population's judgments, and of the comparisons that ballots imply."""
        if self.law != "plackett-luce":
            return task.key.n * VOTE
        return task.key.n * (8 * self.length + 16 + self.length * (self.length - 1) // 2 * IMPLIED)

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return the block on one population."""
        small = self.model_copy(update={"populations": 1})
        return small.prepare(None, task.key.seed), task.of_size(5)

    def assumptions(self) -> list[str]:
        """Return sentences on the populations."""
        words = {
            "btl": "Bradley-Terry-Luce comparisons (26)",
            "thurstone": "Thurstone's Case V comparisons",
            "heteroscedastic": "Thurstone comparisons of items of different variances",
            "intransitive": f"Bradley-Terry-Luce comparisons with a cyclic part of size {self.cycle:g} in the log-odds",
            "plackett-luce": f"Plackett-Luce ballots of {self.length} items",
            "low-noise": "comparisons whose leads no score explains; every pair leans as mean shares of wins do",
            "generalized-low-noise": "comparisons whose leads no score explains; every pair leans to the higher "
            "score, and mean shares of wins do not",
            "hidden-context": "judges prefer the item of larger utility; an item from .8 on has twice its utility for "
            "half of them, and 0 for half",
        }
        scores = "utilities evenly spaced between 0 and 1" if self.law == "hidden-context" else "standard normal scores"
        said = f"{self.populations} populations of {self.items} items with {scores}; {words[self.law]}"
        if self.judges != "all":
            said += f"; here only judges who are {self.judges} all of these items"
        if self.ties:
            said += f", with Davidson's ties, nu = {self.ties:g}"
        if self.exposure:
            said += f"; the item at place r of a random order is compared in proportion to r^-{self.exposure:g}"
        return [said + "."]


SOME = 1000
"""Sessions that tell how much memory more of them take."""


class Selection(Protocol):
    """Click sessions drawn from a known population, aggregators judged by ranking losses.

    All n sessions of a repetition are prefixes of one draw. A contender gets the sessions, its
    scores of the queries' items are judged against their true grades, by loss components:
    those of scores against the grades, those of edges against the graph with
    the difference of the grades on the edge from each item to each worse one. An
    aggregator that needs the truth gets the grades: the best that can be done.

    Prefer it to compare aggregators of clicks where the truth is known; `click-prediction` is for real logs.
    """

    name: ClassVar[str] = "selection"
    source: ClassVar[str] = "[DMJ13]_ section 5.2"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = "selections"
    splits: ClassVar[dict[Split, str]] = {"design": "Queries (judged against their true grades)"}
    counts: ClassVar[str] = "sessions"
    few: ClassVar[int] = 50

    def refusal(self, dataset: Dataset) -> str:
        """Refuse real logs: their true scores are unknown."""
        if isinstance(dataset, ClickPopulation):
            return ""
        return super().refusal(dataset) or (
            f"protocol {self.name!r} judges by the truth, which data set {dataset!s} does not have"
        )

    def misfit(self, contender: Component) -> str:
        """Refuse aggregators of other judgments, except oracles, which get the truth."""
        if isinstance(contender, SelectionAggregator | LabelAggregator):
            return ""
        return f"{contender.kind} {contender.name!r} does not aggregate selections"

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Ask a population for its queries and their grades."""
        if not isinstance(dataset, ClickPopulation):
            raise SpecError(f"protocol {self.name!r} needs a population of selections whose truth is known")
        truth = dataset.truth()
        arrays = pack("truth", offsets=truth.offsets, labels=truth.labels)
        return Prepared(self, dataset, dataset.fingerprint(), {"design": tuple(truth.ids)}, arrays)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's sessions, aggregate them, judge each contender's scores by every loss."""
        key = task.key
        offsets, labels = prepared.arrays["truth.offsets"], prepared.arrays["truth.labels"]
        dataset = prepared.dataset
        if not isinstance(dataset, ClickPopulation):
            raise SpecError(f"protocol {self.name!r} was prepared without a population")
        log = dataset.draw(key.n, draw_entropy(key.seed, prepared.fingerprint, key.repetition))
        truth = partial(_truth, offsets, labels)

        def judged(cell: str, contender: Contender) -> CellResult:
            alpha = _scores(contender.component(Aggregator), log, offsets, labels)
            losses: dict[tuple[str, Split], NDArray[np.float64]] = {}
            for metric, values in losses_of(task.losses, alpha[None], truth, offsets).items():
                if isinstance(values, Exception):
                    raise values
                losses[metric, "design"] = values[0]
            return CellResult(cell, "done", losses=losses)

        return each_cell(task, judged)

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of sessions, estimated from some drawn ones, and of a contender's copy."""
        dataset = prepared.dataset
        if not isinstance(dataset, ClickPopulation) or task.key.n <= SOME:
            return 0
        some = dataset.draw(SOME, draw_entropy(task.key.seed, prepared.fingerprint, task.key.repetition))
        return 2 * task.key.n * sum(part.nbytes for part in (some.starts, some.items, some.clicked)) // SOME


def _scores(
    aggregator: Aggregator, log: Selections, offsets: NDArray[np.int64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return scores of all items: from all queries' selections where the aggregator takes them."""
    if isinstance(aggregator, SelectionAggregator):
        scores = returned_numbers(aggregator.fit(disposable_judgments(log), offsets.copy()).scores, "scores")
        return usable_scores(scores, int(offsets[-1]))
    of_queries = np.split(labels, offsets[1:-1])
    return np.concatenate([usable_scores(label_structure(aggregator, own.copy()), len(own)) for own in of_queries])


def _truth(offsets: NDArray[np.int64], labels: NDArray[np.float64], structure: StructureKind) -> Structures:
    if structure == "scores":
        return labels.copy()

    def graph(q: int) -> NDArray[np.float64]:
        grades = labels[offsets[q] : offsets[q + 1]]
        return np.maximum(grades[:, None] - grades[None, :], 0.0)

    return graph
