"""The dynamic Bradley-Terry aggregator estimates scores that follow a random walk in time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.elo import RatedInRuns
from rankbench.aggregators.likelihood.random_walk_smoother import walking_scores
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.queries import Comparisons
from rankbench.kernels import Kernel

if TYPE_CHECKING:
    from rankbench.interfaces.sequential_aggregator import ScoreHistory, TimedCounts


MEAN, SEEN, COVARIANCE = range(3)
"""Columns of the state: an item's score, whether it was judged yet, and from here on the covariance of all scores."""

FARTHEST = 2.0
"""No step moves a score farther."""

_ROUNDS = 1000
_CLOSE = 1e-12


class DynamicBradleyTerry(RatedInRuns):
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
        """Move to the mode of the posterior, and to its covariance there."""
        covariance, diagonal = state[:, COVARIANCE:], np.arange(len(state))
        covariance[diagonal, diagonal] += self.drift * state[:, SEEN]
        items, place = np.unique([votes.winners, votes.losers], return_inverse=True)
        one, two = place.reshape(2, -1)
        share = np.ones(len(votes)) if votes.ties is None else np.where(votes.ties, 0.5, 1.0)
        among, identity = covariance[np.ix_(items, items)], np.eye(len(items))
        moved, before, most = np.zeros(len(items)), np.zeros(len(items)), FARTHEST
        for _ in range(_ROUNDS):
            scores = state[items, MEAN] + moved
            chance = 0.5 + 0.5 * np.tanh(0.5 * (scores[one] - scores[two]))
            laplacian, gradient = np.zeros_like(among), np.zeros(len(items))
            of_vote = votes.weights * chance * (1 - chance)
            for i, j, sign in ((one, one, 1), (two, two, 1), (one, two, -1), (two, one, -1)):
                np.add.at(laplacian, (i, j), sign * of_vote)
            np.add.at(gradient, one, votes.weights * (share - chance))
            np.add.at(gradient, two, -votes.weights * (share - chance))
            system = identity + among @ laplacian
            step = np.linalg.solve(system, among @ gradient - moved)
            # Steps that go back and forth are across the mode: each is at most half as long as the last.
            most = most / 2 if step @ before < 0 else most
            largest = float(np.abs(step).max())
            step *= min(1.0, most / max(largest, 1e-300))
            moved, before = moved + step, step
            if min(largest, most) <= _CLOSE * max(1.0, float(np.abs(moved).max())):
                break
        else:
            raise ContenderDiverged("no mode of the posterior was found")
        columns = covariance[:, items].copy()
        gained = np.linalg.solve(identity + laplacian @ among, np.column_stack([laplacian, gradient]))
        state[:, MEAN] += columns @ gradient
        covariance -= columns @ gained[:, :-1] @ columns.T
        state[items, SEEN] = 1.0

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
