"""The compiled form of `bradley-terry`: a sample of k comparisons has at most k pairs, and nothing of size m x m."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.likelihood import AT_MAXIMUM, NEWTON_WORK, item_sums, newton
from rankbench.kernels.declared import declared
from rankbench.kernels.laplacian import sum_pairs
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["bradley_terry"]

_TOLERANCE = 1e-6


@declared(AGGREGATE)
def bradley_terry(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the penalized maximum-likelihood scores to `out`; ``params = [ridge]``, positive.

    nan where Newton's method does not come to rest, as with a ridge that is tiny beside the weights.
    """
    k = len(winners)
    # A small sample has few items: they alone are fitted, by consecutive numbers in their order. The others score 0.
    place = np.full(m, -1, dtype=np.int32)
    for t in range(k):
        place[winners[t]] = place[losers[t]] = 0
    items = 0
    for i in range(m):
        if place[i] == 0:
            place[i] = items
            items += 1
    # Few allocations: each call is some microseconds.
    of_index, of_pairs, of_items = np.empty(3 * k, np.int32), np.empty(4 * k), np.zeros((NEWTON_WORK + 5) * items + k)
    first, second, high = of_index[:k], of_index[k : 2 * k], of_index[2 * k :]
    for t in range(k):
        first[t], second[t] = place[winners[t]], place[losers[t]]
    starts = np.zeros(items + 1, dtype=np.int64)
    forward, backward = of_pairs[:k], of_pairs[k : 2 * k]
    sum_pairs(first, second, weights, starts, high, forward, backward)
    pairs = starts[items]
    won, lost, scores = of_items[:items], of_items[items : 2 * items], of_items[2 * items : 3 * items]
    gradient, step = of_items[3 * items : 4 * items], of_items[4 * items : 5 * items]
    item_sums(starts, high, forward, backward, won, lost)
    judged, curvature = of_pairs[2 * k : 2 * k + pairs], of_pairs[3 * k : 3 * k + pairs]
    for e in range(pairs):
        judged[e] = forward[e] + backward[e]
    # With a ridge every component's scores sum to zero by themselves: one scale is enough for them, and one for the
    # items whose judgments weigh nothing, whose scores stay exactly 0.
    scale, sizes = np.zeros(items, dtype=np.int32), np.zeros(2)
    for i in range(items):
        scale[i] = won[i] + lost[i] == 0.0
        sizes[scale[i]] += 1.0
    sizes[1] = max(1.0, sizes[1])
    status, _, _ = newton(
        starts, high[:pairs], judged, won, lost, params[0], scale, sizes, 10 * m, _TOLERANCE, False, scores, gradient,
        curvature, step, of_items[5 * items :],
    )  # fmt: skip
    # Where it stopped may be anywhere.
    for i in range(m):
        out[i] = np.nan if status != AT_MAXIMUM else scores[place[i]] if place[i] >= 0 else 0.0
