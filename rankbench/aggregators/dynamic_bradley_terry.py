"""The dynamic Bradley-Terry aggregator estimates scores that follow a random walk in time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.elo import CompiledRatings
from rankbench.aggregators.likelihood.random_walk_smoother import walking_scores
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.queries import Comparisons
from rankbench.kernels import Kernel

if TYPE_CHECKING:
    from rankbench.interfaces.sequential_aggregator import ScoreHistory, TimedCounts


MEAN, SEEN, COVARIANCE = range(3)
"""Columns of the state: an item's score, whether it was judged yet, and from here on the covariance of all scores."""


class DynamicBradleyTerry(CompiledRatings):
    r"""The Bradley-Terry model with scores that take a Gaussian step from each time to the next.

    .. math:: s_i^{(t)} = s_i^{(t-1)} + N(0, q), \qquad s_i^{(0)} \sim N(0, v), \qquad
       P(i \text{ beats } j \text{ at } t) = \frac{1}{1 + e^{s_j^{(t)} - s_i^{(t)}}}

    It is the model of Whole-History Rating [C08]_ and of [FT94]_, filtered: after each time the posterior of all
    scores is the normal distribution at its mode (Laplace), with the full covariance. An item walks from the first
    time on that it was judged at. All judgments of a time are learned from together; of judgments that are all of one
    time the scores are those of `bradley-terry` with ridge 1 / v. That i beats j is expected with the log-odds
    :math:`(s_i - s_j) / \sqrt{1 + \pi \operatorname{var}(s_i - s_j) / 8}`, the chance over the posterior [M92]_.

    `rankbench aggregate LOG --over time` has the scores of all times by the same model, smoothed: the mode of the
    joint posterior of all scores of all times, with its covariance.

    Where times are not known (`aggregate` and `from_comparisons`) every judgment has a time of its own, and equal
    judgments in a row have one. The scores are those of the last time. A tie is half a win each way.

    References
    ----------
    .. [C08] R. Coulom. Whole-history rating: a Bayesian rating system for players of time-varying strength. CG 2008.
    .. [FT94] L. Fahrmeir, G. Tutz. Dynamic stochastic models for time-dependent ordered paired comparison systems.
       JASA 89, 1994.
    .. [M92] D. J. C. MacKay. The evidence framework applied to classification networks. Neural Computation 4, 1992.
    """

    name: ClassVar[str] = "dynamic-bradley-terry"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[C08]_; [FT94]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})
    most_items: ClassVar[int | None] = 2000

    drift: float = Field(default=0.01, ge=0, le=100, allow_inf_nan=False, description="q, of one time to the next.")
    variance: float = Field(default=1.0, gt=0, le=1e4, allow_inf_nan=False, description="v, of items not judged yet.")

    def start(self, m: int) -> NDArray[np.float64]:
        """Return scores of 0 and the covariance v I, shape (m, m + 2)."""
        self.check_size(m)
        return np.hstack([np.zeros((m, 2)), self.variance * np.eye(m)])

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        return state[:, MEAN]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected log-odds, shape (k,)."""
        covariance = state[:, COVARIANCE:]
        own = covariance.diagonal() + self.drift * state[:, SEEN]
        spread = own[first] + own[second] - 2 * covariance[first, second]
        return np.asarray((state[first, MEAN] - state[second, MEAN]) / np.sqrt(1 + math.pi * spread / 8))

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Learn the votes of a time together, by Newton's method; see `dynamic_bradley_terry_times`."""
        super().learn(state, votes, time)
        if not np.isfinite(state[:, MEAN]).all():
            raise ContenderDiverged("no mode of the posterior was found")

    def history(self, counts: TimedCounts) -> ScoreHistory:
        """Return the mode of the joint posterior of all scores; q is of a unit of time.

        It is not filtered but smoothed: no normal distribution stands for what came before, so that the last
        scores differ a little from those of `learn`.
        """
        self.check_size(counts.m)
        return walking_scores(counts, self.drift, self.variance)

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times; ``params = [drift, variance]``."""
        from rankbench.aggregators.kernels.dynamic_bradley_terry import dynamic_bradley_terry_times

        return Kernel(dynamic_bradley_terry_times, np.array([self.drift, self.variance]))

    def kernel(self) -> Kernel:
        """Return the compiled form of judgments one after the other."""
        from rankbench.aggregators.kernels.dynamic_bradley_terry import dynamic_bradley_terry

        return Kernel(dynamic_bradley_terry, np.array([self.drift, self.variance]))
