"""G of the ERR family, [DMJ13]_ eq. (16): the probability that an item satisfies, by name.

The losses (16) and the order-preserving surrogate for them share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.discounts import power_of_two

__all__ = ["SATISFACTIONS", "SatisfactionName", "exact_satisfaction", "satisfaction"]

SatisfactionName: TypeAlias = Literal["exp2", "logistic"]
"""G(s): ``(2^s - 1) / 2^top``, held within [0, 1], or ``1 / (1 + e^-s)``."""


# Formulas of one number or of arrays: compiled forms are made of them, see `rankbench.kernels.formulas`.


def _exp2(score: Any, top: float) -> Any:
    raised = power_of_two(np.minimum(score, top + 1.0) - top) - power_of_two(-top)
    return np.minimum(np.maximum(raised, 0.0), 1.0)


def _logistic(score: Any, top: float) -> Any:
    e = np.exp(-np.abs(score))
    return ((score > 0.0) + e * (score <= 0.0)) / (1.0 + e)


SATISFACTIONS: dict[SatisfactionName, Callable[[Any, float], Any]] = {"exp2": _exp2, "logistic": _logistic}
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
