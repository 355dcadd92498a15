r"""One rating period of one item in Glicko-2, [G12]_ steps 3 to 7, on the scale of log-odds.

The functions are plain Python that numba compiles too, so that both forms of `glicko-2` share them.

.. [G12] M. E. Glickman. Example of the Glicko-2 system. Boston University, 2012 (revised 2022).
"""

from __future__ import annotations

import math

__all__ = ["LEAST_PRECISION", "MOST_VOLATILE", "attenuation", "new_volatility", "volatility_slope"]

MOST_VOLATILE = 10.0
"""Volatilities stay below: an upset that was all but impossible would make one as large as it was unlikely."""

LEAST_PRECISION = 1e-30
"""1 / v is at least this: in floating point, what was certain says nothing at all."""

_ROUNDS = 200
_CLOSE = 1e-10


def attenuation(variance: float) -> float:
    r"""Return :math:`g(\phi) = 1 / \sqrt{1 + 3 \phi^2 / \pi^2}` for phi^2 (step 3)."""
    return 1.0 / math.sqrt(1.0 + 3.0 * variance / (math.pi * math.pi))


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
        How much a volatility may change.
    """
    a = math.log(sigma * sigma)
    excess = delta * delta - phi * phi - v

    low, high = a, a
    if excess > 0.0:
        high = math.log(excess)
    else:
        high = a - tau
        for _ in range(_ROUNDS):
            if volatility_slope(high, a, excess, phi * phi + v, tau) >= 0.0:
                break
            high -= tau
    f_low, f_high = (
        volatility_slope(low, a, excess, phi * phi + v, tau),
        volatility_slope(high, a, excess, phi * phi + v, tau),
    )
    for _ in range(_ROUNDS):
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


def volatility_slope(x: float, a: float, excess: float, spread: float, tau: float) -> float:
    """Return f(x), with a = log sigma^2, excess = Delta^2 - phi^2 - v and spread = phi^2 + v."""
    odds = math.exp(x)
    whole = spread + odds
    return odds * (excess - odds) / (2.0 * whole * whole) - (x - a) / (tau * tau)
