"""The compiled form of `bradley-terry`: a sample of k comparisons has at most k pairs, and nothing of size m x m."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.aggregators.kernels.likelihood import AT_MAXIMUM, NEWTON_WORK, item_sums, newton
from rankbench.kernels.laplacian import sum_pairs
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["bradley_terry"]

_TOLERANCE = 1e-6


@njit(AGGREGATE, cache=True, nogil=True)
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
    starts, high = np.zeros(m + 1, dtype=np.int64), np.empty(k, dtype=np.int32)
    # One allocation: samples are small, and each call is some microseconds.
    of_pairs, of_items = np.empty(4 * k), np.zeros((NEWTON_WORK + 4) * m + k)
    forward, backward = of_pairs[:k], of_pairs[k : 2 * k]
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    pairs = starts[m]
    won, lost, gradient, step = of_items[:m], of_items[m : 2 * m], of_items[2 * m : 3 * m], of_items[3 * m : 4 * m]
    item_sums(starts, high, forward, backward, won, lost)
    judged, curvature = of_pairs[2 * k : 2 * k + pairs], of_pairs[3 * k : 3 * k + pairs]
    for e in range(pairs):
        judged[e] = forward[e] + backward[e]
    # With a ridge every component's scores sum to zero by themselves: one scale is enough for them, and one for the
    # items without judgments, whose scores stay exactly 0.
    scale, sizes = np.zeros(m, dtype=np.int32), np.zeros(2)
    for i in range(m):
        out[i] = 0.0
        scale[i] = won[i] + lost[i] == 0.0
        sizes[scale[i]] += 1.0
    sizes[1] = max(1.0, sizes[1])
    status, _, _ = newton(
        starts, high[:pairs], judged, won, lost, params[0], scale, sizes, 10 * m, _TOLERANCE, False, out, gradient,
        curvature, step, of_items[4 * m :],
    )  # fmt: skip
    if status != AT_MAXIMUM:
        # Where it stopped may be anywhere.
        out[:] = np.nan
