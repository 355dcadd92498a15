"""Ratings of openskill, game by game.

References
----------
.. [WL11] R. C. Weng and C.-J. Lin. A Bayesian approximation method for online ranking. JMLR 12, 2011.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench_peers.packages import package
from rankbench_peers.votes import one_by_one

__all__ = ["Openskill"]

MODELS = {
    "bradley-terry": "BradleyTerryFull",
    "plackett-luce": "PlackettLuce",
    "thurstone-mosteller": "ThurstoneMostellerFull",
}

MEAN, DEVIATION = range(2)
"""Columns of the state."""

KAPPA = 1e-4
"""Share of a variance that remains at least, as the package has it."""


class Openskill(rankbench.SequentialAggregator):
    r"""openskill: the online ratings of Weng and Lin, a normal distribution for each item.

    Every vote is a game of two, in the order of the votes, a vote of weight w is w games in a row, and a tie a draw.
    Before a game both variances grow by :math:`\tau^2`. The scores are :math:`\mu`.

    openskill has no games at one time. Where all votes of a time are learned from together (`learn`), variances grow
    once, each game is rated by the ratings before it, and an item's changes of :math:`\mu` and shares of
    its variance are summed, as [WL11]_ sum them over the opponents of one game: with `bradley-terry`, a time in which
    some items met each other once, the better always winning, is openskill's game of them all. The sum of many votes
    of an item overshoots: times are to be short.
    """

    name: ClassVar[str] = "openskill"
    source: ClassVar[str] = "[WL11]_; openskill.models"
    packages: ClassVar[tuple[str, ...]] = ("openskill",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    model: Literal["bradley-terry", "plackett-luce", "thurstone-mosteller"] = Field(
        default="bradley-terry", description="BradleyTerryFull, PlackettLuce or ThurstoneMostellerFull of the package."
    )
    mu: float = Field(default=25.0, allow_inf_nan=False, description="Mean of an unknown item.")
    sigma: float = Field(default=25 / 3, gt=0, allow_inf_nan=False, description="Deviation of an unknown item.")
    beta: float = Field(default=25 / 6, gt=0, allow_inf_nan=False, description="Deviation of an item in one game.")
    tau: float = Field(default=25 / 300, ge=0, allow_inf_nan=False, description="Deviation of changes in a game.")

    def start(self, m: int) -> NDArray[np.float64]:
        """Return the initial mean and deviation of each item, shape (m, 2)."""
        return np.tile([self.mu, self.sigma], (m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, shape (m,)."""
        return state[:, MEAN]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the difference in deviations of one game, shape (k,): what the package's models go by."""
        variance = state[:, DEVIATION] ** 2 + self.tau**2
        spread = np.sqrt(variance[first] + variance[second] + 2 * self.beta**2)
        return np.asarray((state[first, MEAN] - state[second, MEAN]) / spread)

    def learn(self, state: NDArray[np.float64], votes: rankbench.Comparisons, time: int) -> None:
        """Call the model's `rate` for each game of a time, and sum up what it changes.

        Raises
        ------
        ContenderDiverged
            The package's arithmetic overflows, or a rating is not finite.
        InputError
            A weight is no whole number.
        SpecError
            openskill is not installed.
        """
        self._learn(self._model(), state, one_by_one(votes))

    def _model(self) -> Any:
        """Return the package's model, without the growth of variances, which is once for each time."""
        models = package("openskill.models", "openskill")
        return getattr(models, MODELS[self.model])(mu=self.mu, sigma=self.sigma, beta=self.beta, kappa=KAPPA, tau=0.0)

    def _learn(self, model: Any, state: NDArray[np.float64], votes: rankbench.Comparisons) -> None:
        items = np.unique([votes.winners, votes.losers])
        state[items, DEVIATION] = np.sqrt(state[items, DEVIATION] ** 2 + self.tau**2)
        moved, shrunk = np.zeros(len(state)), np.zeros(len(state))
        ties = np.zeros(len(votes), np.bool_) if votes.ties is None else votes.ties
        for winner, loser, tie in zip(votes.winners.tolist(), votes.losers.tolist(), ties.tolist(), strict=True):
            game = [[model.rating(mu=float(state[i, MEAN]), sigma=float(state[i, DEVIATION]))] for i in (winner, loser)]
            try:
                rated = model.rate(game, ranks=[1.0, 1.0] if tie else [1.0, 2.0])
            except (ArithmeticError, ValueError) as error:
                raise ContenderDiverged(f"openskill: {error}") from error
            for i, (after,) in zip((winner, loser), rated, strict=True):
                moved[i] += after.mu - state[i, MEAN]
                shrunk[i] += 1.0 - (after.sigma / state[i, DEVIATION]) ** 2
        state[:, MEAN] += moved
        state[:, DEVIATION] *= np.sqrt(np.maximum(1.0 - shrunk, KAPPA))
        if not np.isfinite(state).all():
            raise ContenderDiverged("openskill: a rating is not finite")

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the means after all votes, shape (m,)."""
        return self.from_comparisons(rankbench.Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return the means after all games, one after the other, shape (m,); see `learn`."""
        model, whole, state = self._model(), one_by_one(comparisons), self.start(m)
        for e in range(len(whole)):
            one, ties = slice(e, e + 1), None if whole.ties is None else whole.ties[e : e + 1]
            game = rankbench.Comparisons(np.array([0, 1]), whole.winners[one], whole.losers[one], np.ones(1), ties)
            self._learn(model, state, game)
        return state[:, MEAN].copy()
