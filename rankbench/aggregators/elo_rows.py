r"""Many equal Elo updates in a row, at the cost of one: what a judgment of a large weight does.

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

Where an update moves the gap by at most `SLOW` what is left out is below the rounding of the scores' scale.

The functions below are plain Python that numba compiles too, so that both forms of `elo` share them.
"""

from __future__ import annotations

import math

__all__ = ["EVEN", "FEW", "SLOW", "after_ties", "after_wins"]

SLOW = 1 / 256
"""Updates that move the gap by at most this are counted by F; the others are made one by one."""

FEW = 256
"""So many updates are made one by one in any case."""

EVEN = 1e-18
"""A gap that ties made this small is not made smaller one by one."""

_ROUNDS = 50


def after_wins(gap: float, count: float, step: float) -> float:
    """Return by how much `count` wins of the upper one widen the gap; ``step / (1 + e^gap) <= SLOW``.

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
    # Times u, so that nothing overflows: u d + p (e^d - 1) and what is small beside it. Start above the root.
    wide = min(step * count, math.log1p(goal / p)) if p > 0.0 else step * count
    for _ in range(_ROUNDS):
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
    # log sinh(x / 2), in which n ties are a n / 4 but for what is small.
    level = 0.5 * gap + math.log1p(-math.exp(-gap)) - math.log(2.0) if gap > 1.0 else math.log(math.sinh(0.5 * gap))
    rate = 1.0 / math.log1p(-0.25 * step) + 4.0 / step if step > 1e-6 else 0.5
    t = math.tanh(0.5 * gap)
    after = gap
    for _ in range(_ROUNDS):
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
