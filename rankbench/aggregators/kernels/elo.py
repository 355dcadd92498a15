r"""Kernels update Elo and Glicko-2 ratings.

A judgment of weight w is w judgments, one after the other. With a the change of the gap
:math:`x = s_i - s_j` that a surprise of 1 makes, each win is :math:`x \leftarrow x + a / (1 + e^x)` and
each tie :math:`x \leftarrow x - \frac a2 \tanh \frac x2`. A function F with
:math:`F(\text{next } x) = F(x) + 1` (Abel's equation) counts the updates, so that n of them end where F is n
larger. In powers of a, with :math:`u = 1 / (1 + e^x)` and :math:`t = \tanh \frac x2`, the equation gives order
by order

.. math:: a F_{win} &= x + e^x + \tfrac a2 \log u + a^2 (\tfrac u6 - \tfrac{u^2}8)
       + a^3 (\tfrac{u^2}{16} - \tfrac{u^3}9 + \tfrac{5 u^4}{96}) + O(a^4 u^3), \\
   F_{tie} &= \frac{\log t}{\log(1 - a/4)} + \frac2a \log(1 - t^2) - \frac{a t^2}{32}
       + a^2 (\tfrac{5 t^4}{1536} - \tfrac{t^2}{128}) + O(a^3).

If an update moves the gap by at most `SLOW`, omitted terms are below the rounding of the scores' scale.

.. [G12] M. E. Glickman. Example of the Glicko-2 system. Boston University, 2012 (revised 2022).
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import Flags, Index, Matrix, Rows, Vector, declared
from rankbench.kernels.signatures import AGGREGATE, WALK

Outcomes = Annotated[NDArray[np.int8], types.int8[::1]]


SLOW = 1 / 256
"""Updates that move the gap by at most this are counted by F; the others are made one by one."""

FEW = 256
"""So many updates are made one by one in any case."""

EVEN = 1e-18
"""A gap that ties made this small is not made smaller one by one."""

_ELO_ROUNDS = 50


@declared()
def after_wins(gap: float, count: float, step: float) -> float:
    """Return the growth of the gap by `count` wins of the upper one; ``step / (1 + e^gap) <= SLOW``.

    Parameters
    ----------
    gap : float
        Score of the winner less that of the loser.
    count : float
        A whole number.
    step : float
        a, twice the step of the ratings.
    """
    odds = math.exp(-abs(gap))
    larger, smaller = 1.0 / (1.0 + odds), odds / (1.0 + odds)
    p, u = (larger, smaller) if gap > 0 else (smaller, larger)
    goal = u * step * count
    # Times u, so that nothing overflows: u d + p (e^d - 1) and small terms. Start above the root.
    wide = min(step * count, math.log1p(goal / p)) if p > 0.0 else step * count
    for _ in range(_ELO_ROUNDS):
        grown = p * math.expm1(wide)
        v = u / (1.0 + grown)
        second = (v - u) / 6.0 - (v * v - u * u) / 8.0
        third = (v * v - u * u) / 16.0 - (v**3 - u**3) / 9.0 + 5.0 * (v**4 - u**4) / 96.0
        small = -0.5 * math.log1p(grown) + step * second + step * step * third
        excess = u * wide + grown + u * step * small - goal
        slope = u + (p + grown) * (1.0 - 0.5 * u * step / (1.0 + grown))
        change = excess / slope
        wide -= change
        if not abs(change) > 1e-16 * abs(wide):
            break
    return wide


@declared()
def after_ties(gap: float, count: float, step: float) -> float:
    """Return the gap after `count` ties; ``step <= SLOW``.

    Parameters
    ----------
    gap : float
        Not negative: who stands first means nothing.
    count : float
        A whole number.
    step : float
        a, twice the step of the ratings.
    """
    if gap == 0.0:
        return 0.0
    # log sinh(x / 2), in which n ties are a n / 4 up to small terms.
    level = 0.5 * gap + math.log1p(-math.exp(-gap)) - math.log(2.0) if gap > 1.0 else math.log(math.sinh(0.5 * gap))
    rate = 1.0 / math.log1p(-0.25 * step) + 4.0 / step if step > 1e-6 else 0.5
    t = math.tanh(0.5 * gap)
    after = gap
    for _ in range(_ELO_ROUNDS):
        new = math.tanh(0.5 * after)
        squares, fourths = new * new - t * t, new**4 - t**4
        rest = -squares / 32.0 + step * (5.0 * fourths / 1536.0 - squares / 128.0)
        small = rate * math.log(new / t) + step * rest if new > 0.0 else 0.0
        found = level - 0.25 * step * (count - small)
        before = after
        after = 2.0 * found + 2.0 * math.log(2.0) if found > 30.0 else 2.0 * math.asinh(math.exp(found))
        if not abs(after - before) > 1e-16 * after:
            break
    return after


@declared()
def gain_by_win(gap: float, weight: float, eta: float) -> float:
    """Return the winner's gain, `gap` above the loser, by `Elo`."""
    gained, left = 0.0, float(math.floor(weight))
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


