"""Formulas define the papers' gains, discounts and stopping probabilities.

They are shared by the NDCG losses (14), which judge by them, and by the regression
surrogate (28), whose targets are ``G(s_j) / Z(s)``.

The losses (16) and the order-preserving surrogate for them share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from rankbench.core.component import Order

GainName: TypeAlias = Literal["exp2", "identity", "exp"]
"""G(s): ``2^s - 1``, ``s`` or ``e^s``."""

DiscountName: TypeAlias = Literal["log", "log2", "reciprocal"]
"""F(j) at position j = 1, 2, ...: ``log(1 + j)``, ``log2(1 + j)`` or ``j``."""

SAFE_EXPONENT = 500.0
"""Exponents beyond this are shifted, so that sums of gains stay finite."""

SAFE_SCORE = 1e300
"""Scores beyond this are scaled down for the same reason."""

TINY = 1e-12
"""Z(s) relative to the magnitudes that it is the sum of up to which it is rounding: there is nothing to divide by."""


def _cutoff(value: float) -> float:
    if not (value >= 1 and (math.isinf(value) or value == int(value))):
        raise ValueError(f"a cutoff is a positive integer, or inf for none, not {value}")
    return value


Cutoff: TypeAlias = Annotated[Order, AfterValidator(_cutoff)]
"""Last position that counts; ``inf``: all of them."""


def power_of_two(x: Any) -> Any:
    """Return 2^x; the compiled form looks it up for integers, which grades are."""
    return np.exp2(x)


# Formulas of one number or of arrays: compiled forms are made of them, see `rankbench.kernels.declared`.


def _exp2_gain(score: Any, shift: float, unit: float) -> Any:
    return power_of_two(score - shift) - unit


def _identity(score: Any, shift: float, unit: float) -> Any:
    return score * unit


def _exp(score: Any, shift: float, unit: float) -> Any:
    return np.exp(score - shift)


GAINS: dict[GainName, Callable[[Any, float, float], Any]] = {"exp2": _exp2_gain, "identity": _identity, "exp": _exp}
"""``G(score)`` times unit = 2^-shift (for exp times e^-shift; for identity unit alone counts)."""


def _log(position: Any) -> Any:
    return 1.0 / np.log1p(position)


def _log2(position: Any) -> Any:
    return 1.0 / np.log2(1.0 + position)


def _reciprocal(position: Any) -> Any:
    return 1.0 / position


DISCOUNTS: dict[DiscountName, Callable[[Any], Any]] = {"log": _log, "log2": _log2, "reciprocal": _reciprocal}
"""``1 / F(j)`` at position j = 1, 2, ..."""


def gains(name: GainName, scores: NDArray[np.float64], scaled: bool = True) -> NDArray[np.float64]:
    """Return ``c G(s)`` with a c > 0 of this score vector's own, shape (m,).

    c is 1 unless a score is so large that sums of gains could overflow. It cancels
    wherever gains are divided by Z(s). Where they are not, ``scaled=False`` keeps c = 1.

    Parameters
    ----------
    name : {"exp2", "identity", "exp"}
    scores : ndarray of float64, shape (m,)
        Finite.
    """
    shift, unit = 0.0, 1.0
    if scaled and name == "identity":
        unit = 1.0 if np.abs(scores).max(initial=0.0) < SAFE_SCORE else 2.0**-64
    elif scaled:
        shift = max(0.0, float(scores.max(initial=0.0)) - SAFE_EXPONENT)
        unit = math.pow(2.0, -shift)
    with np.errstate(over="ignore"):
        gained: NDArray[np.float64] = GAINS[name](scores, shift, unit)
    return gained


def discounts(name: DiscountName, m: int, cutoff: float = math.inf) -> NDArray[np.float64]:
    """Return ``1 / F(j)`` for positions j = 1..m, zero after `cutoff`, shape (m,)."""
    j = np.arange(1.0, m + 1.0)
    factor: NDArray[np.float64] = DISCOUNTS[name](j)
    factor[j > cutoff] = 0.0
    return factor


def ideal(gain: NDArray[np.float64], discount: NDArray[np.float64]) -> float:
    """Return Z(s), the largest discounted sum over all orderings ([DMJ13]_ eq. (14)).

    Discounts do not increase, so that the best ordering is by descending gain. Gains of both
    signs may cancel: their sum is taken for 0 up to `TINY` of the sum of their magnitudes, as
    that of centred scores is where all positions count alike.

    Parameters
    ----------
    gain, discount : ndarray of float64, shape (m,)
        G(s_j) of each item, 1 / F(j) of each position.
    """
    best = np.sort(gain)[::-1]
    total, size = float(best @ discount), float(np.abs(best) @ discount)
    return 0.0 if abs(total) <= TINY * size < math.inf else total


DECIMALS = 6
"""Of a logarithmic discount that is written as a rational number."""


def exact_gains(name: GainName, scores: Sequence[Fraction]) -> list[Fraction] | None:
    """Return G(s_j) as rational numbers; None where they are not: ``e^s``, and ``2^s`` unless s is whole."""
    if name == "identity":
        return list(scores)
    if name == "exp2" and all(s.denominator == 1 and abs(s) <= SAFE_EXPONENT for s in scores):
        return [Fraction(2) ** int(s) - 1 for s in scores]
    return None


def exact_discounts(name: DiscountName, m: int, cutoff: float = math.inf) -> list[Fraction]:
    """Return ``1 / F(j)`` as rational numbers for positions j = 1..m, zero after `cutoff`.

    Logarithms are rounded to 6 decimals: proofs with them hold for that table.
    """
    table = discounts(name, m, cutoff)
    if name == "reciprocal":
        return [Fraction(1, j) if table[j - 1] else Fraction(0) for j in range(1, m + 1)]
    scale = 10**DECIMALS
    return [Fraction(round(float(d) * scale), scale) for d in table]


SatisfactionName: TypeAlias = Literal["exp2", "logistic"]
"""G(s): ``(2^s - 1) / 2^top``, held within [0, 1], or ``1 / (1 + e^-s)``."""


# Formulas of one number or of arrays: compiled forms are made of them, see `rankbench.kernels.declared`.


def _exp2_satisfaction(score: Any, top: float) -> Any:
    raised = power_of_two(np.minimum(score, top + 1.0) - top) - power_of_two(-top)
    return np.minimum(np.maximum(raised, 0.0), 1.0)


def _logistic(score: Any, top: float) -> Any:
    e = np.exp(-np.abs(score))
    return ((score > 0.0) + e * (score <= 0.0)) / (1.0 + e)


SATISFACTIONS: dict[SatisfactionName, Callable[[Any, float], Any]] = {"exp2": _exp2_satisfaction, "logistic": _logistic}
"""G(score), the largest grade given, which `logistic` has no use for."""


def satisfaction(name: SatisfactionName, scores: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Return G(s_j) in [0, 1], shape (m,).

    Parameters
    ----------
    name : {"exp2", "logistic"}
    scores : ndarray of float64, shape (m,)
    top : float
        Largest grade, which satisfies with probability ``1 - 2^-top``; of ``exp2`` only.
    """
    chance: NDArray[np.float64] = SATISFACTIONS[name](scores, top)
    return chance


def exact_satisfaction(name: SatisfactionName, scores: Sequence[Fraction], top: float) -> list[Fraction] | None:
    """Return G(s_j) as rational numbers; None where they are not: ``logistic``, or grades that are not whole."""
    if name != "exp2" or top != int(top) or any(s.denominator != 1 or abs(s) > 1000 for s in scores):
        return None
    scale = Fraction(2) ** int(top)
    return [min(max((Fraction(2) ** int(s) - 1) / scale, Fraction(0)), Fraction(1)) for s in scores]
