"""Kernels update Elo and Glicko-2 ratings."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators import rating_formulas
from rankbench.kernels.declared import Flags, Index, Matrix, Rows, Vector, declared, jitable
from rankbench.kernels.signatures import AGGREGATE, WALK

Outcomes = Annotated[NDArray[np.int8], types.int8[::1]]


jitable(rating_formulas.after_wins)
jitable(rating_formulas.after_ties)
gain_by_win = declared()(rating_formulas.gain_by_win)
gain_by_tie = declared()(rating_formulas.gain_by_tie)


@declared(AGGREGATE)
def elo(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the ratings in units of log-odds to `out`; ``params = [eta]``."""
    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        move = gain_by_win(out[i] - out[j], weights[t], params[0])
        out[i] += move
        out[j] -= move


@declared()
def elo_with_ties(winners: Index, losers: Index, weights: Vector, ties: Flags, eta: float, out: Vector) -> None:
    """Add the ratings in units of log-odds to `out`, where all are 0."""
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        gap = out[i] - out[j]
        move = gain_by_tie(gap, weights[t], eta) if ties[t] else gain_by_win(gap, weights[t], eta)
        out[i] += move
        out[j] -= move


@declared(WALK)
def elo_times(
    first: Index,
    second: Index,
    outcome: Outcomes,
    weights: Vector,
    starts: Rows,
    state: Matrix,
    params: Vector,
    work: Vector,
    margins: Vector,
) -> None:
    """Predict and learn all times as `Elo.learn` does; ``params = [eta, most at once]``, work is (2 m,)."""
    m = state.shape[0]
    for t in range(len(starts) - 1):
        for e in range(starts[t], starts[t + 1]):
            i, j = first[e], second[e]
            gap = state[i, 0] - state[j, 0]
            margins[e] = gap
            surprise = weights[e] * (0.5 * outcome[e] - 0.5 * math.tanh(0.5 * gap))
            work[i] += weights[e]
            work[j] += weights[e]
            work[m + i] += surprise
            work[m + j] -= surprise
        for e in range(starts[t], starts[t + 1]):
            for side in range(2):
                i = first[e] if side == 0 else second[e]
                if work[i] > 0.0:
                    state[i, 0] += min(params[0], params[1] / work[i]) * work[m + i]
                    work[i] = 0.0
                    work[m + i] = 0.0


run_starts = declared(types.int64[::1](types.int32[::1], types.int32[::1], types.int8[::1]))(rating_formulas.run_starts)


jitable(rating_formulas.volatility_slope)
attenuation = declared()(rating_formulas.attenuation)
new_volatility = declared()(rating_formulas.new_volatility)

LEAST_PRECISION = rating_formulas.LEAST_PRECISION
RATING, DEVIATION, VOLATILITY, SEEN = range(4)


@declared()
def variance_at(state: Matrix, i: int, time: int, params: Vector) -> float:
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
    first: Index,
    second: Index,
    outcome: Outcomes,
    weights: Vector,
    starts: Rows,
    state: Matrix,
    params: Vector,
    work: Vector,
    margins: Vector,
) -> None:
    """Predict and rate all periods as `Glicko2.learn` does.

    ``params = [phi and sigma of the unknown, tau, whether deviations grow in periods without judgments, the number of
    the first period]``; work is (2 m,).
    """
    m = state.shape[0]
    for t in range(len(starts) - 1):
        now = t + int(params[4])
        for e in range(starts[t], starts[t + 1]):
            of_first, of_second = variance_at(state, first[e], now, params), variance_at(state, second[e], now, params)
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
                if state[i, SEEN] == now:
                    continue
                variance, precision, gain = variance_at(state, i, now, params), work[i], work[m + i]
                v = 1.0 / max(precision, LEAST_PRECISION)
                sigma = new_volatility(state[i, VOLATILITY], v * gain, math.sqrt(variance), v, params[2])
                after = 1.0 / (1.0 / (variance + sigma * sigma) + precision)
                state[i, RATING] += after * gain
                state[i, DEVIATION] = math.sqrt(after)
                state[i, VOLATILITY] = sigma
                state[i, SEEN] = now
                work[i] = 0.0
                work[m + i] = 0.0


@declared(AGGREGATE)
def glicko_2(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the ratings after all judgments, one after the other; params and work are those of `glicko_2_times`."""
    n = len(winners)
    ones = np.ones(n, np.int8)
    starts = run_starts(winners, losers, ones)
    state = np.zeros((m, 4))
    state[:, DEVIATION], state[:, VOLATILITY], state[:, SEEN] = params[0], params[1], -1.0
    glicko_2_times(winners, losers, ones, weights, starts, state, params, work, np.zeros(n))
    out[:] = state[:, RATING]
