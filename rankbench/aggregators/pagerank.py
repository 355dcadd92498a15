"""PageRank on the graph of losses.

References
----------
.. [PBMW99] L. Page, S. Brin, R. Motwani and T. Winograd. The PageRank citation ranking:
   bringing order to the web. Stanford InfoLab, 1999.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["PageRank"]


class PageRank(Aggregator):
    r"""PageRank: each item passes its score on to those who beat it.

    .. math:: s_i = (1 - d) + d \Bigl( \sum_{j : L_j > 0} s_j \frac{w_{ij}}{L_j}
       + \frac1m \sum_{j : L_j = 0} s_j \Bigr), \quad L_j = \sum_i w_{ij}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j: a walker goes from an
    item to one that beat it, in proportion to how often it did, or with probability 1 - d
    anywhere. From an item that never lost it goes anywhere too. The scores are positive, with
    mean 1 (the usual sum to 1: divide by m). Items without judgments all score the same, and
    never more than anybody else.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the PageRank of the matrix
    :math:`p_{ij}`. As d goes to 1 that is proportional to
    :math:`\sum_{j \ne i} e^{r_i} p_{ji}`, which orders the items as their relevance does but is on
    neither scale of `rank-centrality`: a walker leaves an item at the same pace whether it
    lost once or always. Multiplying all weights by a constant changes nothing.
    """

    name: ClassVar[str] = "pagerank"
    source: ClassVar[str] = "[PBMW99]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    damping: float = Field(default=0.85, ge=0, le=0.999, description="Probability to follow a loss, d.")

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), from the linear system."""
        m = counts.m
        self.check_size(m)
        walk = np.zeros((m, m))
        walk[counts.low, counts.high], walk[counts.high, counts.low] = counts.wins()
        lost = walk.sum(axis=0)
        walk = np.where(lost > 0, walk / np.where(lost > 0, lost, 1.0), 1.0 / m)
        scores: NDArray[np.float64] = np.linalg.solve(np.eye(m) - self.damping * walk, np.full(m, 1 - self.damping))
        return scores

    def kernel(self) -> Kernel:
        """Return the compiled form, by power iteration."""
        from rankbench.aggregators.kernels.pagerank import pagerank, parameters, work_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(pagerank, parameters(self.damping), work_size)
