"""Compiled scores of a reciprocal matrix: its Perron vector and its row geometric means."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.mean_log_odds import mean_log_odds
from rankbench.aggregators.kernels.pair_table import add_up
from rankbench.aggregators.kernels.priorities import on_scale
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["eigenvector", "geometric_mean"]

_ROUNDING = 1e-15
_PLAIN_STEPS = 100
_MAX_STEPS = 200_000


@declared(AGGREGATE)
def geometric_mean(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the row geometric means to `out`; ``params = [log, *those of mean_log_odds]``."""
    mean_log_odds(winners, losers, weights, m, params[1:], work, out)
    for i in range(m):
        out[i] *= (m - 1) / m
    if params[0] == 0.0:
        on_scale(out, np.zeros(m, dtype=np.int64), False)


@declared(AGGREGATE)
def eigenvector(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the Perron vector to `out`; ``params = [c, joint, log]``.

    Power iteration on a positive matrix adds positive numbers only, so that small entries of the
    vector are as accurate, relatively, as large ones. It ends when the bounds of Collatz
    and Wielandt, the extremes of (A s)_i / s_i, meet up to rounding.
    """
    total = add_up(winners, losers, weights, m, work)
    c = params[0] * total if params[1] != 0.0 else params[0]
    # From here on the table holds the transposed matrix of ratios.
    for i in range(m):
        work[i * m + i] = 1.0
        for j in range(i):
            ratio = (work[i * m + j] + c) / (work[j * m + i] + c)
            work[i * m + j], work[j * m + i] = 1.0 / ratio, ratio

    image = np.empty(m)
    out[:] = 1.0
    for step in range(_MAX_STEPS):
        image[:] = 0.0
        for j in range(m):
            for i in range(m):
                image[i] += work[j * m + i] * out[j]
        low, high, largest = math.inf, 0.0, 0.0
        for i in range(m):
            low = min(low, image[i] / out[i])
            high = max(high, image[i] / out[i])
        # Long cycles of large ratios have other eigenvalues nearly as large as the first, but
        # elsewhere on a circle: a shift by the first leaves them behind.
        shift = 0.0 if step < _PLAIN_STEPS else high
        for i in range(m):
            out[i] = image[i] + shift * out[i]
            largest = max(largest, out[i])
        for i in range(m):
            out[i] /= largest
        if high - low <= _ROUNDING * (10 + m) * high:
            break
    work[: m * m] = 0.0
    for i in range(m):
        out[i] = math.log(out[i])
    on_scale(out, np.zeros(m, dtype=np.int64), params[2] != 0.0)
