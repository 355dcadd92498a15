"""The net weights of the average graph: all that a linear loss sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.pair_sums import won_and_lost
from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["NetWeights"]


class NetWeights(Aggregator):
    r"""Net weight of an item: what leaves it less what enters it in the average graph.

    .. math:: s(j) = \sum_l (Y_{jl} - Y_{lj}), \quad Y = \frac1k \sum_{i=1}^k Y_i,
       \quad\text{so}\quad s(j) = \frac1k \sum_l (w_{jl} - w_{lj})

    It is `borda` where all judgments weigh 1. Elsewhere Borda divides by the total weight;
    here judgments of twice the weight count twice, in whatever sample they are, as they do
    in the losses of [DMJ10]_ (14), whose structure this is. The average graph and its
    difference graph have the same net weights.

    Notes
    -----
    Limit under BTL (26), unit weights and uniform pairs, k to infinity: that of `borda`.
    Multiplying all weights by a constant multiplies the scores by it.
    """

    name: ClassVar[str] = "net-weights"
    source: ClassVar[str] = "[DMJ10]_ eq. (15)"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the net weights, shape (m,)."""
        won, lost = won_and_lost(counts)
        scores: NDArray[np.float64] = (won - lost) / counts.judgments
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import net_weights
        from rankbench.kernels.signatures import Kernel

        return Kernel(net_weights)
