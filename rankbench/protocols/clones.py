"""The protocol `best-of-clones` publishes the best of n equal variants, and asks how far its score is off.

References
----------
.. [S25] S. Singh et al. The leaderboard illusion. NeurIPS 2025.
.. [S67] Z. Sidak. Rectangular confidence regions for the means of multivariate normal distributions. Journal of the
   American Statistical Association 62(318), 1967.
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import JUDGMENTS
from rankbench.data.simulators.btl import make_populations
from rankbench.interfaces.aggregator import Aggregator, CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.plugin.third_party import disposable_judgments, is_ours
from rankbench.protocols.judging import each_unit

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