@declared()
def gain_by_tie(gap: float, weight: float, eta: float) -> float:
    """Return the first one's gain by a tie, `gap` above the second one, by `Elo`."""
    gained, left = 0.0, float(math.floor(weight))
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


@declared()
def elo_with_ties(winners: Index, losers: Index, weights: Vector, ties: Flags, eta: float, out: Vector) -> None:
    """Add the ratings in units of log-odds to `out`, where all are 0."""
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        gap = out[i] - out[j]
        move = gain_by_tie(gap, weights[t], eta) if ties[t] else gain_by_win(gap, weights[t], eta)
        out[i] += move
        out[j] -= move


@declared(AGGREGATE)
def elo(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the ratings in units of log-odds to `out`; ``params = [eta]``."""
    out[:] = 0.0
    elo_with_ties(winners, losers, weights, np.zeros(len(winners), np.bool_), params[0], out)


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
    """Predict and learn all times; ``params = [eta, most at once]``, work is (2 m,)."""
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


@declared()
def run_starts(first: Index, second: Index, outcome: Outcomes) -> Rows:
    """Return the start of each run of equal judgments, and the number of judgments, shape (R + 1,).

    Parameters
    ----------
    first, second : ndarray of int32, shape (n,)
    outcome : ndarray of int8, shape (n,)
        1 where the first won, -1 where the second did, 0 for a tie.
    """
    n = len(first)
    starts = np.zeros(n + 1, np.int64)
    count = 0
    for e in range(n):
        straight = e > 0 and first[e] == first[e - 1] and second[e] == second[e - 1] and outcome[e] == outcome[e - 1]
        turned = e > 0 and first[e] == second[e - 1] and second[e] == first[e - 1] and outcome[e] == -outcome[e - 1]
        if not (straight or turned):
            starts[count] = e
            count += 1
    starts[count] = n
    return starts[: count + 1].copy()


MOST_VOLATILE = 10.0
"""Volatilities stay below: an upset that was all but impossible would make one as large as it was unlikely."""

LEAST_PRECISION = 1e-30
"""1 / v is at least this: in floating point, a certain outcome carries no information."""

_GLICKO_ROUNDS = 200
_CLOSE = 1e-10


@declared()
def attenuation(variance: float) -> float:
    r"""Return :math:`g(\phi) = 1 / \sqrt{1 + 3 \phi^2 / \pi^2}` for phi^2 (step 3)."""
    return 1.0 / math.sqrt(1.0 + 3.0 * variance / (math.pi * math.pi))


@declared()
def volatility_slope(x: float, a: float, excess: float, spread: float, tau: float) -> float:
    """Return f(x), with a = log sigma^2, excess = Delta^2 - phi^2 - v and spread = phi^2 + v."""
    odds = math.exp(x)
    whole = spread + odds
    return odds * (excess - odds) / (2.0 * whole * whole) - (x - a) / (tau * tau)


@declared()
def new_volatility(sigma: float, delta: float, phi: float, v: float, tau: float) -> float:
    r"""Return sigma' by the Illinois algorithm (step 5), at most `MOST_VOLATILE`.

    It is the root of :math:`f(x) = \frac{e^x (\Delta^2 - \phi^2 - v - e^x)}{2 (\phi^2 + v + e^x)^2}
    - \frac{x - \log \sigma^2}{\tau^2}`, with :math:`\sigma' = e^{x/2}`.

    Parameters
    ----------
    sigma : float
        Before the period.
    delta : float
        The estimated improvement.
    phi : float
        The deviation before the period.
    v : float
        The variance of the rating by the period's results alone.
    tau : float
        Constraint on changes of volatility.
    """
    a = math.log(sigma * sigma)
    excess = delta * delta - phi * phi - v

    low, high = a, a
    if excess > 0.0:
        high = math.log(excess)
    else:
        high = a - tau
        for _ in range(_GLICKO_ROUNDS):
            if volatility_slope(high, a, excess, phi * phi + v, tau) >= 0.0:
                break
            high -= tau
    f_low, f_high = (
        volatility_slope(low, a, excess, phi * phi + v, tau),
        volatility_slope(high, a, excess, phi * phi + v, tau),
    )
    for _ in range(_GLICKO_ROUNDS):
        if abs(high - low) <= _CLOSE or f_high == f_low:
            break
        middle = low + (low - high) * f_low / (f_high - f_low)
        f_middle = volatility_slope(middle, a, excess, phi * phi + v, tau)
        if f_middle * f_high <= 0.0:
            low, f_low = high, f_high
        else:
            f_low *= 0.5
        high, f_high = middle, f_middle
    return min(math.exp(0.5 * low), MOST_VOLATILE)


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
    """Predict and rate all periods.

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
    """Write the ratings after all judgments in turn; params and work as for `glicko_2_times`."""
    n = len(winners)
    ones = np.ones(n, np.int8)
    starts = run_starts(winners, losers, ones)
    state = np.zeros((m, 4))
    state[:, DEVIATION], state[:, VOLATILITY], state[:, SEEN] = params[0], params[1], -1.0
    glicko_2_times(winners, losers, ones, weights, starts, state, params, work, np.zeros(n))
    out[:] = state[:, RATING]
