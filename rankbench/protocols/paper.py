"""Protocols of [DMJ13]_: `btl` is the experiment of section 6, `u-statistics` measures the risks of section 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component, StructureKind
from rankbench.core.runtime import JUDGMENTS, block_entropy, draw_entropy
from rankbench.data.readers.parquet import design_heldout
from rankbench.data.simulators.btl import draw_comparisons, limit_scores, preference_matrix
from rankbench.data.tables.items import apply, load_dataset, usable
from rankbench.errors import InputError
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Block, Method
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import JUDGMENT, NOBODY, BlockTask, Contender, Prepared, Protocol, pack
from rankbench.interfaces.queries import Queries
from rankbench.losses.evaluate import Structures
from rankbench.methods.baselines import LogOddsRegression
from rankbench.methods.erm import ERM
from rankbench.protocols.judging import COMPARISON, answer, comparison_bytes, each_unit, fit, judge


class BTL(Protocol):
    """Comparisons drawn from labels by the BTL model (26), contenders judged by their losses.

    An observation is a query, uniform, and a pair of its items, uniform, ordered by
    chance: i before j with probability ``1 / (1 + exp(r_j - r_i))``. All n of a repetition
    are prefixes of one draw. Contenders are judged against the limit scores (27) on the
    queries that were compared, and on others that were not.

    Queries whose items all have one label cannot be judged and are left out. Where a data
    set has fewer queries than are wanted, both parts and n shrink in proportion.

    Prefer it to compare methods that learn from features, on queries with grades. The comparisons are simulated.
    """

    name: ClassVar[str] = "btl"
    source: ClassVar[str] = "[DMJ13]_ section 6"
    splits: ClassVar[dict[Split, str]] = {
        "design": "Design queries (with training judgments, as in the paper)",
        "heldout": "Held-out queries (without training judgments)",
    }

    design: int = Field(default=500, ge=1, strict=True, description="Queries that are judged.")
    heldout: int = Field(default=500, ge=0, strict=True, description="Queries that contenders are only evaluated on.")
    transforms: str = Field(default="", description="Feature transforms, applied in order, with + between them.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load a data set, leave out what cannot be judged, split and transform it."""
        dataset = self.required(dataset)
        queries = load_dataset(dataset)
        chosen = usable(queries)
        if len(chosen) < 2:
            raise InputError(
                f"data set {dataset!s} has {len(chosen)} usable queries; "
                "two with at least two different labels are needed"
            )
        notes = []
        if len(chosen) < len(queries):
            notes.append(
                f"{len(queries) - len(chosen)} of {len(queries)} queries left out: all their labels are equal, "
                "or they have fewer than two items."
            )
        design, heldout = design_heldout([queries.ids[q] for q in chosen], self.design, self.heldout)
        scale = len(design) / self.design
        if len(design) < self.design:
            notes.append(
                f"{len(design)} design and {len(heldout)} held-out queries instead of {self.design} and "
                f"{self.heldout}; every n is scaled by {scale:.4g}, which keeps the judgments per query."
            )
        names = self.transforms.split("+") if self.transforms else []
        if names:
            notes.append(f"Features: {', then '.join(names)}.")
        parts: dict[Split, Queries] = {
            "design": apply(names, queries.take(chosen[design])),
            "heldout": apply(names, queries.take(chosen[heldout])),
        }
        return _prepared(self, dataset, parts, scale, tuple(notes))

    def assumptions(self) -> list[str]:
        """Return where judgments come from, not from people even where items and labels do, and what losses compare."""
        return [
            f"{NOBODY}: every judgment is simulated, a comparison of two items of a query drawn "
            "from their labels by the Bradley-Terry-Luce model (26).",
            "Losses compare scores with the paper's limit scores (27); an item's limit score is its label minus the "
            "mean label of the query's other items. So losses differ from those against labels, and NDCG may exceed 1. "
            "Losses of graphs compare with the preference probabilities (26).",
        ]

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's comparisons, fit every contender, judge each by every loss."""
        key = task.key
        queries = {split: _queries(prepared, split) for split in self.splits}
        design = queries["design"]
        entropy = block_entropy(key.seed, prepared.fingerprint, key.n, key.repetition)
        judgments = draw_comparisons(design, key.n, draw_entropy(key.seed, prepared.fingerprint, key.repetition))
        block = Block(design, judgments, key.n, key.repetition, entropy)
        outcomes = fit(block, {cell: found.component(Method) for cell, found in task.cells.items()})
        judged = {
            split: judge(outcomes, some, task.losses, partial(_truth, some))
            for split, some in queries.items()
            if len(some)
        }
        return [
            answer(cell, outcomes[cell], {split: rows.get(cell, {}) for split, rows in judged.items()})
            for cell in task.cells
        ]

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return what judgments take in drawing order and by query, or by query while they are fitted."""
        return task.key.n * max(JUDGMENT + COMPARISON, comparison_bytes(task))

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return the block on three of its queries."""
        design = _queries(prepared, "design")
        few = design.take(np.arange(min(3, len(design))))
        small = _prepared(self, prepared.dataset, {"design": few, "heldout": few}, 1.0, ())
        cells = {cell: _shortened(contender) for cell, contender in task.cells.items()}
        return small, replace(task.of_size(50 * len(few)), cells=cells)


