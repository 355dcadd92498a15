"""Compiled ridge-penalized Bradley-Terry: inexact Newton with conjugate gradients.

A sample of k comparisons has at most k pairs, and its Hessian is a graph Laplacian plus
the ridge: sparse, and well conditioned on random pairs. So a few products with it are
cheaper than one m x m factorization, and nothing of size m x m is held.

References
----------
.. [EW94] S. C. Eisenstat and H. F. Walker. Globally convergent inexact Newton methods.
   SIAM Journal on Optimization 4(2), 1994.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rankbench.kernels.laplacian import WORK_VECTORS, solve, sum_pairs
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["bradley_terry", "work_size"]

_INDEX = types.int32[::1]
_ROWS = types.int64[::1]
_VECTOR = types.float64[::1]

_TOLERANCE = 1e-12
_ROUNDING = 1e-14
_MAX_STEPS = 200


def work_size(m: int) -> int:
    """Return the length of the scratch memory for m items."""
    return (WORK_VECTORS + 3) * m


@njit(
    types.float64(_ROWS, _INDEX, _VECTOR, _VECTOR, types.float64, _VECTOR, _VECTOR, _VECTOR),
    cache=True,
    nogil=True,
)
def _gradient(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    ridge: float,
    scores: NDArray[np.float64],
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
) -> float:
    """Write the gradient, (m,), and each pair's second derivative; return the squared norm."""
    m = len(scores)
    for i in range(m):
        gradient[i] = ridge * scores[i]
    for i in range(m):
        mine = 0.0
        for e in range(starts[i], starts[i + 1]):
            j = high[e]
            both = forward[e] + backward[e]
            # exp may overflow to inf: p = 0 is then right.
            p = 1.0 / (1.0 + math.exp(scores[j] - scores[i]))
            slope = both * p - forward[e]
            curvature[e] = both * p * (1.0 - p)
            mine += slope
            gradient[j] -= slope
        gradient[i] += mine
    norm = 0.0
    for i in range(m):
        norm += gradient[i] * gradient[i]
    return norm


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
    """Write the penalized maximum-likelihood scores to `out`; ``params = [ridge]``.

    The gradient's norm falls to 1e-12 (relative to the first one where that is smaller), or
    to where rounding keeps it.
    """
    k = len(winners)
    ridge = params[0]
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward, curvature = np.empty(k), np.empty(k), np.empty(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    gradient, step, trial = work[:m], work[m : 2 * m], work[2 * m : 3 * m]
    rest = work[3 * m :]

    for i in range(m):
        out[i] = 0.0
    norm = _gradient(starts, high, forward, backward, ridge, out, gradient, curvature)
    first = math.sqrt(norm)
    enough = max(_TOLERANCE * min(1.0, first), _ROUNDING * weights.sum() / m)
    for _ in range(_MAX_STEPS):
        before = math.sqrt(norm)
        if before <= enough:
            break
        # Solve loosely far away and ever more tightly near by: quadratic convergence.
        forcing = min(0.1, before / first)
        solve(starts, high, curvature, ridge, gradient, forcing, 0.1 * enough, rest, step)
        # Backtracking on the gradient's norm [EW94]_ needs no value of
        # the objective and stays accurate to the last digit.
        length = 1.0
        while length > 1e-10:
            for i in range(m):
                trial[i] = out[i] - length * step[i]
            norm = _gradient(starts, high, forward, backward, ridge, trial, gradient, curvature)
            if math.sqrt(norm) <= (1.0 - 1e-4 * length) * before:
                break
            length *= 0.5
        else:
            break
        for i in range(m):
            out[i] = trial[i]
    work[:] = 0.0
