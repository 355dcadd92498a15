"""Rate aggregators score items by Borda counts, win rates, net weights, budgeted scores or Kemeny orders.

References
----------
.. [AS11] A. Ammar and D. Shah. Ranking: compare, don't score. 49th Allerton Conference on
   Communication, Control, and Computing, 2011.

References
----------
.. [K59] J. G. Kemeny. Mathematics without numbers. Daedalus 88(4), 1959.
.. [HK62] M. Held and R. M. Karp. A dynamic programming approach to sequencing problems.
   Journal of the Society for Industrial and Applied Mathematics 10(1), 1962.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.log_odds import item_sums
from rankbench.core.component import Property
from rankbench.interfaces.aggregator import MOST_DENSE, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.kernels import Kernel, table_size


class Coin(CountAggregator):
    """A coin: all items have the score 0, whatever was judged.

    Prefer it as the contender that every other one has to beat.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada"], "loser": ["bob", "bob"]}
    >>> rankbench.aggregate(votes, "coin").table.select("item", "score").rows()
    [('ada', 0.0), ('bob', 0.0)]
    """

    name: ClassVar[str] = "coin"
    source: ClassVar[str] = "No method"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "winner-not-first"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return zeros, shape (m,)."""
        return np.zeros(counts.m)


class Borda(CountAggregator):
    r"""Borda count: the share of judgments an item wins less the share it loses.

    .. math:: s = A \mathbf{1}, \quad A_{jl} = \hat P(j \succ l) - \hat P(j \prec l),
       \quad\text{so}\quad s(j) = \frac{1}{W} \sum_l (w_{jl} - w_{lj})

    with W the total weight of the k judgments: :math:`\hat P` is the joint empirical
    distribution over pairs and winners. The scores sum to zero and lie in [-1, 1]; an item
    without judgments scores 0. Items that are compared more often score further from 0;
    see `win-rate` for the score that does not depend on how often.

    Prefer it where pairs are compared equally often and cost matters.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{2}{m(m-1)} \sum_{l \ne j} (2 p_{jl} - 1)`, which orders the items as their
    relevance does. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "borda").table.select("item", "score").rows()
    [('ada', 0.4), ('bob', 0.0), ('cy', -0.4)]
    """

    name: ClassVar[str] = "borda"
    unit: ClassVar[str] = "share of judgments won less lost"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, Borda count"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return -1.0, 1.0

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the Borda counts, shape (m,)."""
        won, lost = counts.won_and_lost()
        return np.asarray((won - lost) / won.sum(), np.float64)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import borda

        return Kernel(borda)


class WinRate(CountAggregator):
    r"""Win rate: the share of an item's judgments that it wins, less one half.

    .. math:: s(i) = \frac{\sum_j w_{ij}}{\sum_j (w_{ij} + w_{ji})} - \frac12

    An item without judgments scores 0, as one that wins half of its judgments does: that is
    what the half is taken off for. The scores lie in [-1/2, 1/2] and do *not* sum to zero in
    general.

    Prefer it where readers must understand the score, and to `borda` where some items are compared much more often
    than others.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{1}{m-1} \sum_{j \ne i} p_{ij} - \frac12`, the chance against an opponent
    chosen uniformly (Ammar and Shah's budgeted score), which orders the items as their
    relevance does. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "win-rate").table.select("item", "score").rows()
    [('ada', 0.25), ('bob', 0.0), ('cy', -0.5)]
    """

    name: ClassVar[str] = "win-rate"
    unit: ClassVar[str] = "share of wins less one half"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, budgeted aggregation"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return -0.5, 0.5

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the win rates less one half, shape (m,)."""
        won, lost = counts.won_and_lost()
        played = won + lost
        rate = np.full(counts.m, 0.5)
        np.divide(won, played, out=rate, where=played > 0)
        return rate - 0.5

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is one number an item."""
        from rankbench.aggregators.kernels.rates import win_rate

        return Kernel(win_rate, work=lambda m: m)


class NetWeights(CountAggregator):
    r"""Net weight of an item: what leaves it less what enters it in the average graph.

    .. math:: s(j) = \sum_l (Y_{jl} - Y_{lj}), \quad Y = \frac1k \sum_{i=1}^k Y_i,
       \quad\text{so}\quad s(j) = \frac1k \sum_l (w_{jl} - w_{lj})

    It is `borda` where all judgments weigh 1. Elsewhere Borda divides by the total weight;
    here judgments of twice the weight count twice, in whatever sample they are, as they do
    in the losses of [DMJ10]_ (14), whose structure this is. The average graph and its
    difference graph have the same net weights.

    Prefer it to `borda` where a judgment of twice the weight shall count twice, as for the surrogates `linear` and
    `linear-power`.

    Notes
    -----
    Limit under BTL (26), unit weights and uniform pairs, k to infinity: that of `borda`.
    Multiplying all weights by a constant multiplies the scores by it.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "net-weights").table.select("item", "score").rows()
    [('ada', 0.4), ('bob', 0.0), ('cy', -0.4)]
    """

    name: ClassVar[str] = "net-weights"
    unit: ClassVar[str] = "wins less losses, a judgment"
    source: ClassVar[str] = "[DMJ10]_ eq. (15)"
    properties: ClassVar[frozenset[Property]] = frozenset({"additive", "equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the net weights, shape (m,)."""
        won, lost = counts.won_and_lost()
        return (won - lost) / counts.judgments

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.rates import net_weights

        return Kernel(net_weights)


class Budgeted(CountAggregator):
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

    Prefer it to `win-rate` where items met their opponents unequally often, and each pair has many votes.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity:
    :math:`\frac{1}{m-1} \sum_{l \ne j} p_{jl} - \frac12`, whatever the frequencies of the
    pairs, as long as each is positive. Where all pairs are compared equally often,
    `borda` is 4 / m times this. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "budgeted").table.select("item", "score").rows()
    [('ada', 0.3333...), ('bob', 0.1666...), ('cy', -0.5)]
    """

    name: ClassVar[str] = "budgeted"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, budgeted aggregation; [AS11]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return -0.5, 0.5

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the chances less one half, shape (m,)."""
        forward, backward = counts.wins()
        return item_sums(counts, forward / (forward + backward) - 0.5) / (counts.m - 1)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m weights."""
        from rankbench.aggregators.kernels.rates import budgeted

        return Kernel(budgeted, work=table_size)


class Kemeny(CountAggregator):
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

    Prefer it where only an order is needed that contradicts the fewest votes. Its positions jump with the votes,
    so rankings by it have no intervals.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the centered ranks of the relevance
    labels, if these are distinct; items of equal relevance stay in random order. Multiplying all
    weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "kemeny").table.select("item", "score").rows()
    [('ada', 1.0), ('bob', 0.0), ('cy', -1.0)]
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
        from rankbench.kernels.best_order import LEVEL, TIED, kemeny

        return Kernel(kemeny, np.array([float(self.exact), float(self.ties == "first"), LEVEL, TIED]))
