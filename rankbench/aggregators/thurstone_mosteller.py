"""Thurstone-Mosteller least squares on the pairs that were observed, [DMJ13]_ eq. (22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pair_sums import item_sums, log_odds
from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["ThurstoneMosteller"]


class ThurstoneMosteller(Aggregator):
    r"""Least-squares scores of the observed pairs' smoothed log-odds.

    .. math:: s = (D_\Omega - \Omega)^\dagger (\Omega \circ A) \mathbf{1}, \quad
       A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j, and
    :math:`\Omega` the mask of the pairs with at least one judgment.

    The observed pairs need not connect the items. By the pseudo-inverse the scores of each
    connected component sum to zero, so the scores of different components are on no common
    scale: their order says nothing. An item without judgments scores 0.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant makes the
    smoothing count for less.
    """

    name: ClassVar[str] = "thurstone-mosteller"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[DMJ13]_ eq. (22)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both counts, c.")

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the least-squares scores, shape (m,), by linear systems in the graph of the observed pairs."""
        from rankbench.aggregators.likelihood.laplacian_system import Laplacian

        odds = log_odds(counts, self.smoothing)
        rhs = item_sums(counts, odds)
        graph = Laplacian(counts.starts, counts.high, 0.0, self.scales(counts))
        return graph.solve(np.ones(len(odds)), graph.balanced(rhs), 1e-14 * float(np.linalg.norm(rhs)))

    def kernel(self) -> Kernel:
        """Return the compiled form, O(k + m) memory: conjugate gradients on the Laplacian."""
        from rankbench.aggregators.kernels.thurstone_mosteller import thurstone_mosteller
        from rankbench.kernels.signatures import Kernel

        return Kernel(thurstone_mosteller, np.array([self.smoothing]))
