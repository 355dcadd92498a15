"""Elo ratings: one pass over the judgments in the order they were made.

References
----------
.. [E78] A. E. Elo. The rating of chessplayers, past and present. Arco, 1978.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.elo_rows import FEW, SLOW, after_wins
from rankbench.component import Property
from rankbench.errors import SpecError
from rankbench.kinds.sequential_aggregator import SequentialAggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Comparisons

__all__ = ["Elo"]

POINTS = 400 / math.log(10)
"""Elo points in one unit of the scores: 400 points are a factor 10 of the odds."""

_RESTLESS = 2.0
"""With a step of so much, ties in a row do not settle: they have to be made one by one."""

_MOST_TIES = 10_000_000
"""So many of these at most: a second."""

MOST_AT_ONCE = 700.0
"""Elo points: K times the judgments of an item at one time, at most."""


class Elo(SequentialAggregator):
    r"""Elo ratings: after each judgment the winner takes points from the loser.

    .. math:: s_i \leftarrow s_i + \eta (S - p), \quad s_j \leftarrow s_j - \eta (S - p), \quad
       p = \frac{1}{1 + e^{s_j - s_i}}

    for each judgment of i and j in turn, S = 1 if i won and 1/2 for a tie, starting from 0,
    with :math:`\eta = K \ln(10) / 400` for the K of chess. The scores are on the
    scale of the labels in (26), that is, 400 / ln(10) = 173.7 Elo points each: rating =
    initial rating + 173.7 s. They sum to zero; an item without judgments scores 0.

    A tie is one update, and says the same whichever of the two is named first. A judgment of
    weight w is w judgments: as many updates, one after the other, as w has whole ones, and one of
    step :math:`\eta (w - \lfloor w \rfloor)`. Many in a row are not made one by one but
    counted, to 1e-11 of the scores' scale, see `rankbench.aggregators.elo_rows`.

    Each update is a step of stochastic gradient descent on the likelihood of `bradley-terry`
    with the constant step :math:`\eta`. So the structure depends on the *order* of the
    judgments: with order ``k=inf`` it is the order in which they were made. The samples of a
    smaller k have no order, so that `erm` takes k = inf or 1 alone, and at k = inf no ties.

    Where all judgments of a time are learned from together (`learn`), each of them is by the ratings before it,
    and an item of n judgments has K at most 700 / n, as in [FIDE24]_ 8.3.3: a sum of more would overshoot.

    Notes
    -----
    There is no limit: with a constant step the scores keep fluctuating around
    :math:`r_i - \bar r`, the more the larger K is.

    References
    ----------
    .. [FIDE24] FIDE Rating Regulations effective from 1 March 2024.
    """

    name: ClassVar[str] = "elo"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[E78]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    factor: float = Field(
        default=32.0, gt=0, allow_inf_nan=False, description="K, the most Elo points that one judgment moves."
    )

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the ratings less the initial one, in units of log-odds, shape (m,)."""
        scores = np.zeros(m)
        for winner, loser, weight in zip(winners.tolist(), losers.tolist(), weights.tolist(), strict=True):
            gain = _gain(float(scores[winner] - scores[loser]), weight, self.factor / POINTS)
            scores[winner] += gain
            scores[loser] -= gain
        return scores

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the ratings, shape (m,), by the compiled form; a tie is one update.

        Raises
        ------
        SpecError
            K is 347 or more, so that ties in a row do not settle, and they weigh more than 10 million.
        """
        from rankbench.aggregators.kernels.elo import elo_with_ties

        eta, n = self.factor / POINTS, len(comparisons)
        ties = np.zeros(n, np.bool_) if comparisons.ties is None else np.ascontiguousarray(comparisons.ties, np.bool_)
        if eta >= _RESTLESS and comparisons.weights[ties].sum() > _MOST_TIES:
            raise SpecError(
                f"elo with K={self.factor:g} makes every update of a tie by itself, w for a weight of w, and here they "
                f"are more than {_MOST_TIES:,}; take a K below {_RESTLESS * POINTS:.0f}, or divide the weights"
            )
        scores = np.zeros(m)
        # Copies: what is mapped into memory is read-only, which the signature does not know.
        elo_with_ties(
            np.array(comparisons.winners, np.int32),
            np.array(comparisons.losers, np.int32),
            np.array(comparisons.weights, np.float64),
            np.array(ties),
            eta,
            scores,
        )
        return scores

    def start(self, m: int) -> NDArray[np.float64]:
        """Return ratings that are all 0, shape (m, 1)."""
        return np.zeros((m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ratings, shape (m,)."""
        return state[:, 0]

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Add to each rating what all judgments of a time say of it, by the ratings before them."""
        m, scores, w = len(state), state[:, 0], votes.weights
        half = np.zeros(len(votes)) if votes.ties is None else 0.5 * votes.ties
        surprises = w * (0.5 - half - 0.5 * np.tanh(0.5 * (scores[votes.winners] - scores[votes.losers])))
        count = np.bincount(votes.winners, w, m) + np.bincount(votes.losers, w, m)
        total = np.bincount(votes.winners, surprises, m) - np.bincount(votes.losers, surprises, m)
        scores += np.minimum(self.factor, MOST_AT_ONCE / np.maximum(count, 1e-300)) / POINTS * total

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times; ``params = [eta, most at once]``."""
        from rankbench.aggregators.kernels.elo import elo_times
        from rankbench.kernels.signatures import Kernel

        return Kernel(elo_times, np.array([self.factor, MOST_AT_ONCE]) / POINTS, lambda m: 2 * m)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.elo import elo
        from rankbench.kernels.signatures import Kernel

        return Kernel(elo, np.array([self.factor / POINTS]))


def _gain(gap: float, weight: float, eta: float) -> float:
    """Return what the winner gains, `gap` above the loser."""
    gained, left = 0.0, math.floor(weight)
    part = weight - left
    while left >= 1:
        move = eta * _surprise(gap)
        if left > FEW and not 2 * move > SLOW:
            move, left = 0.5 * after_wins(gap, left, 2 * eta), 0
        gained += move
        gap += 2 * move
        left -= 1
    return gained + eta * part * _surprise(gap)


def _surprise(gap: float) -> float:
    return 0.5 - 0.5 * math.tanh(0.5 * gap)