def _prepared(
    protocol: Protocol, dataset: Dataset | None, parts: Mapping[Split, Queries], scale: float, notes: tuple[str, ...]
) -> Prepared:
    arrays: dict[str, NDArray[Any]] = {}
    for split, part in parts.items():
        arrays |= pack(split, x=part.x, offsets=part.offsets, labels=part.labels)
    fingerprint = dataset.fingerprint() if dataset else ""
    units = {split: tuple(part.ids) for split, part in parts.items()}
    return Prepared(protocol, dataset, fingerprint, units, arrays, scale, notes)


def _queries(prepared: Prepared, split: Split) -> Queries:
    offsets, x, labels = (prepared.arrays[f"{split}.{name}"] for name in ("offsets", "x", "labels"))
    # Kernels take writable arrays; only the features are too large to copy.
    return Queries(list(prepared.units[split]), offsets.copy(), x, labels.copy())


def _truth(queries: Queries, structure: StructureKind) -> Structures:
    return limit_scores(queries) if structure == "scores" else partial(_preferences, queries)


def _preferences(queries: Queries, q: int) -> NDArray[np.float64]:
    return preference_matrix(queries.labels[queries.offsets[q] : queries.offsets[q + 1]])


def _shortened(contender: Contender) -> Contender:
    """Return a contender with few steps, which compiles all that it needs."""
    method = contender.component(Method)
    few = method.model_copy(update={"draws": 50, "curve": 3}) if isinstance(method, ERM) else method
    return Contender.single(few)


_WORLDS = 4
"""Stream of the worlds' own draw, beside that of their votes."""

ORDERS = 8
"""Orders of the same votes that `instability` compares."""

Vector = NDArray[np.float64]


class _Votes(NamedTuple):
    """Votes in one world.

    Attributes
    ----------
    x, chance, theta : ndarray of float64, shapes (Q, d), (Q,), (d,)
        Differences of the features of its queries, chances of a win, fixed coefficients.
    draws : list
        Several draws of n votes: whether each was a win, and where those of each query begin.
    orders : list of ndarray of bool, shape (n,)
        The first draw in other orders.
    """

    x: Vector
    chance: Vector
    theta: Vector
    draws: list[tuple[NDArray[np.bool_], NDArray[np.int64]]]
    orders: list[NDArray[np.bool_]]


