"""Scores from shares of won and lost comparisons: Borda, win rate, net weights, the budgeted chance of winning.

References
----------
.. [AS11] A. Ammar and D. Shah. Ranking: compare, don't score. 49th Allerton Conference on
   Communication, Control, and Computing, 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.pair_sums import item_sums
from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["Borda", "Budgeted", "NetWeights", "WinRate"]


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
    unit: ClassVar[str] = "share of judgments won less lost"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, Borda count"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the Borda counts, shape (m,)."""
        won, lost = counts.won_and_lost()
        scores: NDArray[np.float64] = (won - lost) / won.sum()
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import borda
        from rankbench.kernels.signatures import Kernel

        return Kernel(borda)


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
    unit: ClassVar[str] = "share of wins less one half"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, budgeted aggregation"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the win rates less one half, shape (m,)."""
        won, lost = counts.won_and_lost()
        played = won + lost
        rate = np.full(counts.m, 0.5)
        np.divide(won, played, out=rate, where=played > 0)
        return rate - 0.5

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is one number an item."""
        from rankbench.aggregators.kernels.rates import played_size, win_rate
        from rankbench.kernels.signatures import Kernel

        return Kernel(win_rate, work=played_size)


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
    unit: ClassVar[str] = "wins less losses, a judgment"
    source: ClassVar[str] = "[DMJ10]_ eq. (15)"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the net weights, shape (m,)."""
        won, lost = counts.won_and_lost()
        scores: NDArray[np.float64] = (won - lost) / counts.judgments
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import net_weights
        from rankbench.kernels.signatures import Kernel

        return Kernel(net_weights)


class Budgeted(Aggregator):
    r"""Budgeted score: the chance to win against a uniformly chosen opponent, less one half.

    .. math:: s(j) = \frac{1}{m-1} \sum_{l \ne j} \hat P(j \succ l) - \frac12, \quad
       \hat P(j \succ l) = \frac{w_{jl}}{w_{jl} + w_{lj}}

    with :math:`w_{jl}` the total weight of the judgments that prefer j to l, and
    :math:`\hat P = 1/2` for pairs that were not observed. The scores sum to zero and lie in
    [-1/2, 1/2]; an item without judgments scores 0.

    Section 5.1 also uses :math:`\hat P` for the joint distribution of pair and winner. Here it
    is conditional on the pair, because only then is the sum what the section says it is: the
    probability to win against an opponent chosen uniformly (jointly, an item that is
    compared twice as often scores twice as high), and equivalent to the Borda count
    of :math:`A_{jl} = \hat P(j \succ l) - \hat P(j \prec l)`:

    .. math:: s = \frac{1}{2(m-1)} A \mathbf{1}

    which needs :math:`\hat P(j \succ l) + \hat P(j \prec l) = 1`. `win-rate` averages over an
    item's judgments, this over its opponents: whom it met how often does not matter, at the
    price that a pair seen once counts as much as one seen a hundred times.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{1}{m-1} \sum_{l \ne j} p_{jl} - \frac12`, whatever the frequencies of the
    pairs, as long as each is positive. Where all pairs are compared equally often,
    `borda` is 4 / m times this. Multiplying all weights by a constant changes nothing.
    """

    name: ClassVar[str] = "budgeted"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, budgeted aggregation; [AS11]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the chances less one half, shape (m,)."""
        forward, backward = counts.wins()
        return item_sums(counts, forward / (forward + backward) - 0.5) / (counts.m - 1)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m weights."""
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.aggregators.kernels.rates import budgeted
        from rankbench.kernels.signatures import Kernel

        return Kernel(budgeted, work=table_size)
