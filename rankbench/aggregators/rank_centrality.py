"""Rank Centrality: the stationary distribution of a walk from losers to winners.

References
----------
.. [NOS17] S. Negahban, S. Oh and D. Shah. Rank centrality: ranking from pairwise
   comparisons. Operations Research 65(1), 2017.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.priorities import Scale, on_scale
from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["RankCentrality"]

_LEAST = 1e-300


class RankCentrality(Aggregator):
    r"""Stationary distribution of the random walk that moves to i at the rate i beats you.

    .. math:: s_i \sum_j P_{ij} = \sum_j s_j P_{ji}, \quad
       P_{ij} = \frac{w_{ji} + c}{w_{ij} + w_{ji} + 2 c} \text{ for observed pairs}, \text{ else } 0

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. The division by
    the largest degree in [NOS17]_ makes the rates probabilities and does not change s.

    The smoothing c makes every observed pair a road in both directions, so that the
    distribution exists, is positive, and is unique on each connected component: with c = 0 an
    item that never won would get 0 and one that never lost all the rest. Like those of
    `thurstone-mosteller` the scores of different components are on no common scale: each
    component has mean 1 (``scale=ratio``), or logarithms that sum to zero (``scale=log``). An
    item without judgments is its own component and scores 1, on the log scale 0. Reversing
    every judgment does not invert the scores in general, only in the limit.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: proportional to :math:`e^{r_i}`,
    because the walk is reversible; on the log scale :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant makes the
    smoothing count for less.
    """

    name: ClassVar[str] = "rank-centrality"
    source: ClassVar[str] = "[NOS17]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    smoothing: float = Field(
        default=0.5, gt=0, allow_inf_nan=False, description="Added to both sides of observed pairs, c."
    )
    scale: Scale = Field(default="ratio", description="Positive scores with mean 1, or their logarithms.")

    def score_unit(self) -> str:
        """Return what the scores are in, with this scale."""
        return "logarithms of strength" if self.scale == "log" else "strength, 1 on average"

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by dense state reduction; see the kernel for the method."""
        from scipy.sparse.csgraph import connected_components

        m, low, high = counts.m, counts.low, counts.high
        forward, backward = counts.wins()
        self.check_size(m)
        rates = np.zeros((m, m))
        both = forward + backward + 2 * self.smoothing
        rates[low, high], rates[high, low] = (backward + self.smoothing) / both, (forward + self.smoothing) / both
        _, component = connected_components(rates, directed=False)
        for n in range(m - 1, 0, -1):
            leaving = rates[n, :n].sum()
            if leaving > 0:
                detour = np.outer(rates[:n, n] / leaving, rates[n, :n])
                road = (rates[:n, n] > 0)[:, None] & (rates[n, :n] > 0)[None, :]
                rates[:n, :n] += np.where(road, np.maximum(detour, _LEAST), 0.0)
                np.fill_diagonal(rates, 0.0)
        logs = np.zeros(m)
        for n in range(1, m):
            back = np.flatnonzero(rates[n, :n])
            if len(back):
                arriving = np.logaddexp.reduce(logs[back] + np.log(rates[back, n]))
                logs[n] = arriving - np.log(rates[n, back].sum())
        return on_scale(logs, self.scale, component)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m rates."""
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.aggregators.kernels.rank_centrality import rank_centrality
        from rankbench.kernels.signatures import Kernel

        return Kernel(rank_centrality, np.array([self.smoothing, float(self.scale == "log")]), table_size)
