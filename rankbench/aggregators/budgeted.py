"""The chance of winning against an opponent chosen uniformly, pair by pair.

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

__all__ = ["Budgeted"]


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
