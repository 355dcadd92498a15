"""A judgment of weight 0 says nothing: aggregators are never shown one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

if TYPE_CHECKING:
    from rankbench.kinds.queries import Comparisons, Orders

__all__ = ["GUARDS"]

AggregatorMethod = Callable[..., NDArray[np.float64]]


def _kept(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise InputError("all weights are zero: the judgments say nothing; leave them out", column="weight")
    return kept


def _aggregate(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def aggregate(
        self: Any, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        if np.all(weights):
            return method(self, winners, losers, weights, m)
        rows = _kept(weights)
        return method(self, winners[rows], losers[rows], weights[rows], m)

    return aggregate


def _from_comparisons(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def from_comparisons(self: Any, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        if np.all(comparisons.weights):
            return method(self, comparisons, m)
        from rankbench.kinds.queries import Comparisons

        rows = _kept(comparisons.weights)
        ties = None if comparisons.ties is None else comparisons.ties[rows]
        return method(
            self,
            Comparisons(
                np.array([0, len(rows)], dtype=np.int64),
                comparisons.winners[rows],
                comparisons.losers[rows],
                comparisons.weights[rows],
                ties,
            ),
            m,
        )

    return from_comparisons


def _from_orders(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def from_orders(self: Any, orders: Orders, m: int) -> NDArray[np.float64]:
        if np.all(orders.weights):
            return method(self, orders, m)
        from rankbench.kinds.queries import Orders

        rows = _kept(orders.weights)
        lengths = np.diff(orders.starts)
        ranked = np.repeat(orders.weights != 0, lengths)
        kept = Orders(
            np.array([0, len(rows)], dtype=np.int64),
            np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64),
            orders.items[ranked],
            orders.places[ranked],
            orders.weights[rows],
            orders.unranked,
        )
        return method(self, kept, m)

    return from_orders


GUARDS = {"aggregate": _aggregate, "from_comparisons": _from_comparisons, "from_orders": _from_orders}
"""What is put before a method of a class of aggregators, by the method's name."""
