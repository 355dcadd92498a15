"""Protocols of simulated scores: systems whose true order is known, and the best of n equal variants.

References
----------
.. [S25] S. Singh et al. The leaderboard illusion. NeurIPS 2025.
.. [S67] Z. Sidak. Rectangular confidence regions for the means of multivariate normal distributions. Journal of the
   American Statistical Association 62(318), 1967.
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import JUDGMENTS
from rankbench.data.simulators.btl import make_populations
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.plugin.third_party import disposable_judgments, is_ours
from rankbench.protocols.judging import each_unit
from rankbench.systems.system_ranking import rank_systems

_NUMBER = 8
"""Bytes of a score."""


class _Table(NamedTuple):
    """Scores, shape (1, T, S), and true ranks, shape (S,): 1 for the largest mean, equal ranks for equal means."""

    scores: NDArray[np.float64]
    ranks: NDArray[np.float64]


class ScoreTables(Protocol):
    r"""Systems ranked by the scores of simulated tables, with rank ranges: what ``rankbench rank`` does.

    .. math:: x_{ts} = \mu_s + \tau_t + \varepsilon_{ts}, \quad \mu_s \sim N(0, \sigma^2), \quad \tau_t \sim N(0, 1)

    for system s on task t of n, with noise of variance 1. A repetition draws other tasks; systems keep their means.

    *misordered*: share of pairs of systems whose scores are not in the order of their means, level ones half.
    *covered*: 1 where every system's rank by its mean is in its range, which ranges promise of 95% of tables. *width*:
    mean number of ranks in a range beside the first.

    Prefer it to measure how often the rank ranges of a method for score tables hold, and how narrow they are.
    """

    name: ClassVar[str] = "score-tables"
    source: ClassVar[str] = "[MWR24]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("misordered", sentence="Share of pairs not in the order of their means.", low=0, high=1, jumps=True),
        Metric("covered", "maximize", "Share of tables whose ranges hold all ranks.", low=0, high=1, jumps=True),
        Metric("width", sentence="Mean number of ranks in a range beside the first.", low=0, jumps=True),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Tables (systems whose means are known)"}
    counts: ClassVar[str] = "tasks of each table"
    judged_on: ClassVar[str] = "tables"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 5

    systems: int = Field(default=6, ge=2, le=100, strict=True, description="Systems S of a table.")
    tables: int = Field(default=20, ge=1, le=10_000, strict=True, description="Number of tables.")
    spread: float = Field(default=0.5, ge=0, le=100, description="Standard deviation sigma of the systems' means.")
    noise: Literal["normal", "exponential"] = Field(default="normal", description="Law of the noise, of variance 1.")
    replicates: int = Field(default=1000, ge=2, le=100_000, description="Resamples of tasks.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Draw the systems' means."""
        means = np.random.default_rng([seed, 0]).standard_normal((self.tables, self.systems)) * self.spread
        units = tuple(f"table {p + 1}" for p in range(self.tables))
        return Prepared(self, None, "", {"design": units}, pack("systems", means=means))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the tables of a block, rank the systems of each by every contender, measure."""
        from scipy.stats import rankdata

        def drawn(p: int) -> _Table:
            rng = np.random.default_rng([task.key.seed, task.key.repetition, JUDGMENTS, p])
            means = prepared.arrays["systems.means"][p]
            shape = task.key.n, self.systems
            law = rng.standard_normal if self.noise == "normal" else rng.standard_exponential
            scores = means + rng.standard_normal((task.key.n, 1)) + law(shape)
            return _Table(scores[None], rankdata(-means))

        def measured(aggregator: ScoreAggregator, table: _Table) -> dict[str, float]:
            found = rank_systems(table.scores, aggregator, k=1, replicates=self.replicates, seed=task.key.seed)
            sign = 1.0 if aggregator.direction == "maximize" else -1.0
            low, high = np.triu_indices(self.systems, 1)
            ahead = np.sign(sign * (found.scores[low] - found.scores[high]))
            should = np.sign(table.ranks[high] - table.ranks[low])
            inside = (found.low <= table.ranks) & (table.ranks <= found.high)
            values = {
                "misordered": float(np.where(ahead * should == 0, 0.5, ahead * should < 0).mean()),
                "covered": float(inside.all()),
                "width": float((found.high - found.low).mean()),
            }
            return {metric: values[metric] for metric in task.metrics}

        if task.key.n < self.few:
            raise SpecError(f"a table of {task.key.n} tasks cannot be resampled; n must be {self.few} or more")
        return each_unit(task, ScoreAggregator, self.tables, drawn, measured)

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the systems of a score table, or ``""``."""
        return "" if isinstance(contender, ScoreAggregator) else "it does not aggregate score tables"

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of a table and of the resamples of its systems' scores."""
        return _NUMBER * self.systems * (task.key.n + self.replicates)

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return the block on one table."""
        small = self.model_copy(update={"tables": 1})
        return small.prepare(None, task.key.seed), task.of_size(self.few)

    def assumptions(self) -> list[str]:
        """Return sentences on the tables."""
        return [
            f"{self.tables} tables of {self.systems} systems with normal means, sd {self.spread:g}.",
            f"A score adds to the mean a normal effect of the task, sd 1, and {self.noise} noise of sd 1.",
        ]


LEVEL = 0.95
"""Level of the published ranges."""


def expected_maximum(n: int) -> float:
    """Return the expectation of the largest of n independent standard normal numbers."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    def integrand(x: float) -> float:
        return n * x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * float(ndtr(x)) ** (n - 1)

    return float(quad(integrand, -10, 10, epsabs=1e-12, limit=200)[0])


