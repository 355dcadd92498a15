r"""Rules that elect items: maximal lotteries by the leads of all pairs, plurality and instant runoff by first places.

The rules of ballots read the share of first places that each item has,

.. math:: f(i) = \frac{1}{\sum_b w_b} \sum_{b : i \in F_b} \frac{w_b}{|F_b|}

with :math:`F_b` the items on the first place of ballot b, cast by w_b voters: items that are tied there share the
voters. A ballot of one item counts as any other.

References
----------
.. [B16] F. Brandl, F. Brandt and H. G. Seedig. Consistent probabilistic social choice. Econometrica 84(5), 2016.
.. [F84] P. C. Fishburn. Probabilistic social choice based on simple voting comparisons. Review of Economic
   Studies 51(4), 1984.
.. [LH74] C. L. Lawson and R. J. Hanson. Solving least squares problems. Prentice-Hall, 1974.
.. [T06] N. Tideman. Collective decisions and voting: the potential for public choice. Ashgate, 2006.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.social_choice import MajorityRule, level_sums, smith_set
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import OrderAggregator
from rankbench.interfaces.queries import Orders


class BallotRule(OrderAggregator):
    """A rule of all items of a query, whether or not ballots compare them; its winners have the highest score."""

    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    @abstractmethod
    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the scores, shape (m,); equal ones are equal numbers."""

    def winners(self, orders: Orders, m: int) -> NDArray[np.bool_]:
        """Return whether the rule elects each item, shape (m,); tied items are all elected."""
        scores = self.from_orders(orders, m)
        return np.asarray(scores == scores.max())


def _first_places(orders: Orders, m: int) -> NDArray[np.float64]:
    """Return each item's share of the first places of all voters, shape (m,)."""
    ballot = np.repeat(np.arange(len(orders)), np.diff(orders.starts))
    new = np.diff(ballot, prepend=-1) != 0
    top = orders.places == orders.places[new][np.cumsum(new) - 1]
    ballot = ballot[top]
    tied = np.bincount(ballot, minlength=len(orders))[ballot]
    found = np.bincount(orders.items[top], orders.weights[ballot] / tied, m).astype(np.float64)
    return level_sums(found / orders.weights.sum(), 1.0)


def _without(orders: Orders, items: NDArray[np.bool_]) -> Orders:
    """Return ballots from which items, a mask of shape (m,), are struck; some may be left empty."""
    kept = ~items[orders.items]
    starts = np.append(0, np.cumsum(kept))[orders.starts]
    return replace(orders, starts=starts, items=orders.items[kept], places=orders.places[kept])


class Plurality(BallotRule):
    r"""Plurality: the share of voters who put an item first.

    .. math:: s(i) = \frac{1}{\sum_b w_b} \sum_{b : i \in F_b} \frac{w_b}{|F_b|}

    with :math:`F_b` the items on the first place of ballot b, cast by w_b voters. The scores are in [0, 1]
    and sum to 1.

    Prefer it where ballots say one choice alone. Items that are alike take each other's votes.

    Notes
    -----
    Limit under complete Plackett-Luce ballots of relevance r, many voters: :math:`e^{r_i} / \sum_j e^{r_j}`.
    Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> ballots = {"ranking": [["ada", "cy", "bob"], ["bob", "cy", "ada"], ["cy", "bob", "ada"]], "count": [4, 3, 2]}
    >>> rankbench.aggregate(ballots, "plurality").table.select("item", "score").rows()
    [('ada', 0.4444...), ('bob', 0.3333...), ('cy', 0.2222...)]
    """

    name: ClassVar[str] = "plurality"
    unit: ClassVar[str] = "share of first places"
    source: ClassVar[str] = "[T06]_"

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return 0.0, 1.0

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the shares of first places, shape (m,)."""
        return _first_places(orders, m)


class InstantRunoff(BallotRule):
    """Instant runoff (IRV): the number of rounds that an item survives.

    In each round the items with the smallest share of first places are eliminated, and struck from all ballots. A
    ballot none of whose items are left counts no more. The rounds end when all items that are left have equal shares:
    these are the winners. A count that stops at a majority has the same winner.

    *Ties.* Items that are last together are eliminated together, so that no order of names decides. Counts that draw
    lots among them may elect others.

    Prefer it to `plurality` where items that are alike must not take each other's votes. More votes for an item may
    make it lose.

    Notes
    -----
    Limit under complete Plackett-Luce ballots of relevance r, many voters: the number of items of lower relevance, if
    relevance labels are distinct. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    The two voters of cy decide between ada and bob:

    >>> import rankbench
    >>> ballots = {"ranking": [["ada", "cy", "bob"], ["bob", "cy", "ada"], ["cy", "bob", "ada"]], "count": [4, 3, 2]}
    >>> rankbench.aggregate(ballots, "instant-runoff").table.select("item", "score").rows()
    [('bob', 2.0), ('ada', 1.0), ('cy', 0.0)]
    """

    name: ClassVar[str] = "instant-runoff"
    unit: ClassVar[str] = "rounds survived"
    source: ClassVar[str] = "[T06]_; items that are last together: own choice"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "irregular"})

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the rounds survived, shape (m,)."""
        left, survived = np.ones(m, dtype=np.bool_), np.zeros(m)
        while True:
            shares = _first_places(orders, m)
            last = left & (shares == shares[left].min())
            if np.array_equal(last, left):
                return survived
            orders = _without(orders, last)
            left &= ~last
            survived[left] += 1.0


