"""No aggregation: the first judgment alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property, StructureKind
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Comparisons

__all__ = ["Identity"]


class Identity(Aggregator):
    r"""No aggregation: the adjacency matrix of the first judgment, whatever k is.

    .. math:: s(Y_1, \ldots, Y_k) = Y_1

    A single comparison is one edge from winner to loser with the judgment's weight. The
    method `erm` takes it with order k = 1 alone: a larger sample would say no more, and which
    of its judgments comes first is chance.

    Notes
    -----
    There is no limit: the structure stays random however large k is, which is what
    sections 3.2.1 and 3.2.2 show many surrogates to be inconsistent with. Multiplying all
    weights by a constant multiplies the matrix by it.
    """

    name: ClassVar[str] = "identity"
    source: ClassVar[str] = "[DMJ13]_ section 3.2"
    structure: ClassVar[StructureKind] = "edges"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant", "sequential"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the first judgment's adjacency matrix, shape (m, m)."""
        adjacency = np.zeros((m, m))
        adjacency[winners[0], losers[0]] = weights[0]
        return adjacency

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
        from rankbench.aggregators.kernels.edges import identity
        from rankbench.kernels.signatures import Kernel

        return Kernel(identity)
