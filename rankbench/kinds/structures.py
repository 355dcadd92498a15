"""The structure of one query's comparisons, by the compiled form where there is one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.queries import Comparisons

__all__ = ["structure_of"]


def structure_of(aggregator: Aggregator, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
    """Return what `Aggregator.from_comparisons` does: scores, shape (m,), or adjacency, shape (m, m).

    Parameters
    ----------
    aggregator : Aggregator
        Of comparisons.
    comparisons : Comparisons
        Of one query, at least one; arrays may be read-only.
    m : int
        Number of items.
    """
    own = aggregator.takes_ties()
    tied = comparisons.ties is not None and bool(comparisons.ties.any())
    kernel = None if own and tied else aggregator.kernel()
    if kernel is None:
        return aggregator.from_comparisons(comparisons, m)
    whole = comparisons.without_ties()
    winners, losers = np.array(whole.winners, dtype=np.int32), np.array(whole.losers, dtype=np.int32)
    weights, params, work = np.array(whole.weights), np.array(kernel.params), np.zeros(kernel.work(m))
    if aggregator.structure == "scores":
        scores = np.zeros(m)
        kernel.function(winners, losers, weights, m, params, work, scores)
        return scores
    k = len(winners)
    tails, heads, edges = np.empty(k, dtype=np.int32), np.empty(k, dtype=np.int32), np.empty(k)
    count = kernel.function(winners, losers, weights, m, params, work, tails, heads, edges)
    adjacency = np.zeros((m, m))
    adjacency[tails[:count], heads[:count]] = edges[:count]
    return adjacency