def critical_value(n: int) -> float:
    """Return the quantile of the largest of n independent standard normal numbers in absolute value.

    Of dependent ones it is an upper bound of the quantile [S67]_.
    """
    from scipy.special import ndtri

    return float(ndtri((1 + LEVEL ** (1 / n)) / 2))


class BestOfClones(Protocol):
    """The score that is published of the best of n equal variants, and its range.

    A provider tries n equally strong variants of a model against public models. It publishes the variant with the
    highest score, and hides the others. Every two public models, and every variant and public model, have `votes`
    votes by (26); no vote compares two variants. An aggregator scores all of them together. The votes of a repetition
    on fewer variants are a part of its votes on more.

    A published score counts from the mean of the public models. *score-bias*: published less true score. *surplus*:
    this bias less the expected maximum of n independent standard normal numbers, times a variant's standard deviation
    by the law's Fisher information. *missed*: 1 if the published variant's own 95% range does not hold the true score.
    *missed-after-correction*: 1 if a wider range does not hold it. Its half width is the standard error times the 95%
    quantile of the largest of n independent standard normal numbers in absolute value. Such ranges cover all n
    variants at once, and so the published one, however it was chosen.

    Prefer it to see how much the choice of the best of several trials biases scores, and whether ranges still cover.
    """

    name: ClassVar[str] = "best-of-clones"
    source: ClassVar[str] = "[S25]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("score-bias", sentence="Published score minus the true one, in log-odds."),
        Metric("surplus", sentence="Bias beyond the expected maximum of n normal errors, in log-odds."),
        Metric("missed", sentence="Share of published 95% ranges without the true score.", low=0, high=1, jumps=True),
        Metric(
            "missed-after-correction",
            sentence="Share of published ranges without the true score, if they are simultaneous over all variants.",
            low=0,
            high=1,
            jumps=True,
        ),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Populations (laws of judgments that are known exactly)"}
    counts: ClassVar[str] = "variants tried"
    judged_on: ClassVar[str] = "populations"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 1

    public: int = Field(default=5, ge=1, le=100, strict=True, description="Public models.")
    votes: int = Field(default=200, ge=1, le=1_000_000, strict=True, description="Votes on each pair that meets.")
    populations: int = Field(default=100, ge=1, le=10_000, strict=True, description="Number of populations.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Make the true scores: of the public models, and last of the variants."""
        made = make_populations("btl", self.populations, self.public + 1, seed)
        units = tuple(f"population {p + 1}" for p in range(self.populations))
        return Prepared(self, None, "", {"design": units}, pack("populations", scores=made.scores))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the votes of every population, publish the best variant by every contender, measure."""
        scores = prepared.arrays["populations.scores"]

        def drawn(p: int) -> tuple[NDArray[np.float64], PairCounts]:
            entropy = (task.key.seed, task.key.repetition, JUDGMENTS, p)
            return scores[p], self._draw(scores[p], task.key.n, np.random.default_rng(entropy))

        return each_unit(task, Aggregator, self.populations, drawn, partial(self._measures, task))

    def _draw(self, truth: NDArray[np.float64], n: int, random: np.random.Generator) -> PairCounts:
        """Return the votes on the public models and n variants, which come after these."""
        from scipy.special import expit

        m = self.public + n
        theta = np.append(truth, np.full(n - 1, truth[-1]))
        # Row by row: first the public models, then one variant after the other.
        later, sooner = np.tril_indices(m, -1, self.public)
        won = random.binomial(self.votes, expit(theta[later] - theta[sooner])).astype(np.float64)
        order = np.lexsort((later, sooner))
        pairs = np.column_stack([sooner[order], later[order]]).astype(np.int32)
        cells = np.stack([self.votes - won, won, np.zeros(len(won))], axis=1)[order]
        return PairCounts.from_cells([str(i) for i in range(m)], pairs, cells, self.votes * len(won), weighted=False)

    def _measures(
        self, task: BlockTask, aggregator: Aggregator, drawn: tuple[NDArray[np.float64], PairCounts]
    ) -> dict[str, float]:
        """Return a contender's metrics on one population."""
        from scipy.special import expit

        truth, judged = drawn
        counts = judged if is_ours(aggregator) else disposable_judgments(judged)
        scores = call_aggregator(aggregator, counts, counts.m)
        covariance = covariance_of(aggregator, counts, scores, None)
        published = np.append(np.full(self.public, -1 / self.public), np.zeros(task.key.n))
        published[self.public + int(np.argmax(scores[self.public :]))] = 1.0
        bias = float(published @ scores - (truth[-1] - truth[:-1].mean()))
        error = math.sqrt(published @ covariance @ published)
        beats = expit(truth[-1] - truth[:-1])
        deviation = 1 / math.sqrt(self.votes * (beats * (1 - beats)).sum())
        found = {
            "score-bias": bias,
            "surplus": bias - deviation * expected_maximum(task.key.n),
            "missed": float(abs(bias) > critical_value(1) * error),
            "missed-after-correction": float(abs(bias) > critical_value(task.key.n) * error),
        }
        return {metric: found[metric] for metric in task.metrics}

    def misfit(self, contender: Component) -> str:
        """Return an error text for an aggregator that cannot publish a score with a range, or ``""``."""
        if not isinstance(contender, CountAggregator):
            return "it is not an aggregator of counts"
        return "" if isinstance(contender, WithCovariance) else "it has no formula for the covariance of its scores"

    def assumptions(self) -> list[str]:
        """Return sentences on the populations."""
        return [
            f"{self.populations} populations of {self.public} public models and n equal variants with standard normal "
            f"scores; {self.votes:,} Bradley-Terry-Luce votes (26) on each pair, none between variants."
        ]
