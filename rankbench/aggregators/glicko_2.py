"""Glicko-2 ratings."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.glicko_periods import LEAST_PRECISION, attenuation, new_volatility
from rankbench.aggregators.judgment_runs import run_starts
from rankbench.component import Property
from rankbench.kinds.queries import Comparisons
from rankbench.kinds.sequential_aggregator import SequentialAggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Glicko2"]

POINTS = 400 / math.log(10)
"""Points in one unit of the scores, 173.7178."""

RATING, DEVIATION, VOLATILITY, SEEN = range(4)
"""Columns of the state; the last is the number of the period that an item was last in, -1 before all."""


class Glicko2(SequentialAggregator):
    r"""Glicko-2: ratings that know how uncertain they are, and how much they change.

    Each item has a rating :math:`\mu`, a deviation :math:`\phi` and a volatility :math:`\sigma`. A rating period is a
    time: all judgments in it are by what was known before it, and an item's new values are those of [G12]_ steps 3
    to 7. A period without judgments adds :math:`\sigma^2` to :math:`\phi^2`, up to the deviation of an item of which
    nothing is known. That i beats j is expected with the log-odds
    :math:`g(\sqrt{\phi_i^2 + \phi_j^2}) (\mu_i - \mu_j)`. The scores are :math:`\mu`: 173.7 points each.

    Where times are not known (`aggregate` and `from_comparisons`), every judgment is a period of its own to its two
    items, one after the other, and no time passes for the others; equal judgments in a row are one period.

    A judgment of weight w is w judgments in one period; a tie is half a win each way.
    """

    name: ClassVar[str] = "glicko-2"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[G12]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    volatility: float = Field(
        default=0.06, gt=0, le=10, allow_inf_nan=False, description="sigma of an item of which nothing is known."
    )
    tau: float = Field(default=0.5, gt=0, le=10, allow_inf_nan=False, description="How much volatilities may change.")
    deviation: float = Field(
        default=350.0, gt=0, le=1e5, allow_inf_nan=False, description="Points of an item of which nothing is known."
    )

    def start(self, m: int) -> NDArray[np.float64]:
        """Return rating 0, the initial deviation and volatility, and period -1 of each item, shape (m, 4)."""
        return np.tile([0.0, self.deviation / POINTS, self.volatility, -1.0], (m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return mu, shape (m,)."""
        return state[:, RATING]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected log-odds, shape (k,)."""
        variance = self._variance(state, time)
        g = 1.0 / np.sqrt(1.0 + 3.0 * (variance[first] + variance[second]) / math.pi**2)
        return np.asarray(g * (state[first, RATING] - state[second, RATING]))

    def _variance(self, state: NDArray[np.float64], time: int) -> NDArray[np.float64]:
        """Return phi^2 at the beginning of a period, shape (m,)."""
        idle = np.where(state[:, SEEN] >= 0, time - state[:, SEEN] - 1, 0.0)
        grown = state[:, DEVIATION] ** 2 + idle * state[:, VOLATILITY] ** 2
        return np.asarray(np.minimum(grown, np.maximum(state[:, DEVIATION], self.deviation / POINTS) ** 2))

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Rate a period ([G12]_ steps 3 to 7)."""
        variance, old = self._variance(state, time), state.copy()
        precision, gain = np.zeros(len(state)), np.zeros(len(state))
        ties = np.zeros(len(votes), np.bool_) if votes.ties is None else votes.ties
        rows = zip(votes.winners.tolist(), votes.losers.tolist(), votes.weights.tolist(), ties.tolist(), strict=True)
        for winner, loser, weight, tie in rows:
            for i, j, share in ((winner, loser, 0.5 if tie else 1.0), (loser, winner, 0.5 if tie else 0.0)):
                g = attenuation(variance[j])
                chance = 0.5 + 0.5 * math.tanh(0.5 * g * (old[i, RATING] - old[j, RATING]))
                precision[i] += weight * g * g * chance * (1.0 - chance)
                gain[i] += weight * g * (share - chance)
        for i in np.unique([votes.winners, votes.losers]).tolist():
            v, phi = 1.0 / max(precision[i], LEAST_PRECISION), math.sqrt(variance[i])
            sigma = new_volatility(old[i, VOLATILITY], v * gain[i], phi, v, self.tau)
            after = 1.0 / (1.0 / (variance[i] + sigma * sigma) + precision[i])
            state[i] = old[i, RATING] + after * gain[i], math.sqrt(after), sigma, time

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the ratings after all judgments, one after the other, shape (m,)."""
        state = self.start(m)
        starts = run_starts(winners, losers, np.ones(len(winners), np.int8)).tolist()
        for begin, end in pairwise(starts):
            state[:, SEEN] = -1
            run = slice(begin, end)
            self.learn(state, Comparisons(np.array([0, end - begin]), winners[run], losers[run], weights[run]), 0)
        return state[:, RATING].copy()

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the ratings, shape (m,), by the compiled form; a tie is one judgment."""
        from rankbench.aggregators.kernels import judgment_runs
        from rankbench.aggregators.kernels.glicko_2 import glicko_2_times

        n, state = len(comparisons), self.start(m)
        first, second = np.array(comparisons.winners, np.int32), np.array(comparisons.losers, np.int32)
        outcome = np.ones(n, np.int8) if comparisons.ties is None else 1 - comparisons.ties.astype(np.int8)
        glicko_2_times(
            first,
            second,
            outcome,
            np.array(comparisons.weights, np.float64),
            judgment_runs.run_starts(first, second, outcome),
            state,
            self._params(idle=False),
            np.zeros(2 * m),
            np.zeros(n),
        )
        return state[:, RATING].copy()

    def _params(self, *, idle: bool) -> NDArray[np.float64]:
        return np.array([self.deviation / POINTS, self.volatility, self.tau, float(idle)])

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times."""
        from rankbench.aggregators.kernels.glicko_2 import glicko_2_times
        from rankbench.kernels.signatures import Kernel

        return Kernel(glicko_2_times, self._params(idle=True), lambda m: 2 * m)

    def kernel(self) -> Kernel:
        """Return the compiled form of judgments one after the other."""
        from rankbench.aggregators.kernels.glicko_2 import glicko_2
        from rankbench.kernels.signatures import Kernel

        return Kernel(glicko_2, self._params(idle=False), lambda m: 2 * m)
