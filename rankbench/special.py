"""SciPy's special functions that we call, themselves, without the modules that `scipy.special` imports beside them."""

from __future__ import annotations

from rankbench.lone_modules import lone_functions

__all__ = ["bdtr", "betainc", "betaln", "expit", "gammaln", "log_ndtr", "ndtr", "ndtri", "stdtr", "stdtrit"]

bdtr, betainc, betaln, expit, gammaln, log_ndtr, ndtr, ndtri, stdtr, stdtrit = lone_functions(
    "scipy.special", "_ufuncs", __all__, public="scipy.special"
)
