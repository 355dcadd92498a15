"""The share of its own comparisons that an item wins."""

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

__all__ = ["WinRate"]


class WinRate(Aggregator):
    r"""Win rate: the share of an item's judgments that it wins, less one half.

    .. math:: s(i) = \frac{\sum_j w_{ij}}{\sum_j (w_{ij} + w_{ji})} - \frac12

    An item without judgments scores 0, as one that wins half of its judgments does: that is
    what the half is taken off for. The scores lie in [-1/2, 1/2] and do *not* sum to zero in
    general.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{1}{m-1} \sum_{j \ne i} p_{ij} - \frac12`, the chance against an opponent
    chosen uniformly (Ammar and Shah's budgeted score), which orders the items as their
    relevance does. Multiplying all weights by a constant changes nothing.
    """

    name: ClassVar[str] = "win-rate"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, budgeted aggregation"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the win rates less one half, shape (m,)."""
        won, lost = won_and_lost(counts)
        played = won + lost
        rate = np.full(counts.m, 0.5)
        np.divide(won, played, out=rate, where=played > 0)
        return rate - 0.5

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is one number an item."""
        from rankbench.aggregators.kernels.rates import played_size, win_rate
        from rankbench.kernels.signatures import Kernel

        return Kernel(win_rate, work=played_size)
