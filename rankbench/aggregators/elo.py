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

from rankbench.aggregators.base import Aggregator
from rankbench.component import Property

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["Elo"]

POINTS = 400 / math.log(10)
"""Elo points in one unit of the scores: 400 points are a factor 10 of the odds."""


class Elo(Aggregator):
    r"""Elo ratings: after each judgment the winner takes points from the loser.

    .. math:: s_i \leftarrow s_i + \eta w (1 - p), \quad s_j \leftarrow s_j - \eta w (1 - p), \quad
       p = \frac{1}{1 + e^{s_j - s_i}}

    for each judgment "i over j" of weight w in turn,
    starting from 0, with :math:`\eta = K \ln(10) / 400` for the K of chess. The scores are on the
    scale of the labels in (26), that is, 400 / ln(10) = 173.7 Elo points each: rating =
    initial rating + 173.7 s. They sum to zero; an item without judgments scores 0.

    Each update is a step of stochastic gradient descent on the likelihood of `bradley-terry`
    with the constant step :math:`\eta`. So the structure depends on the *order* of the
    judgments: with order ``k=inf`` it is the order of the log, which suits items that change; in
    the samples of a smaller k it is random. A weight multiplies K.

    Notes
    -----
    There is no limit: with a constant step the scores keep fluctuating around
    :math:`r_i - \bar r`, the more the larger K is. Multiplying all weights by a
    constant is the same as multiplying K by it.
    """

    name: ClassVar[str] = "elo"
    source: ClassVar[str] = "[E78]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    factor: float = Field(
        default=32.0, gt=0, allow_inf_nan=False, description="K, the most Elo points that a judgment of weight 1 moves."
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
        for winner, loser, weight in zip(winners, losers, weights, strict=True):
            surprise = 0.5 - 0.5 * math.tanh(0.5 * (scores[winner] - scores[loser]))
            scores[winner] += self.factor / POINTS * weight * surprise
            scores[loser] -= self.factor / POINTS * weight * surprise
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.elo import elo
        from rankbench.kernels import Kernel

        return Kernel(elo, np.array([self.factor / POINTS]))
