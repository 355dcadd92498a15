"""Kemeny's ranking: the order that contradicts the least weight of judgments.

References
----------
.. [K59] J. G. Kemeny. Mathematics without numbers. Daedalus 88(4), 1959.
.. [HK62] M. Held and R. M. Karp. A dynamic programming approach to sequencing problems.
   Journal of the Society for Industrial and Applied Mathematics 10(1), 1962.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["Kemeny"]


class Kemeny(Aggregator):
    r"""Kemeny's ranking: least total weight of the judgments that are contradicted.

    .. math:: \operatorname{argmin}_\sigma \sum_{ij} w_{ij} 1(\sigma(i) > \sigma(j)), \quad
       s(i) = \frac{m + 1}{2} - \sigma(i)

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j, and sigma(i) in
    1, ..., m the position of item i: the scores are negative ranks, centered. It is the minimizer of
    pairwise disagreement (10), the target that Proposition 3 shows to be NP-hard.

    Several orders are often equally good. ``ties=average`` takes for sigma the average
    over *all* optimal orders, which does not depend on how the items are numbered; a cycle of
    three equal preferences gives 0, 0, 0. Sorting such averages need not be optimal itself;
    ``ties=first`` takes one optimal order, the first in lexical order of the item numbers.

    Items are connected if their judgments do not cancel. Connected components (an item
    without judgments is one) are solved separately; optimal orders of the whole are all the ways
    to shuffle optimal orders of the components together, so an item at position r among n has
    the average score (m + 1) (1/2 - r / (n + 1)), in the middle 0. That is used with either
    value of ``ties``; how components are interleaved does not change the cost.

    Components of at most ``exact`` items are solved exactly by dynamic programming over sets of
    items [HK62]_, in time and memory proportional to 2^n n. Larger ones are improved from their
    Borda order by moving one item at a time to its best place until no move helps: never worse
    than Borda's order, but not always optimal, and where costs tie dependent on the numbering
    (which is why the aggregator does not declare itself equivariant; up to ``exact`` items with
    ``ties=average``, it is).

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the centered ranks of the relevance
    labels, if these are distinct; items of equal relevance stay in random order. Multiplying all
    weights by a constant changes nothing.
    """

    name: ClassVar[str] = "kemeny"
    unit: ClassVar[str] = "places above the middle"
    source: ClassVar[str] = "[K59]_; [DMJ13]_ eq. (10), Proposition 3"
    properties: ClassVar[frozenset[Property]] = frozenset({"irregular"})
    most_items: ClassVar[int | None] = MOST_DENSE

    exact: int = Field(default=14, ge=2, le=16, description="Most connected items that are ordered exactly.")
    ties: Literal["average", "first"] = Field(
        default="average", description="Average position over all optimal orders, or the lexically first of them."
    )

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the centered negative ranks, shape (m,)."""
        from rankbench.kernels.best_order import centered_positions

        self.check_size(counts.m)
        said, first = counts.comparisons().without_ties(), self.ties == "first"
        return centered_positions(said.winners, said.losers, said.weights, counts.m, exact=self.exact, first=first)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.kemeny import kemeny
        from rankbench.kernels.best_order import LEVEL, TIED
        from rankbench.kernels.signatures import Kernel

        return Kernel(kemeny, np.array([float(self.exact), float(self.ties == "first"), LEVEL, TIED]))
