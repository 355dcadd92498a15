"""Compiled G of the ERR family, see `rankbench.satisfaction`."""

from __future__ import annotations

import math

from numba import njit, types

from rankbench.kernels.gains import power_of_two
from rankbench.satisfaction import SatisfactionName

__all__ = ["SATISFACTION_CODES", "satisfied"]

EXP2, LOGISTIC = 0, 1
SATISFACTION_CODES: dict[SatisfactionName, int] = {"exp2": EXP2, "logistic": LOGISTIC}


@njit(types.float64(types.float64, types.float64, types.float64), cache=True, nogil=True)
def satisfied(score: float, code: float, top: float) -> float:
    """Return G(score) in [0, 1]."""
    if int(code) == LOGISTIC:
        e = math.exp(-abs(score))
        return (1.0 if score > 0.0 else e) / (1.0 + e)
    return min(max(power_of_two(min(score, top + 1.0) - top) - power_of_two(-top), 0.0), 1.0)