class UStatistics(Protocol):
    r"""Estimators of a risk from n votes on queries with power-law frequencies (Assumption D).

    Query q is a pair of items and is voted on with probability proportional to
    :math:`q^{-\beta-1}`; with m = 2 the average over all k-subsets (18) can be computed
    exactly. Structures are smoothed log-odds, the surrogate is squared, scores are linear
    (`rankbench.methods.baselines`): bounded and Lipschitz, so that Theorem 4 applies to orders
    k that grow slower than the square root of n. True log-odds are linear plus an error,
    both with variance 1/2 and 1/4, so that no scores in the class fit them.

    R is the risk (6) at the limit of structures, Rhat its estimate (19). In each world,
    over `draws` draws of n votes:

    - ``abs-bias``: size of the mean of Rhat(f) - R(f) at fixed scores f, the linear part of the
      truth;
    - ``deviation``: standard deviation of Rhat(f);
    - ``excess``: mean of R(fhat) - min R for fhat the minimizer of Rhat;
    - ``instability``: how much fhat changes with the order of the very same votes: the
      root mean square, over queries by frequency, of the standard deviation of its scores
      over 8 random orders; of the first draw.

    Prefer it to see how the order k trades bias for variance.
    """

    name: ClassVar[str] = "u-statistics"
    source: ClassVar[str] = "[DMJ13]_ section 4, Assumption D, eq. (17)-(20), Theorem 4"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("abs-bias", sentence="Size of the mean difference of empirical risk and risk, at fixed scores.", low=0),
        Metric("deviation", sentence="Standard deviation of the empirical risk, at fixed scores.", low=0),
        Metric("excess", sentence="Mean risk of the minimizer above the least risk.", low=0),
        Metric("instability", sentence="Change of the minimizer with the order of the same votes.", low=0),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Worlds (true scores and chances that votes are drawn from)"}
    counts: ClassVar[str] = "votes in each world"
    judged_on: ClassVar[str] = "worlds"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 20

    beta: float = Field(default=0.5, gt=0, le=10, description="Frequencies are proportional to q^(-beta - 1).")
    queries: int = Field(default=2000, ge=2, le=10**6, strict=True, description="Queries of a world.")
    dimension: int = Field(default=5, ge=1, le=1000, strict=True, description="Features of an item.")
    worlds: int = Field(default=12, ge=1, le=1000, strict=True, description="Worlds: features and truths drawn anew.")
    draws: int = Field(default=10, ge=2, le=1000, strict=True, description="Draws of n votes in each world.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Draw the worlds."""
        from rankbench.certify.kernels import normal
        from rankbench.kernels.random import seed_state

        d, count = self.dimension, self.queries
        x, chance, theta = np.empty((self.worlds, count, d)), np.empty((self.worlds, count)), np.empty((self.worlds, d))
        for u in range(self.worlds):
            drawn = np.empty(count * d + count + d)
            normal(seed_state((seed, _WORLDS, u)), drawn)
            x[u] = drawn[: count * d].reshape(count, d)
            theta[u] = drawn[-d:] * np.sqrt(0.5 / (drawn[-d:] @ drawn[-d:]))
            odds = x[u] @ theta[u] + 0.5 * drawn[count * d : -d]
            chance[u] = 1.0 / (1.0 + np.exp(-odds))
        units = tuple(f"world {u + 1}" for u in range(self.worlds))
        return Prepared(self, None, "", {"design": units}, pack("worlds", x=x, chance=chance, theta=theta))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the votes of all worlds, estimate by every contender, measure."""

        def measured(method: LogOddsRegression, votes: _Votes) -> dict[str, float]:
            return self._measure(votes, method, task.key.n, task.metrics)

        found = each_unit(task, LogOddsRegression, self.worlds, partial(self._draw, prepared, task), measured)
        orders = [one.component(LogOddsRegression).order(task.key.n) for one in task.cells.values()]
        return [
            replace(one, info={"k": float(k)}) if one.status == "done" else one
            for one, k in zip(found, orders, strict=True)
        ]

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return what the votes of one world take: a byte in each draw, and in each order of the first."""
        draws = self.draws if set(task.metrics) - {"instability"} else 1
        return task.key.n * (draws + (ORDERS if "instability" in task.metrics else 0))

    def misfit(self, contender: Component) -> str:
        """Return why a method is no estimator of this risk; empty if it is one."""
        if isinstance(contender, LogOddsRegression):
            return ""
        return "it does not estimate the risk of log-odds (rankbench.methods.baselines.LogOddsRegression)"

    def assumptions(self) -> list[str]:
        """Return what the worlds are."""
        return [
            f"{self.worlds} worlds of {self.queries:,} queries, each a pair of items; query q gets a vote with "
            f"probability proportional to q^-{self.beta + 1:g}",
            f"features are {self.dimension} independent standard normal differences. Log-odds of a win are a linear "
            "function of them with variance 1/2, plus an independent normal error with variance 1/4",
            f"`abs-bias` is the absolute mean error of {self.draws} draws, `deviation` their standard deviation. "
            f"Without bias, the expectation of `abs-bias` is {np.sqrt(2 / np.pi / self.draws):.2g} times `deviation`",
        ]

    @property
    def frequencies(self) -> Vector:
        """Probability of each query, shape (Q,)."""
        p: Vector = np.arange(1.0, self.queries + 1.0) ** (-self.beta - 1.0)
        p /= p.sum()
        return p

    def _draw(self, prepared: Prepared, task: BlockTask, u: int) -> _Votes:
        from rankbench.certify.kernels import draw_outcomes, shuffle
        from rankbench.kernels.random import seed_state

        key = task.key
        x, chance, theta = (prepared.arrays[f"worlds.{name}"][u] for name in ("x", "chance", "theta"))
        upto = np.cumsum(self.frequencies)
        upto[-1] = 1.0
        draws: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []
        # Instability alone needs one draw only.
        for r in range(self.draws if set(task.metrics) - {"instability"} else 1):
            won, starts = np.empty(key.n, np.bool_), np.empty(self.queries + 1, np.int64)
            draw_outcomes(upto, chance.copy(), seed_state((key.seed, key.repetition, JUDGMENTS, u, r)), won, starts)
            draws.append((won, starts))
        orders: list[NDArray[np.bool_]] = []
        if "instability" in task.metrics:
            state = seed_state((key.seed, key.repetition, key.n, u))
            for _ in range(ORDERS):
                orders.append(draws[0][0].copy())
                shuffle(orders[-1], draws[0][1], state)
        return _Votes(x, chance, theta, draws, orders)

    def _measure(self, votes: _Votes, method: LogOddsRegression, n: int, metrics: tuple[str, ...]) -> dict[str, float]:
        k, p, x = method.order(n), self.frequencies, votes.x
        limit = np.log((votes.chance + method.smoothing) / (1.0 - votes.chance + method.smoothing))
        fixed = x @ votes.theta

        def risk(scores: Vector) -> float:
            return float(0.5 * p @ np.square(scores - limit))

        measures: dict[str, Callable[[], float]] = {}
        if set(metrics) - {"instability"}:
            moments = [(np.diff(starts) / n, *method.moments(won, starts, k)) for won, starts in votes.draws]
            estimates = np.array([0.5 * w @ (fixed**2 - 2 * fixed * mean + square) for w, mean, square in moments])
            measures["abs-bias"] = lambda: abs(float(estimates.mean()) - risk(fixed))
            measures["deviation"] = lambda: float(estimates.std(ddof=1))

            def excess() -> float:
                least = risk(x @ np.linalg.solve((x * p[:, None]).T @ x, x.T @ (p * limit)))
                fitted = [risk(x @ method.solve(x, w, mean)) for w, mean, _ in moments]
                return float(np.mean(fitted)) - least

            measures["excess"] = excess

        def instability() -> float:
            starts = votes.draws[0][1]
            w = np.diff(starts) / n
            thetas = [method.solve(x, w, method.moments(won, starts, k)[0]) for won in votes.orders]
            return float(np.sqrt(p @ (x @ np.stack(thetas, axis=1)).var(axis=1, ddof=1)))

        measures["instability"] = instability
        return {metric: measures[metric]() for metric in metrics}
