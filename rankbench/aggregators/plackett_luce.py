"""The aggregator of ballots by the Plackett-Luce model maximizes a penalized likelihood of orders.

References
----------
.. [E77] B. Efron. The efficiency of Cox's likelihood function for censored data. Journal of the
   American Statistical Association 72(359), 1977.
.. [L59] R. D. Luce. Individual choice behavior. Wiley, 1959.
.. [P75] R. L. Plackett. The analysis of permutations. Applied Statistics 24(2), 1975.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.likelihood.bradley_terry import check_ridge
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import OrderAggregator
from rankbench.interfaces.queries import Orders


class PlackettLuce(OrderAggregator):
    r"""Plackett-Luce scores of ballots: maximum likelihood with a ridge penalty.

    .. math:: s = \operatorname{argmin}_{s \in R^m} \sum_b w_b \sum_{r=1}^{l_b - 1}
       \Bigl[\log \sum_{t \ge r} e^{s_{b_t}} - s_{b_r}\Bigr] + \frac{\rho}{2} |s|^2

    where ballot b, cast by w_b voters, ranks the items :math:`b_1, \ldots, b_l`: a voter picks
    the best item, then the best of the rest, and so on, each with probability proportional to
    :math:`e^s`. On ballots of two items it is `bradley-terry`, with the same ridge.

    The penalty makes the minimizer exist and be unique in every case. The scores of each
    connected component sum to zero, and an item that no ballot compares scores 0.

    *Unranked items.* The voter of a ballot chose among the items that it ranks alone.

    *Ties.* Averaging the log-likelihood over all d! orders of d tied items takes sums over
    subsets; this is Efron's approximation [E77]_ of it, convex and as cheap as no tie. While r of
    the d have been picked, they and the others count by the share 1 - r / d in the sum of
    the rest. Behind the last place nobody is left, and the last of its items is not picked: for two
    items tied there, and so for any ballot of two items, it is exactly half a win each way. Ballots
    that tie all their items pull these together.

    *A choice out of a set* says nothing on the order of the rest. With ``last=unordered`` it is the ballot
    ``best>a=b=c``: the items of the last place stand behind the others in an order that the voter did not tell, and
    the likelihood of the ballot is that of the places before it, summed over these orders [L59]_. So are the first few
    places of a longer ballot. A ballot of one place says nothing then, and leaves scores as they are.

    Prefer it to methods of comparisons where ballots rank more than two items: these count a long ballot as many
    independent comparisons.

    Notes
    -----
    Limit under Plackett-Luce ballots of positive worths e^r over connected items, many voters:
    :math:`r_i - \bar r`. Multiplying all weights by a constant is the same as dividing the
    ridge by it.

    Examples
    --------
    >>> import rankbench
    >>> ballots = {"ranking": [["ada", "bob", "cy"], ["bob", "ada"], ["ada", "cy", "bob"]]}
    >>> rankbench.aggregate(ballots, "plackett-luce").table.select("item", "score").rows()
    [('ada', 0.4159...), ('bob', -0.0840...), ('cy', -0.3319...)]

    Of three items, ada is chosen twice and bob once, and then bob of the two others:

    >>> choices = {"ranking": ["ada>bob=cy", "bob>ada=cy", "bob>cy"], "count": [2, 1, 1]}
    >>> rankbench.aggregate(choices, "plackett-luce:last=unordered").table.select("item", "score").rows()
    [('ada', 0.5159...), ('bob', 0.2015...), ('cy', -0.7174...)]
    """

    name: ClassVar[str] = "plackett-luce"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[P75]_, [L59]_; ties: [E77]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    ridge: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2.")
    last: Literal["tied", "unordered"] = Field(
        default="tied", description="Items on a ballot's last place: equals, or in an order that is not told."
    )

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the scores, shape (m,); see the kernel's module for the method.

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        ContenderDiverged
            Rounding keeps the scores from the maximum: the ridge is too small beside the weights.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components as components

        from rankbench.aggregators.kernels.plackett_luce import plackett_luce

        if not (np.diff(orders.starts) > 1).any():
            raise InputError("the ballots say nothing: none of them ranks two items; leave such queries out")
        scores = np.zeros(m)
        # Copies: tables and shared memory are read-only, which the kernel's signature is not.
        starts, weights = np.array(orders.starts, np.int64), np.array(orders.weights, np.float64)
        items, places = np.array(orders.items, np.int32), np.array(orders.places, np.int32)
        # An item is connected with the first one of its ballot.
        first = np.repeat(items[np.minimum(starts[:-1], len(items) - 1)], np.diff(starts))
        graph = coo_array((np.ones(len(first), np.int8), (first, items)), shape=(m, m))
        scale = components(graph, directed=False)[1].astype(np.int32)
        ballots = starts, items, places, weights, int(self.last == "tied")
        if not plackett_luce(ballots, self.ridge, scale, np.bincount(scale).astype(np.float64), scores):
            raise ContenderDiverged(
                f"Plackett-Luce: rounding keeps the scores from the maximum; a ridge of {self.ridge:g} is small beside "
                "the weights: take a larger one"
            )
        judged = np.bincount(orders.items, np.repeat(orders.weights, np.diff(orders.starts)))
        check_ridge(self.ridge, scores, float(judged.max()), lambda: self._strong(orders, m) > scale.max() + 1)
        return scores

    def _strong(self, orders: Orders, m: int) -> int:
        """Return the number of strongly connected groups of items."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components as components

        row, ballot = np.arange(len(orders.items)), np.repeat(orders.starts[:-1], np.diff(orders.starts))
        last = np.repeat(orders.starts[1:], np.diff(orders.starts)) - 1
        level = (row > ballot) & (orders.places == np.roll(orders.places, 1))
        place = np.maximum.accumulate(np.where(level, 0, row))
        loose = (place == place[last]) & (self.last == "unordered")
        before = np.where(loose, place, row) - 1
        told = before >= ballot
        losers, winners = orders.items[told], orders.items[before[told]]
        tied = orders.items[level & ~loose], orders.items[row[level & ~loose] - 1]
        edges = np.append(winners, tied[0]), np.append(losers, tied[1])
        graph = coo_array((np.ones(len(edges[0]), np.int8), edges), shape=(m, m))
        return int(components(graph, connection="strong")[0])
