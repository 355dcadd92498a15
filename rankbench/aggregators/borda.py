"""The Borda count of a sample of comparisons."""

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

__all__ = ["Borda"]


class Borda(Aggregator):
    r"""Borda count: the share of judgments an item wins less the share it loses.

    .. math:: s = A \mathbf{1}, \quad A_{jl} = \hat P(j \succ l) - \hat P(j \prec l),
       \quad\text{so}\quad s(j) = \frac{1}{W} \sum_l (w_{jl} - w_{lj})

    with W the total weight of the k judgments: :math:`\hat P` is the joint empirical
    distribution over pairs and winners. The scores sum to zero and lie in [-1, 1]; an item
    without judgments scores 0. Items that are compared more often score further from 0;
    see `win-rate` for the score that does not depend on how often.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{2}{m(m-1)} \sum_{l \ne j} (2 p_{jl} - 1)`, which orders the items as their
    relevance does. Multiplying all weights by a constant changes nothing.
    """

    name: ClassVar[str] = "borda"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, Borda count"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the Borda counts, shape (m,)."""
        won, lost = won_and_lost(counts)
        scores: NDArray[np.float64] = (won - lost) / won.sum()
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import borda
        from rankbench.kernels.signatures import Kernel

        return Kernel(borda)
