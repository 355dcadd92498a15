"""Plackett-Luce scores of ballots by penalized maximum likelihood.

References
----------
.. [E77] B. Efron. The efficiency of Cox's likelihood function for censored data. Journal of the
   American Statistical Association 72(359), 1977.
.. [L59] R. D. Luce. Individual choice behavior. Wiley, 1959.
.. [P75] R. L. Plackett. The analysis of permutations. Applied Statistics 24(2), 1975.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import JudgmentKind, Property
from rankbench.errors import InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.ballots import with_unranked

if TYPE_CHECKING:
    from rankbench.kinds.queries import Orders

__all__ = ["PlackettLuce"]


class PlackettLuce(Aggregator):
    r"""Plackett-Luce scores of ballots: maximum likelihood with a ridge penalty.

    .. math:: s = \operatorname{argmin}_{s \in R^m} \sum_b w_b \sum_{r=1}^{l_b - 1}
       \Bigl[\log \sum_{t \ge r} e^{s_{b_t}} - s_{b_r}\Bigr] + \frac{\rho}{2} |s|^2

    where ballot b, cast by w_b voters, ranks the items :math:`b_1, \ldots, b_l`: a voter picks
    the best item, then the best of the rest, and so on, each with probability proportional to
    :math:`e^s`. On ballots of two items it is `bradley-terry`, with the same ridge.

    The penalty makes the minimizer exist and be unique in every case. The scores sum to zero; so
    do those of each connected component by itself, and an item that no ballot compares scores 0.

    *Unranked items.* If they are ``absent`` from a ballot, its voter chose among the ranked ones
    alone. If they come ``last``, they are in every sum (a top-l ballot), and nothing is said of
    their own order: the exact likelihood of what the voter wrote.

    *Ties.* Averaging the log-likelihood over all d! orders of d tied items takes sums over
    subsets; this is Efron's approximation [E77]_ of it, convex and as cheap as no tie. While r of
    the d have been picked, they and the others count by the share 1 - r / d in the sum of
    the rest. Behind the last place nobody is left, and the last of its items is not picked: for two
    items tied there, and so for any ballot of two items, it is exactly half a win each way. Ballots
    that tie all their items pull these together.

    Notes
    -----
    Limit under Plackett-Luce ballots of positive worths e^r over connected items, many voters:
    :math:`r_i - \bar r`. Multiplying all weights by a constant is the same as dividing the
    ridge by it.
    """

    name: ClassVar[str] = "plackett-luce"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[P75]_, [L59]_; ties: [E77]_"
    judgments: ClassVar[JudgmentKind] = "orders"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    ridge: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2.")

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the scores, shape (m,); see the kernel's module for the method.

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        """
        from rankbench.aggregators.kernels.plackett_luce import plackett_luce

        whole, ranked = with_unranked(orders, m)
        if not (np.diff(whole.starts) > 1).any():
            raise InputError("the ballots say nothing: none of them ranks two items; leave such queries out")
        scores = np.zeros(m)
        # Copies: tables and shared memory are read-only, which the kernel's signature is not.
        plackett_luce(
            np.array(whole.starts, dtype=np.int64),
            np.array(ranked, dtype=np.int64),
            np.array(whole.items, dtype=np.int32),
            np.array(whole.places, dtype=np.int32),
            np.array(orders.weights, dtype=np.float64),
            self.ridge,
            scores,
        )
        return scores
