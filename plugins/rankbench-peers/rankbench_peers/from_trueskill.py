"""Skills of trueskillthroughtime: a random walk for each item, fitted to all games at once.

References
----------
.. [D07] P. Dangauthier, R. Herbrich, T. Minka and T. Graepel. TrueSkill through time. NIPS, 2007.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, SpecError
from rankbench_peers.packages import package
from rankbench_peers.votes import one_by_one

__all__ = ["TrueskillThroughTime"]

MEAN, DEVIATION, SEEN = range(3)
"""Columns of the state; the last is the number of the time that an item was last in, -1 before all."""


class TrueskillThroughTime(rankbench.SequentialAggregator):
    r"""trueskillthroughtime: normal skills that walk at random, by expectation propagation over the whole history.

    An item has performances :math:`N(s, \beta^2)`, and the higher one wins: a probit link, where
    `dynamic-bradley-terry` has a logistic one. Each item's skill is a normal distribution of its own, without
    covariances. All votes are fitted together, each a game of its own, and an item takes a step
    :math:`N(0, \gamma^2)` from each of its games to the next, not from each vote of the log: that is what the package
    does where it is given no times. The scores are the means after an item's last game.

    With times (`learn`) it is the package's forward pass: votes of one time are one batch, converged together, and
    an item takes a step for each time that goes by. Their order shows in what convergence leaves, 1e-6 or so.

    A vote of weight w is w games. Ties need ``p_draw``, which is 0 by default, as in the package.
    """

    name: ClassVar[str] = "trueskill-through-time"
    source: ClassVar[str] = "[D07]_; trueskillthroughtime.History"
    packages: ClassVar[tuple[str, ...]] = ("trueskillthroughtime",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    sigma: float = Field(default=6.0, gt=0, allow_inf_nan=False, description="Deviation of an unknown item.")
    beta: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Deviation of an item in one game.")
    gamma: float = Field(default=0.03, ge=0, allow_inf_nan=False, description="Deviation of a step in time.")
    p_draw: float = Field(default=0.0, ge=0, lt=1, description="Chance of a tie between equals.")
    iterations: int = Field(default=30, ge=1, le=10_000, description="Passes over the history at most.")

    def start(self, m: int) -> NDArray[np.float64]:
        """Return mean 0, the initial deviation, and time -1 of each item, shape (m, 3)."""
        return np.tile([0.0, self.sigma, -1.0], (m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, shape (m,)."""
        return state[:, MEAN]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected difference of performances in its deviations, shape (k,)."""
        variance = self._deviations(state, time) ** 2 + self.beta**2
        return np.asarray((state[first, MEAN] - state[second, MEAN]) / np.sqrt(variance[first] + variance[second]))

    def _deviations(self, state: NDArray[np.float64], time: int) -> NDArray[np.float64]:
        """Return the deviations at a time, before its votes, shape (m,)."""
        elapsed = np.where(state[:, SEEN] >= 0, time - state[:, SEEN], 0.0)
        return np.asarray(np.sqrt(state[:, DEVIATION] ** 2 + elapsed * self.gamma**2))

    def learn(self, state: NDArray[np.float64], votes: rankbench.Comparisons, time: int) -> None:
        """Learn from the votes of one time: a history of one batch, from what is known before it.

        Raises
        ------
        ContenderDiverged
            The package's arithmetic fails, or a skill is not finite.
        InputError
            A weight is no whole number.
        SpecError
            There are ties, and `p_draw` is 0; or trueskillthroughtime is not installed.
        """
        deviations = self._deviations(state, time)
        curves = self._curves(one_by_one(votes), state[:, MEAN], deviations, at_once=True)
        for i, skill in curves.items():
            state[i] = skill.mu, skill.sigma, time

    def _curves(
        self,
        votes: rankbench.Comparisons,
        means: NDArray[np.float64],
        deviations: NDArray[np.float64],
        *,
        at_once: bool,
    ) -> dict[int, Any]:
        """Return the last skill of each item in the votes."""
        peer = package("trueskillthroughtime", "trueskillthroughtime")
        ties = np.zeros(len(votes), np.bool_) if votes.ties is None else votes.ties
        if ties.any() and self.p_draw == 0:
            raise SpecError(f"aggregator {self.name!r} takes ties where their chance is given, as p_draw=0.25")
        pairs = list(zip(votes.winners.tolist(), votes.losers.tolist(), strict=True))
        priors = {
            i: peer.Player(peer.Gaussian(float(means[i]), float(deviations[i])), self.beta, self.gamma)
            for i in np.unique([votes.winners, votes.losers]).tolist()
        }
        try:
            history = peer.History(
                [[[winner], [loser]] for winner, loser in pairs],
                [[0, 0] if tie else [1, 0] for tie in ties.tolist()],
                [0] * len(pairs) if at_once else [],
                priors,
                p_draw=self.p_draw,
            )
            history.convergence(iterations=self.iterations, verbose=False)
            last = {i: curve[-1][1] for i, curve in history.learning_curves().items()}
        except (ArithmeticError, ValueError) as error:
            raise ContenderDiverged(f"trueskillthroughtime: {error}") from error
        if not all(np.isfinite([skill.mu, skill.sigma]).all() for skill in last.values()):
            raise ContenderDiverged("trueskillthroughtime: a skill is not finite")
        return last

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the last means, shape (m,)."""
        return self.from_comparisons(rankbench.Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return the last means of the whole history, in the order of the votes, shape (m,); see `learn`."""
        state = self.start(m)
        curves = self._curves(one_by_one(comparisons), state[:, MEAN], state[:, DEVIATION], at_once=False)
        for i, skill in curves.items():
            state[i, MEAN] = skill.mu
        return state[:, MEAN].copy()
