"""The average of the judgments as weighted adjacency matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property, StructureKind
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["AverageAdjacency"]


class AverageAdjacency(Aggregator):
    r"""Average adjacency matrix: each preference with its weight, divided by k.

    .. math:: s(Y_1, \ldots, Y_k) = \frac1k \sum_{i=1}^k Y_i, \quad s_{ij} = w_{ij} / k

    where a comparison is the matrix with its weight in entry [winner, loser]. As a list of
    edges, each directed edge is there once.

    Notes
    -----
    Limit, k to infinity: the mean matrix :math:`E[Y]`; under BTL (26) with unit weights
    and uniform pairs :math:`s_{ij} \to 2 p_{ij} / (m(m-1))`. Multiplying all weights by a
    constant multiplies the matrix by it.
    """

    name: ClassVar[str] = "average-adjacency"
    source: ClassVar[str] = "[DMJ13]_ section 5.3"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the average adjacency matrix, shape (m, m)."""
        adjacency = np.zeros((m, m))
        np.add.at(adjacency, (winners, losers), weights)
        return adjacency / len(winners)

    def kernel(self) -> Kernel:
        """Return the compiled form (`EDGES`); its scratch memory is a table of m x m places."""
        from rankbench.aggregators.kernels.edges import average_adjacency
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(average_adjacency, work=table_size)
