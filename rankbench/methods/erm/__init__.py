"""The method `erm` minimizes an empirical risk of aggregated structures.

Sections 2 to 4 of [DMJ13]_: the U-statistic risk, its targets, and the lockstep loop.
"""

from __future__ import annotations

from typing import ClassVar

from rankbench.interfaces.method import Block, Fitted
from rankbench.methods.erm.composition import Composition

__all__ = ["ERM"]


class ERM(Composition):
    """Minimize a surrogate's U-statistic risk (19) plus a penalty, ``lambda/2 |theta|^2`` by default.

    The order-k empirical risk is ``1/n sum_q n_q / C(n_q, k) sum phi(f(q), s(Y_1..Y_k))``
    over all k-subsets of a query's judgments; where ``n_q < k`` the one term with all of
    them. With ``l1`` the penalty is ``lambda/2 |theta|^2 + l1 sum_j |theta_j|``; ``radius``
    and ``box`` keep theta within a ball or a box around 0.

    A tie is half a win each way: two judgments of half the weight, so that where k < n_q, k = 1
    among them, samples hold it twice as often as another judgment. An aggregator that declares
    ``sequential`` takes k = inf or 1 alone, and at k = inf no ties: their halves have no order.

    Prefer it to learn from features: it takes every built-in aggregator of comparisons, every surrogate and every
    optimizer.
    """

    name: ClassVar[str] = "erm"
    source: ClassVar[str] = "[DMJ13]_ eq. (18), (19), (24)"

    def fit(self, block: Block) -> Fitted:
        """Fit alone; a run fits all composed contenders of a block together, to the same bits."""
        from rankbench.methods.erm.fit import fit_composed

        fitted = fit_composed(block, {"": self})[""]
        if isinstance(fitted, Exception):
            raise fitted
        return fitted
