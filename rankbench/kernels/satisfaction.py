"""Compiled G of the ERR family, see `rankbench.satisfaction`."""

from __future__ import annotations

from numba import types

from rankbench.kernels import gains  # noqa: F401  # with the compiled power of two
from rankbench.kernels.declared import declared
from rankbench.kernels.formulas import jitable
from rankbench.satisfaction import SATISFACTIONS, SatisfactionName

__all__ = ["SATISFACTION_CODES", "satisfied"]

EXP2, LOGISTIC = 0, 1
SATISFACTION_CODES: dict[SatisfactionName, int] = {"exp2": EXP2, "logistic": LOGISTIC}

_exp2, _logistic = jitable(SATISFACTIONS["exp2"]), jitable(SATISFACTIONS["logistic"])


@declared(types.float64(types.float64, types.float64, types.float64))
def satisfied(score: float, code: float, top: float) -> float:
    """Return G(score) in [0, 1]."""
    return float(_logistic(score, top) if int(code) == LOGISTIC else _exp2(score, top))
