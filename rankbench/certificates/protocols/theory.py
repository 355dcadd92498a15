"""The protocol `theory` trains surrogates on populations of the papers' theorems."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.certificates.conditional_risks import (
    TOLERANCE,
    AggregationName,
    Consistency,
    consistency_in,
    suboptimality,
    surrogate_risk,
)
from rankbench.certificates.populations import Noise, Population, Setting, draw_populations, paper_populations, settings
from rankbench.core.component import Component
from rankbench.core.runtime import JUDGMENTS, block_entropy
from rankbench.errors import SpecError
from rankbench.interfaces.cell import CellResult, Layout, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Block, Method
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate, Surrogate
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.methods.erm import ERM
from rankbench.plugin.manager import reference
from rankbench.protocols.judging import answer, comparison_bytes, each_cell, fit, judge


class Theory(Protocol):
    """Surrogates on the small populations of the papers' proofs, by Definition 3; nothing is drawn.

    A population is a distribution over a few graphs, or score vectors, of three items.
    ``verdict`` is 1 where the surrogate is consistent and -1 or 0 where it is not; it is
    the sign of ``gap``, the least surrogate risk among the orders of items that do not
    minimize the true risk, less that among those that do: below 0, minimizing the
    surrogate ends in a wrong order; at 0, it may. ``excess`` is the largest true risk above
    the least one that minimizing it can end in. Gaps do not compare between surrogates:
    each has a scale of its own.

    A surrogate of graphs sees score vectors as graphs with weights ``[G(s_i) - G(s_j)]_+``,
    G that of the loss; a surrogate of scores sees the net weights of graphs.

    Prefer it for exact verdicts on the papers' populations; ``rankbench certify`` decides for all populations of a
    class.

    Notes
    -----
    Risks are sums over the population, minimized over each of the 3! orders to about
    1e-11; a gap within 1e-9 of 0 is called 0. A consistent surrogate has a gap above 0 on
    *every* population, which no table shows: the theorems do.
    """

    name: ClassVar[str] = "theory"
    source: ClassVar[str] = "[DMJ13]_ Definition 3, Theorems 2 and 3; [DMJ10]_ Theorem 13, section 3.1"
    contender: ClassVar[str] = "surrogate"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "verdict",
            "maximize",
            "The sign of the gap.",
            low=-1,
            high=1,
            jumps=True,
            words={1.0: "consistent", 0.0: "either", -1.0: "inconsistent"},
        ),
        Metric("gap", "maximize", "Least surrogate risk of wrong orders, less that of right ones."),
        Metric("excess", sentence="Largest true risk above the least that minimizing can end in.", low=0, jumps=True),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Populations (laws of judgments that are known exactly)"}
    counts: ClassVar[str] = ""
    layout: ClassVar[Layout] = "exact"

    loss: Annotated[Loss, reference(Loss)] = Field(
        default="pairwise-disagreement", validate_default=True, description="The true loss."
    )
    aggregation: AggregationName = Field(
        default="none",
        description="Graphs of a population that surrogates see: each (none), their mean (mean), or the mean's "
        "difference graph (difference), as after aggregating infinitely many judgments.",
    )

    @model_validator(mode="after")
    def _aggregates_graphs(self) -> Self:
        if self.aggregation != "none" and self.loss.structure != "edges":
            raise ValueError(f"aggregation is of graphs, and loss {self.loss.name!r} is of {self.loss.structure}")
        return self

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Name the populations, without loading or drawing."""
        chosen = settings(self.loss.structure)
        notes = tuple(f"{setting.name}: {setting.text}." for setting in chosen)
        return Prepared(self, None, "", {"design": tuple(setting.name for setting in chosen)}, notes=notes)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Compute gap and excess of each surrogate on each population."""
        return each_cell(task, partial(self._cell, task.metrics))

    def misfit(self, contender: Component) -> str:
        """Return an error text for a surrogate that cannot be evaluated, or ``""``."""
        if isinstance(contender, PairwiseSurrogate | ScoreSurrogate):
            return ""
        return f"surrogate {contender.name!r} is neither of edges nor of scores"

    def _cell(self, metrics: tuple[str, ...], cell: str, contender: Contender) -> CellResult:
        surrogate = contender.component(Surrogate)
        found = [self._on(surrogate, setting) for setting in settings(self.loss.structure)]
        values = {metric: np.array([getattr(one, metric) for one in found]) for metric in metrics}
        if not all(np.isfinite(array).all() for array in values.values()):
            return CellResult(cell, "diverged", "its risk is not finite on some population")
        return CellResult(cell, "done", losses={(metric, "design"): array for metric, array in values.items()})

    def _on(self, surrogate: Surrogate, setting: Setting) -> Consistency:
        found = consistency_in(surrogate, setting, self.loss, self.aggregation)
        if np.isposinf(found.gap):
            raise SpecError(f"loss {self.loss!s} has the same risk for all orders of {setting.name!r}")
        return found


_POPULATIONS = 3
"""Stream of the populations' own draw, beside that of their votes."""