CHANCE_DIGITS = 9
"""Decimals of a lottery's chances, so that equal ones are equal."""
LEAST_CHANCE = 1e-8
"""Chances below are errors of the linear program, whose constraints hold to 1e-10."""
SINGULAR = 1e-9
"""Singular values below are 0, of a matrix whose entries are at most 1."""


class MaximalLotteries(MajorityRule):
    r"""Maximal lottery: the chances by which to draw an item so that no other item is expected to lead against it.

    .. math:: p \ge 0, \quad \sum_i p_i = 1, \quad \sum_i p_i (w_{ij} - w_{ji}) \ge 0 \text{ for all } j

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. Such p are the optimal mixed strategies
    of the symmetric zero-sum game of leads [F84]_. There is almost always only one, except where leads are equal or 0
    [B16]_. Of several, rankbench takes the p of the least :math:`\sum_i p_i^2`, the nearest to equal chances. Clones of
    an item share its chance where p is unique. Elsewhere no choice that ignores names does: three level items have a
    third each.

    Prefer it to see which items share the first place of a cycle, and by how much. Most items score 0 and are tied; a
    Condorcet winner scores 1.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: 1 for the item of the highest relevance, if there is one.
    Multiplying all weights by a constant changes nothing.

    Examples
    --------
    An item's chance is the lead between the other two:

    >>> import rankbench
    >>> won = [("ada", "bob", 5), ("bob", "cy", 3), ("cy", "ada", 2)]
    >>> votes = [{"winner": winner, "loser": loser, "count": count} for winner, loser, count in won]
    >>> rankbench.aggregate(votes, "maximal-lotteries").table.select("item", "score").rows()
    [('cy', 0.5), ('ada', 0.3), ('bob', 0.2)]
    """

    name: ClassVar[str] = "maximal-lotteries"
    unit: ClassVar[str] = "chance in a maximal lottery"
    source: ClassVar[str] = "[F84]_; [B16]_"

    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chances, shape (m,), to nine decimals."""
        top = smith_set(lead)
        chances = np.zeros(len(lead))
        within = lead[np.ix_(top, top)]
        chances[top] = _nearest_to_equal(within / (within.max() or 1.0))
        return np.round(chances, CHANCE_DIGITS)

    def elected(self, lead: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the items that the lottery may draw, shape (m,)."""
        return np.asarray(self.from_leads(lead) > 0)


def _nearest_to_equal(lead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the maximal lottery of least sum of squares, shape (n,), of leads of at most 1.

    The essential items are those with a chance in some maximal lottery. All lotteries p solve lead p = 0 among them, so
    that a basis of the solutions leaves a small problem of least distance: p is the residual of non-negative least
    squares on the transposed constraints ([LH74]_ ch. 23, problem LDP). On all constraints at once it may fail.
    """
    from scipy.optimize import nnls

    n = len(lead)
    essential = _essential(lead)
    others = np.setdiff1d(np.arange(n), essential)
    _, sizes, rows = np.linalg.svd(lead[np.ix_(essential, essential)])
    basis = rows[len(essential) - max(1, int((sizes <= SINGULAR).sum())) :].T
    bounds = np.vstack([basis, -lead[np.ix_(others, essential)] @ basis, basis.sum(axis=0)])
    system = np.vstack([bounds.T, np.eye(len(bounds))[-1]])
    multipliers, _ = nnls(system, np.eye(len(system))[-1], maxiter=100 * n)
    chances = np.zeros(n)
    chances[essential] = np.maximum(basis @ (system @ multipliers)[:-1], 0.0)
    chances /= chances.sum()
    return chances


def _essential(lead: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the items with a chance in some maximal lottery: the sum of min(p_i, 1 / n^2) gives each one at once."""
    from scipy.optimize import linprog

    n = len(lead)
    found = linprog(
        np.repeat([-1.0, 0.0], n),
        A_ub=np.hstack([lead, lead]),  # -lead' = lead
        b_ub=np.zeros(n),
        A_eq=np.ones((1, 2 * n)),
        b_eq=[1.0],
        bounds=[(0.0, 1.0 / n**2)] * n + [(0.0, None)] * n,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise ContenderDiverged(f"the linear program of the lottery was not solved: {found.message}")
    return np.flatnonzero(found.x[:n] + found.x[n:] > LEAST_CHANCE)
