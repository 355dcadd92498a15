"""Weighted graphs of a sample of judgments: their average adjacency matrix, and its difference graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property, StructureKind
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["AverageAdjacency", "DifferenceGraph"]


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


class DifferenceGraph(Aggregator):
    r"""Difference graph: on each pair, by how much the preferred item's average weight leads.

    .. math:: s_{ij} = \frac1k [w_{ij} - w_{ji}]_+

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j: the positive
    part of the average adjacency matrix less its transpose. A pairwise surrogate

    .. math:: \sum_{ij} s_{ij} \phi(\alpha_i - \alpha_j)

    on this structure is (23), which is consistent for pairwise disagreement (10) wherever the
    limit has no cycle; on `average-adjacency` or `identity` it is (12), which is not.

    A pair appears in one direction at most, and not at all if its judgments cancel: the
    graph may have no edge at all.

    Notes
    -----
    Limit, k to infinity: the difference graph of the mean matrix E[Y] (section 3.2.2);
    under BTL (26) with unit weights and uniform pairs
    :math:`s_{ij} \to 2 [2 p_{ij} - 1]_+ / (m(m-1))`, which has no cycle. The structure is not
    additive: averaging single judgments is `average-adjacency`. Multiplying all
    weights by a constant multiplies the matrix by it.
    """

    name: ClassVar[str] = "difference-graph"
    source: ClassVar[str] = "[DMJ13]_ sections 3.2.2 and 5.3, eq. (23)"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the adjacency matrix of the difference graph, shape (m, m)."""
        total = np.zeros((m, m))
        np.add.at(total, (winners, losers), weights)
        return np.maximum(total - total.T, 0.0) / len(winners)

    def kernel(self) -> Kernel:
        """Return the compiled form (`EDGES`); its scratch memory is a table of m x m weights."""
        from rankbench.aggregators.kernels.edges import difference_graph
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(difference_graph, work=table_size)
