"""Compiled Elo ratings."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators import elo_rows
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import AGGREGATE, WALK

__all__ = ["elo", "elo_times", "elo_with_ties"]

SLOW, FEW, EVEN = elo_rows.SLOW, elo_rows.FEW, elo_rows.EVEN
_COUNTED = types.float64(types.float64, types.float64, types.float64)

after_wins = declared(_COUNTED)(elo_rows.after_wins)
after_ties = declared(_COUNTED)(elo_rows.after_ties)


@declared(types.float64(types.float64, types.float64, types.float64))
def gain_by_win(gap: float, weight: float, eta: float) -> float:
    """Return what the winner gains, `gap` above the loser, as `Elo.aggregate` says it."""
    gained, left = 0.0, float(np.floor(weight))
    part = weight - left
    while left >= 1:
        # tanh, unlike exp, overflows nowhere.
        move = eta * (0.5 - 0.5 * math.tanh(0.5 * gap))
        if left > FEW and not 2 * move > SLOW:
            move = 0.5 * after_wins(gap, left, 2 * eta)
            left = 0.0
        gained += move
        gap += 2 * move
        left -= 1
    return gained + eta * part * (0.5 - 0.5 * math.tanh(0.5 * gap))


@declared(types.float64(types.float64, types.float64, types.float64))
def gain_by_tie(gap: float, weight: float, eta: float) -> float:
    """Return what the first one gains by a tie, `gap` above the second one, as `Elo.from_comparisons` says it."""
    gained, left = 0.0, float(np.floor(weight))
    part = weight - left
    while left >= 1:
        move = -0.5 * eta * math.tanh(0.5 * gap)
        if left > FEW and not 2 * eta > SLOW:
            move = 0.5 * (math.copysign(after_ties(abs(gap), left, 2 * eta), gap) - gap)
            left = 0.0
        elif left > FEW and not EVEN <= abs(gap) < math.inf:
            left = 0.0
        gained += move
        gap += 2 * move
        left -= 1
    return gained - 0.5 * eta * part * math.tanh(0.5 * gap)


@declared(AGGREGATE)
def elo(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the ratings in units of log-odds to `out`; ``params = [eta]``."""
    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        move = gain_by_win(out[i] - out[j], weights[t], params[0])
        out[i] += move
        out[j] -= move


@declared(
    types.void(
        types.int32[::1], types.int32[::1], types.float64[::1], types.boolean[::1], types.float64, types.float64[::1]
    ),
)
def elo_with_ties(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    ties: NDArray[np.bool_],
    eta: float,
    out: NDArray[np.float64],
) -> None:
    """Add the ratings in units of log-odds to `out`, where all are 0."""
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        gap = out[i] - out[j]
        move = gain_by_tie(gap, weights[t], eta) if ties[t] else gain_by_win(gap, weights[t], eta)
        out[i] += move
        out[j] -= move


@declared(WALK)
def elo_times(
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