ROUNDING = 1e-12
"""Differences of risks, which are at most 1, that are rounding errors."""


class Repair(Protocol):
    """Methods on populations of votes on few items, with one free score an item: excess risk against n.

    Every population is a query of its own, whose items have features that tell them
    apart and nothing else, so that every ranking can be represented. It casts n votes
    "i over j", independent draws from a known law; those of a repetition are prefixes of
    one draw. ``excess`` is the expected disagreement (10) of a ranking with one more vote,
    less that of the best ranking (Bayes risk): exact, no votes are held out.

    A consistent method's excess goes to 0 as n grows, whatever the populations. One that
    is not levels off where its limit ranks some of them wrongly. Labels are the best
    ranking: `oracle` is at 0.

    ``bound`` inverts H(eps, mu) of (9) at a contender's surrogate excess, which is exact too:
    the true excess is at most that large. A consistent surrogate's bound goes to 0 with its
    surrogate excess.

    Prefer it to see at which n an inconsistent method levels off, and whether aggregation repairs it.
    """

    name: ClassVar[str] = "repair"
    source: ClassVar[str] = "[DMJ13]_ sections 3.2 and 5.3; [DMJ10]_ section 3"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("excess", sentence="True risk above the least that an order can have.", low=0, jumps=True),
        Metric(
            "bound",
            sentence="Largest true excess that a contender's exact surrogate excess allows; 1 for a contender whose "
            "surrogate or aggregator has no exact risk here.",
            low=0,
            high=1,
            jumps=True,
            quality=False,
        ),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Populations (laws of judgments that are known exactly)"}
    counts: ClassVar[str] = "votes in each population"
    judged_on: ClassVar[str] = "populations"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 20

    noise: Noise = Field(
        default="low-noise",
        description="Class of the populations: low-noise (Definition 4), acyclic (no cycle among mean preferences) or "
        "cyclic.",
    )
    items: int = Field(default=4, ge=3, le=7, strict=True, description="Items of a population.")
    populations: int = Field(default=40, ge=1, le=1000, strict=True, description="Populations that are drawn.")
    paper: bool = Field(
        default=False, description="Put the populations of Theorems 2 and 3, with 3 items, first; for noise=low-noise."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Draw the populations and find their best rankings."""
        from rankbench.kernels.random import seed_state

        if self.paper and self.noise != "low-noise":
            raise SpecError(f"protocol {self!s}: the paper's own populations are low-noise")
        own = paper_populations() if self.paper else []
        made = [*own, *draw_populations(self.noise, self.populations, self.items, seed_state((seed, _POPULATIONS)))]
        sizes = np.array([len(population.votes) for population in made])
        best = [PairwiseDisagreement().bayes_risk(population.votes[None]) for population in made]
        arrays = pack(
            "populations",
            sizes=sizes,
            votes=np.concatenate([population.votes.ravel() for population in made]),
            labels=np.concatenate([risk.alpha for risk in best]),
            bayes=np.array([risk.upper for risk in best]),
        )
        return Prepared(self, None, "", {"design": tuple(population.name for population in made)}, arrays)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the votes, fit every contender, compute its excess risk in every population."""
        key = task.key
        populations = _populations(prepared)
        queries = _queries(prepared)
        votes = _draw(populations, key.n, (key.seed, key.repetition, JUDGMENTS))
        block = Block(queries, votes, key.n, key.repetition, block_entropy(key.seed, "", key.n, key.repetition))
        methods = {cell: found.component(Method) for cell, found in task.cells.items()}
        outcomes = fit(block, methods, lambda cell: task.advance(cell, 1.0))
        loss = PairwiseDisagreement()
        scores: dict[str, NDArray[np.float64]] = {}
        judged = judge(outcomes, queries, [loss], lambda _: lambda q: populations[q].votes, scores)
        bayes = prepared.arrays["populations.bayes"]
        above = {cell: found[str(loss)] - bayes for cell, found in judged.items() if found}
        rows = {cell: {"excess": np.where(excess <= ROUNDING, 0.0, excess)} for cell, excess in above.items()}
        for cell, own in rows.items() if "bound" in task.metrics else ():
            method = task.cells[cell].component(Method)
            parts = zip(populations, np.split(scores[cell], queries.offsets[1:-1]), strict=True)
            own["bound"] = np.array([excess_bound(method, population.votes, alpha) for population, alpha in parts])
        asked = {cell: {name: own[name] for name in task.metrics} for cell, own in rows.items()}
        return [answer(cell, outcomes[cell], {"design": asked.get(cell, {})}) for cell in task.cells]

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of the votes of all populations in a fit."""
        return task.key.n * len(prepared.units["design"]) * comparison_bytes(task)

    def misfit(self, contender: Component) -> str:
        """Return an error text for a contender that is no method, or ``""``."""
        return "" if isinstance(contender, Method) else "it is not a method"

    def assumptions(self) -> list[str]:
        """Return sentences on the populations' law."""
        leads = {
            "low-noise": "leads of neighbors in a hidden order are exponential. By Definition 4, every other lead is "
            "the largest sum of leads along a path, plus an exponential one",
            "acyclic": "leads of all pairs along a hidden order are exponential, so that there is no cycle, but not "
            "low noise either",
            "cyclic": "leads of all pairs are exponential in a random direction, drawn again until there is a cycle",
        }
        own = " and the populations of Theorems 2 and 3 as votes" if self.paper else ""
        return [
            f"{self.populations} populations of {self.items} items{own}: {leads[self.noise]}",
            f"every pair gets as many votes against as for, exponential with mean {self.items - 1} times that of a "
            "lead. Items stand in a random order, and all populations drawn are used",
            "this law was chosen before anything was trained, to make the limit of (12) wrong often. With the logistic "
            "phi it is wrong on about a third of low-noise populations of four items, and on half with five",
            "votes are independent and weigh the same; a population has one free score an item",
        ]


LIMITS: dict[str, AggregationName] = {
    "average-adjacency": "mean",
    "difference-graph": "difference",
    "identity": "none",
    "net-weights": "mean",
}
"""Aggregators, and the structure that each makes in the limit of all judgments."""


def excess_bound(method: Method, votes: NDArray[np.float64], alpha: NDArray[np.float64]) -> float:
    """Return the largest true excess of the orders that have the surrogate excess of scores, or less.

    Parameters
    ----------
    method : Method
    votes : ndarray of float64, shape (m, m)
        Law of one vote.
    alpha : ndarray of float64, shape (m,)

    Returns
    -------
    float
        1, the largest excess of all, if the method minimizes no surrogate risk of the law that is known exactly.
    """
    if not (isinstance(method, ERM) and method.aggregator.name in LIMITS and method.k in (1, math.inf)):
        return 1.0
    aggregation = "none" if method.k == 1 else LIMITS[method.aggregator.name]
    excess, infima = _suboptimality(method.surrogate, votes.tobytes(), aggregation)
    risk = surrogate_risk(method.surrogate, _of_votes(votes), PairwiseDisagreement(), aggregation)
    with np.errstate(over="ignore"):
        own = risk(alpha)[0]
    return float(excess[infima <= max(own, infima.min()) + TOLERANCE].max())


@lru_cache(maxsize=10_000)
def _suboptimality(
    surrogate: Surrogate, votes: bytes, aggregation: AggregationName
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    law = np.frombuffer(votes)
    m = math.isqrt(len(law))
    return suboptimality(surrogate, _of_votes(law.reshape(m, m)), PairwiseDisagreement(), aggregation)


def _of_votes(votes: NDArray[np.float64]) -> Setting:
    """Return the law of one vote: each edge a graph of weight 1."""
    m = len(votes)
    graphs = [np.zeros((m, m)) for _ in range(np.count_nonzero(votes))]
    for graph, edge in zip(graphs, np.argwhere(votes), strict=True):
        graph[tuple(edge)] = 1.0
    return Setting("", "", tuple(graphs), tuple(votes[votes != 0].tolist()))


def _populations(prepared: Prepared) -> list[Population]:
    arrays = prepared.arrays
    sizes = arrays["populations.sizes"]
    parts = np.split(arrays["populations.votes"], np.cumsum(sizes**2)[:-1])
    named = zip(prepared.units["design"], parts, sizes, strict=True)
    return [Population(name, part.reshape(m, m).copy()) for name, part, m in named]


def _queries(prepared: Prepared) -> Queries:
    """Return one query a population; the features of an item are 1 in a column of its own."""
    offsets = np.concatenate([[0], np.cumsum(prepared.arrays["populations.sizes"])]).astype(np.int64)
    x = np.eye(int(offsets[-1]), dtype=np.float32)
    return Queries(list(prepared.units["design"]), offsets, x, prepared.arrays["populations.labels"].copy())


def _draw(populations: list[Population], n: int, entropy: tuple[int, ...]) -> Comparisons:
    from rankbench.certificates.kernels import draw_votes
    from rankbench.kernels.random import seed_state

    winners, losers = (np.empty(n * len(populations), dtype=np.int32) for _ in range(2))
    for q, population in enumerate(populations):
        upto = np.cumsum(population.votes.ravel())
        upto[np.flatnonzero(population.votes.ravel())[-1] :] = 1.0  # rounding leaves the sum a little off
        own = slice(q * n, (q + 1) * n)
        draw_votes(upto, len(population.votes), seed_state((*entropy, q)), winners[own], losers[own])
    offsets = np.arange(len(populations) + 1, dtype=np.int64) * n
    return Comparisons(offsets, winners, losers, np.ones(len(winners)))
