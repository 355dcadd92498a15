"""Compiled Thurstone-Mosteller least squares: conjugate gradients on the graph Laplacian."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.priorities import on_scale
from rankbench.kernels.declared import declared
from rankbench.kernels.laplacian import WORK, conjugate_gradients, join, sum_pairs
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["thurstone_mosteller"]


@declared(types.void(types.int64[::1], types.int32[::1], types.float64[::1]))
def _center(starts: NDArray[np.int64], high: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
    """Subtract its mean from the scores of each connected component."""
    m = len(scores)
    parent = np.arange(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            join(parent, i, high[e])
    for i in range(m):
        parent[i] = parent[parent[i]]
    on_scale(scores, parent, True)


@declared(AGGREGATE)
def thurstone_mosteller(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the least-squares scores (22) to `out`; ``params = [c]``."""
    k = len(winners)
    c = params[0]
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward, ones = np.empty(k), np.empty(k), np.ones(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    rhs = np.zeros(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            log_odds = math.log((forward[e] + c) / (backward[e] + c))
            rhs[i] += log_odds
            rhs[high[e]] -= log_odds
    size = math.sqrt((rhs * rhs).sum())
    # Exact arithmetic needs at most m steps; rounding on long paths a few times that.
    conjugate_gradients(starts, high, ones, 0.0, rhs, 1e-14 * size, 10 * m, np.empty(WORK * m), out)
    _center(starts, high, out)
