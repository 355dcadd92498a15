"""Compiled Glicko-2 ratings."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators import glicko_periods
from rankbench.aggregators.kernels.judgment_runs import run_starts
from rankbench.kernels.declared import declared
from rankbench.kernels.formulas import jitable
from rankbench.kernels.signatures import AGGREGATE, WALK

__all__ = ["glicko_2", "glicko_2_times"]

_F = types.float64

jitable(glicko_periods.volatility_slope)
attenuation = declared(_F(_F))(glicko_periods.attenuation)
new_volatility = declared(_F(_F, _F, _F, _F, _F))(glicko_periods.new_volatility)

RATING, DEVIATION, VOLATILITY, SEEN = range(4)
LEAST_PRECISION = glicko_periods.LEAST_PRECISION


@declared(_F(types.float64[:, ::1], types.int64, types.int64, types.float64[::1]))
def variance_at(state: NDArray[np.float64], i: int, time: int, params: NDArray[np.float64]) -> float:
    """Return phi^2 of an item at the beginning of a period."""
    phi: float = state[i, DEVIATION]
    sigma: float = state[i, VOLATILITY]
    seen: float = state[i, SEEN]
    if seen < 0 or params[3] == 0.0:
        return phi * phi
    most: float = max(phi, params[0])
    return min(phi * phi + (time - seen - 1) * (sigma * sigma), most * most)


@declared(WALK)
def glicko_2_times(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    outcome: NDArray[np.int8],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    state: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    margins: NDArray[np.float64],
) -> None:
    """Predict and rate all periods as `Glicko2.learn` does.

    ``params = [phi and sigma of the unknown, tau, whether deviations grow in periods without judgments]``; work is
    (2 m,).
    """
    m = state.shape[0]
    for t in range(len(starts) - 1):
        for e in range(starts[t], starts[t + 1]):
            of_first, of_second = variance_at(state, first[e], t, params), variance_at(state, second[e], t, params)
            gap = state[first[e], RATING] - state[second[e], RATING]
            margins[e] = attenuation(of_first + of_second) * gap
            for side in range(2):
                i = first[e] if side == 0 else second[e]
                g = attenuation(of_second if side == 0 else of_first)
                apart, share = (gap, 0.5 + 0.5 * outcome[e]) if side == 0 else (-gap, 0.5 - 0.5 * outcome[e])
                chance = 0.5 + 0.5 * math.tanh(0.5 * g * apart)
                work[i] += weights[e] * g * g * chance * (1.0 - chance)
                work[m + i] += weights[e] * g * (share - chance)
        for e in range(starts[t], starts[t + 1]):
            for side in range(2):
                i = first[e] if side == 0 else second[e]
                if state[i, SEEN] == t:
                    continue
                variance, precision, gain = variance_at(state, i, t, params), work[i], work[m + i]
                v = 1.0 / max(precision, LEAST_PRECISION)
                sigma = new_volatility(state[i, VOLATILITY], v * gain, math.sqrt(variance), v, params[2])
                after = 1.0 / (1.0 / (variance + sigma * sigma) + precision)
                state[i, RATING] += after * gain
                state[i, DEVIATION] = math.sqrt(after)
                state[i, VOLATILITY] = sigma
                state[i, SEEN] = t
                work[i] = 0.0
                work[m + i] = 0.0


@declared(AGGREGATE)
def glicko_2(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the ratings after all judgments, one after the other; params and work are those of `glicko_2_times`."""
    n = len(winners)
    ones = np.ones(n, np.int8)
    starts = run_starts(winners, losers, ones)
    state = np.zeros((m, 4))
    state[:, DEVIATION], state[:, VOLATILITY], state[:, SEEN] = params[0], params[1], -1.0
    glicko_2_times(winners, losers, ones, weights, starts, state, params, work, np.zeros(n))
    out[:] = state[:, RATING]
