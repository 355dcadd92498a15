"""Graph aggregators turn judgments into weighted preference graphs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property, StructureKind
from rankbench.interfaces.aggregator import MOST_DENSE, ComparisonAggregator
from rankbench.interfaces.queries import Comparisons
from rankbench.kernels import Kernel, table_size


class AverageAdjacency(ComparisonAggregator):
    r"""Average adjacency matrix: each preference with its weight, divided by k.

    .. math:: s(Y_1, \ldots, Y_k) = \frac1k \sum_{i=1}^k Y_i, \quad s_{ij} = w_{ij} / k

    where a comparison is the matrix with its weight in entry [winner, loser]. As a list of
    edges, each directed edge is there once.

    Prefer it as the graph for pairwise surrogates where the whole evidence of both directions shall be kept.

    Notes
    -----
    Limit, k to infinity: the mean matrix :math:`E[Y]`; under BTL (26) with unit weights
    and uniform pairs :math:`s_{ij} \to 2 p_{ij} / (m(m-1))`. Multiplying all weights by a
    constant multiplies the matrix by it.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> graph = rankbench.get(rankbench.Aggregator, "average-adjacency")
    >>> winners, losers, weights = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2]), np.ones(4)
    >>> graph.aggregate(winners, losers, weights, 3)
    array([[0.  , 0.5 , 0.  ],
           [0.25, 0.  , 0.25],
           [0.  , 0.  , 0.  ]])
    """

    name: ClassVar[str] = "average-adjacency"
    source: ClassVar[str] = "[DMJ13]_ section 5.3"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the average adjacency matrix, shape (m, m)."""
        adjacency = np.zeros((m, m))
        np.add.at(adjacency, (winners, losers), weights)
        return adjacency / len(winners)

    def kernel(self) -> Kernel:
        """Return the compiled form (`EDGES`); its scratch memory is a table of m x m places."""
        from rankbench.aggregators.kernels.pair_graphs import average_adjacency

        return Kernel(average_adjacency, work=table_size)


class DifferenceGraph(ComparisonAggregator):
    r"""Difference graph: on each pair, by how much the preferred item's average weight leads.

    .. math:: s_{ij} = \frac1k [w_{ij} - w_{ji}]_+

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j: the positive
    part of the average adjacency matrix less its transpose. A pairwise surrogate

    .. math:: \sum_{ij} s_{ij} \phi(\alpha_i - \alpha_j)

    on this structure is (23), which is consistent for pairwise disagreement (10) wherever the
    limit has no cycle; on `average-adjacency` or `identity` it is (12), which is not.

    A pair appears in one direction at most, and not at all if its judgments cancel: the
    graph may have no edge at all.

    Prefer it as the graph for pairwise surrogates: with it they are consistent wherever preferences have no cycle
    on average.

    Notes
    -----
    Limit, k to infinity: the difference graph of the mean matrix E[Y] (section 3.2.2);
    under BTL (26) with unit weights and uniform pairs
    :math:`s_{ij} \to 2 [2 p_{ij} - 1]_+ / (m(m-1))`, which has no cycle. The structure is not
    additive: averaging single judgments is `average-adjacency`. Multiplying all
    weights by a constant multiplies the matrix by it.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> graph = rankbench.get(rankbench.Aggregator, "difference-graph")
    >>> winners, losers, weights = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2]), np.ones(4)
    >>> graph.aggregate(winners, losers, weights, 3)
    array([[0.  , 0.25, 0.  ],
           [0.  , 0.  , 0.25],
           [0.  , 0.  , 0.  ]])
    """

    name: ClassVar[str] = "difference-graph"
    source: ClassVar[str] = "[DMJ13]_ sections 3.2.2 and 5.3, eq. (23)"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the adjacency matrix of the difference graph, shape (m, m)."""
        total = np.zeros((m, m))
        np.add.at(total, (winners, losers), weights)
        return np.maximum(total - total.T, 0.0) / len(winners)

    def kernel(self) -> Kernel:
        """Return the compiled form (`EDGES`); its scratch memory is a table of m x m weights."""
        from rankbench.aggregators.kernels.pair_graphs import difference_graph

        return Kernel(difference_graph, work=table_size)


class Identity(ComparisonAggregator):
    r"""No aggregation: the adjacency matrix of the first judgment, whatever k is.

    .. math:: s(Y_1, \ldots, Y_k) = Y_1

    A single comparison is one edge from winner to loser with the judgment's weight. The
    method `erm` takes it with order k = 1 alone: a larger sample would say no more, and which
    of its judgments comes first is chance.

    Prefer it to show what surrogates do without aggregation.

    Notes
    -----
    There is no limit: the structure stays random however large k is, which is what
    sections 3.2.1 and 3.2.2 show many surrogates to be inconsistent with. Multiplying all
    weights by a constant multiplies the matrix by it.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> graph = rankbench.get(rankbench.Aggregator, "identity")
    >>> winners, losers, weights = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2]), np.ones(4)
    >>> graph.aggregate(winners, losers, weights, 3)
    array([[0., 1., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """

    name: ClassVar[str] = "identity"
    source: ClassVar[str] = "[DMJ13]_ section 3.2"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant", "sequential"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the first judgment's adjacency matrix, shape (m, m)."""
        return self.from_comparisons(Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the first judgment's adjacency matrix; a tie is half an edge each way."""
        tied = comparisons.ties is not None and bool(comparisons.ties[0])
        winner, loser, weight = comparisons.winners[0], comparisons.losers[0], comparisons.weights[0]
        adjacency = np.zeros((m, m))
        adjacency[winner, loser] = weight / 2 if tied else weight
        if tied:
            adjacency[loser, winner] = weight / 2
        return adjacency

    def kernel(self) -> Kernel:
        """Return the compiled form (`EDGES`)."""
        from rankbench.aggregators.kernels.pair_graphs import identity

        return Kernel(identity)
