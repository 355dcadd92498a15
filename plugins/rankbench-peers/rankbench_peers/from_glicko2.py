"""Ratings of the package glicko2, period by period.

References
----------
.. [G12] M. E. Glickman. Example of the Glicko-2 system. 2012.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench_peers.packages import package
from rankbench_peers.votes import one_by_one, runs

__all__ = ["Glicko2Package"]

POINTS = 173.7178
"""Points in one unit of mu, as the package has it."""

RATING, DEVIATION, VOLATILITY, SEEN = range(4)
"""Columns of the state; the last is the number of the period that an item was last in, -1 before all."""


class Glicko2Package(rankbench.SequentialAggregator):
    """The package glicko2: Glicko-2 with an equation for volatilities that is not the paper's.

    A rating period is a time, as with rankbench's `glicko-2`; where times are not known, every vote is one to its
    two items, and equal votes in a row are one. A vote of weight w is w games of a period, a tie half a win each way.
    The scores are the ratings, in points.

    In glicko2 2.1.0 the square of the *rating* stands in the equation of volatilities ([G12]_ step 5) where the paper
    has that of the deviation: volatilities depend on how far a rating is from 1500. With ``tau`` near 0, where
    volatilities stay, the ratings are those of `glicko-2`. A further difference: an item that stays out grows
    uncertain without end, which `glicko-2` stops at the deviation of an unknown item.
    """

    name: ClassVar[str] = "glicko2"
    source: ClassVar[str] = "[G12]_; glicko2.Player"
    packages: ClassVar[tuple[str, ...]] = ("glicko2",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    rating: float = Field(default=1500.0, allow_inf_nan=False, description="Points that everybody starts with.")
    deviation: float = Field(default=350.0, gt=0, allow_inf_nan=False, description="Points, of an unknown item.")
    volatility: float = Field(default=0.06, gt=0, le=10, allow_inf_nan=False, description="sigma of an unknown item.")
    tau: float = Field(default=0.5, gt=0, le=10, allow_inf_nan=False, description="Limit on changes of volatility.")

    def start(self, m: int) -> NDArray[np.float64]:
        """Return the initial rating, deviation and volatility, and period -1 of each item, shape (m, 4)."""
        return np.tile([self.rating, self.deviation, self.volatility, -1.0], (m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ratings in points, shape (m,)."""
        return state[:, RATING]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected log-odds by both deviations, shape (k,): the package has no prediction of its own."""
        variance = (_deviations(state, time) / POINTS) ** 2
        g = 1.0 / np.sqrt(1.0 + 3.0 * (variance[first] + variance[second]) / math.pi**2)
        return np.asarray(g * (state[first, RATING] - state[second, RATING]) / POINTS)

    def learn(self, state: NDArray[np.float64], votes: rankbench.Comparisons, time: int) -> None:
        """Call `Player.update_player` once for each item of a period.

        Raises
        ------
        ContenderDiverged
            The package's arithmetic overflows, or a rating is not finite.
        InputError
            A weight is no whole number.
        SpecError
            glicko2 is not installed.
        """
        player_of = package("glicko2", "glicko2").Player
        whole, deviations, old = one_by_one(votes), _deviations(state, time), state.copy()
        games: dict[int, tuple[list[float], list[float], list[float]]] = {}
        ties = np.zeros(len(whole), np.bool_) if whole.ties is None else whole.ties
        for winner, loser, tie in zip(whole.winners.tolist(), whole.losers.tolist(), ties.tolist(), strict=True):
            for i, j, outcome in ((winner, loser, 0.5 if tie else 1.0), (loser, winner, 0.5 if tie else 0.0)):
                against, doubts, outcomes = games.setdefault(i, ([], [], []))
                against.append(float(old[j, RATING]))
                doubts.append(float(deviations[j]))
                outcomes.append(outcome)
        for i, played in games.items():
            player = player_of(float(old[i, RATING]), float(deviations[i]), float(old[i, VOLATILITY]))
            player._tau = self.tau
            try:
                player.update_player(*played)
            except (ArithmeticError, ValueError) as error:
                raise ContenderDiverged(f"glicko2: {error}") from error
            state[i] = player.rating, player.rd, player.vol, time
        if not np.isfinite(state).all():
            raise ContenderDiverged("glicko2: a rating is not finite")

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the ratings after all votes, shape (m,)."""
        return self.from_comparisons(rankbench.Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return the ratings after all votes, one after the other, shape (m,); see `learn`."""
        whole, state = one_by_one(comparisons), self.start(m)
        ties = np.zeros(len(whole), np.bool_) if whole.ties is None else whole.ties
        for begin, end in pairwise(runs(whole).tolist()):
            state[:, SEEN] = -1
            run = slice(begin, end)
            offsets = np.array([0, end - begin])
            votes = rankbench.Comparisons(
                offsets, whole.winners[run], whole.losers[run], np.ones(end - begin), ties[run]
            )
            self.learn(state, votes, 0)
        return state[:, RATING].copy()


def _deviations(state: NDArray[np.float64], time: int) -> NDArray[np.float64]:
    """Return deviations after `Player.did_not_compete` for each period that an item stayed out, shape (m,)."""
    idle = np.where(state[:, SEEN] >= 0, time - state[:, SEEN] - 1, 0.0)
    return np.asarray(POINTS * np.sqrt((state[:, DEVIATION] / POINTS) ** 2 + idle * state[:, VOLATILITY] ** 2))
