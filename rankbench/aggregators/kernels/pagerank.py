"""Compiled PageRank: power iteration on the pairs that were compared."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.laplacian import sum_pairs
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["pagerank", "parameters", "work_size"]

_ROUNDING = 4e-16


def work_size(m: int) -> int:
    """Return the length of the scratch memory for m items."""
    return 2 * m


def parameters(damping: float) -> NDArray[np.float64]:
    """Return ``[d, steps]``: every step shrinks the error by d, so these always suffice."""
    steps = math.ceil(math.log(_ROUNDING) / math.log(damping)) if damping > 0 else 1
    return np.array([damping, float(steps)])


@declared(AGGREGATE)
def pagerank(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the PageRank of the m items to `out`."""
    k = len(winners)
    d = params[0]
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward = np.empty(k), np.empty(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    lost, following = work[:m], work[m : 2 * m]
    for t in range(k):
        lost[losers[t]] += weights[t]
    # Divide once: what remains is the share of its score that an item passes on.
    for i in range(m):
        out[i] = 1.0
        for e in range(starts[i], starts[i + 1]):
            forward[e] = forward[e] / lost[high[e]] if forward[e] > 0.0 else 0.0
            backward[e] = backward[e] / lost[i] if backward[e] > 0.0 else 0.0
    for _ in range(int(params[1])):
        anywhere = 0.0
        for i in range(m):
            if lost[i] == 0.0:
                anywhere += out[i]
            following[i] = 0.0
        for i in range(m):
            for e in range(starts[i], starts[i + 1]):
                following[i] += forward[e] * out[high[e]]
                following[high[e]] += backward[e] * out[i]
        change = 0.0
        for i in range(m):
            score = (1.0 - d) + d * (following[i] + anywhere / m)
            change += abs(score - out[i])
            out[i] = score
        if change <= _ROUNDING * m:
            break
    work[: 2 * m] = 0.0
