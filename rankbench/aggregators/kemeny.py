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

from rankbench.aggregators.base import MOST_DENSE, Aggregator
from rankbench.component import Property

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["LEVEL", "TIED", "Kemeny"]

LEVEL = 1e-12
"""A pair whose two weights differ by less than this share of the total weight is level."""
TIED = 1e-10
"""Orders whose costs differ by less than this share of the total weight are equally good."""


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
    source: ClassVar[str] = "[K59]_; [DMJ13]_ eq. (10), Proposition 3"
    properties: ClassVar[frozenset[Property]] = frozenset({"irregular"})
    most_items: ClassVar[int | None] = MOST_DENSE

    exact: int = Field(default=14, ge=2, le=16, description="Most connected items that are ordered exactly.")
    ties: Literal["average", "first"] = Field(
        default="average", description="Average position over all optimal orders, or the lexically first of them."
    )

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the centered negative ranks, shape (m,)."""
        from scipy.sparse.csgraph import connected_components

        total = float(weights.sum())
        lead = np.zeros((m, m))
        np.add.at(lead, (winners, losers), weights)
        lead = lead - lead.T
        lead[np.abs(lead) <= LEVEL * total] = 0.0
        count, component = connected_components(lead != 0, directed=False)
        scores = np.zeros(m)
        for c in range(count):
            items = np.flatnonzero(component == c)
            n = len(items)
            solve = self._search if n > self.exact else self._programmed
            positions = solve(lead[np.ix_(items, items)], TIED * total)
            scores[items] = (m + 1) * (0.5 - positions / (n + 1))
        return scores

    def _programmed(self, lead: NDArray[np.float64], tied: float) -> NDArray[np.float64]:
        """Return positions 1..n by dynamic programming, one layer of equally large sets at a time."""
        n = len(lead)
        sets = np.arange(2**n)
        size = sum((sets >> i) & 1 for i in range(n))
        # cost[i, S]: what placing i right after the items of S contradicts.
        cost = np.zeros((n, 2**n))
        for j in range(n):
            cost[:, 2**j : 2 ** (j + 1)] = cost[:, : 2**j] + np.maximum(lead[:, j : j + 1], 0.0)
        steps: list[list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]] = [[] for _ in range(n)]
        for i in range(n):
            without = (sets >> i) & 1 == 0
            for s in range(n):
                before = sets[without & (size == s)]
                steps[s].append((i, before, before | (1 << i)))
        above, below = np.full(2**n, np.inf), np.full(2**n, np.inf)
        above[0] = below[-1] = 0.0
        for layer in steps:
            for i, before, after in layer:
                above[after] = np.minimum(above[after], above[before] + cost[i, before])
        for layer in reversed(steps):
            for i, before, after in layer:
                below[before] = np.minimum(below[before], below[after] + cost[i, before])

        def optimal(i: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
            good: NDArray[np.bool_] = above[before] + cost[i, before] + below[after] <= above[-1] + tied
            return good

        positions = np.zeros(n)
        if self.ties == "first":
            placed = np.zeros(1, dtype=np.int64)
            for s in range(n):
                rest = (i for i in range(n) if not (placed[0] >> i) & 1)
                chosen = next(i for i in rest if optimal(i, placed, placed | (1 << i))[0])
                positions[chosen] = s + 1
                placed = placed | (1 << chosen)
            return positions
        ways, share = np.zeros(2**n), np.zeros(2**n)
        ways[0] = share[-1] = 1.0
        for layer in steps:
            for i, before, after in layer:
                ways[after] += np.where(optimal(i, before, after), ways[before], 0.0)
        for s in reversed(range(n)):
            for i, before, after in steps[s]:
                used = optimal(i, before, after) & (share[after] > 0)
                flow = share[after[used]] * ways[before[used]] / ways[after[used]]
                share[before[used]] += flow
                positions[i] += (s + 1) * flow.sum()
        return positions

    def _search(self, lead: NDArray[np.float64], tied: float) -> NDArray[np.float64]:
        """Return positions 1..n by local search from Borda's order."""
        n = len(lead)
        order = np.argsort(-lead.sum(axis=1), kind="stable")
        moved = True
        while moved:
            moved = False
            for item in range(n):
                place = int(np.flatnonzero(order == item)[0])
                rest = np.delete(order, place)
                costs = np.concatenate([[0.0], np.cumsum(lead[item, rest])])
                best = int(np.argmin(costs))
                if costs[best] < costs[place] - tied:
                    order = np.insert(rest, best, item)
                    moved = True
        positions = np.empty(n)
        positions[order] = np.arange(1, n + 1)
        return positions

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.kemeny import kemeny
        from rankbench.kernels import Kernel

        return Kernel(kemeny, np.array([float(self.exact), float(self.ties == "first"), LEVEL, TIED]))
