r"""Ballot rules elect items by the first places of ballots: plurality and instant runoff.

Both read the share of first places that each item has,

.. math:: f(i) = \frac{1}{\sum_b w_b} \sum_{b : i \in F_b} \frac{w_b}{|F_b|}

with :math:`F_b` the items on the first place of ballot b, cast by w_b voters: items that are tied there share the
voters. A ballot of one item counts as any other.

References
----------
.. [T06] N. Tideman. Collective decisions and voting: the potential for public choice. Ashgate, 2006.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.social_choice import level_sums
from rankbench.core.component import Property
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
