"""SciPy's special functions that we call, themselves, without the modules that `scipy.special` imports beside them."""

from __future__ import annotations

from rankbench.lone_modules import lone_module

__all__ = ["bdtr", "betainc", "betaln", "expit", "gammaln", "log_ndtr", "ndtr", "ndtri", "stdtr", "stdtrit"]

_compiled = lone_module("scipy.special", "_ufuncs")

bdtr, betainc, betaln = _compiled.bdtr, _compiled.betainc, _compiled.betaln
expit, gammaln = _compiled.expit, _compiled.gammaln
log_ndtr, ndtr, ndtri = _compiled.log_ndtr, _compiled.ndtr, _compiled.ndtri
stdtr, stdtrit = _compiled.stdtr, _compiled.stdtrit
