"""SciPy's LAPACK routines that we call, themselves, without the modules that `scipy.linalg` imports beside them.

The library is the one that numba's products go by, too: whoever imports this has loaded it.
"""

from __future__ import annotations

from rankbench.lone_modules import lone_module

__all__ = ["dpotrf", "dpotri", "dpotrs"]

_compiled = lone_module("scipy.linalg", "_flapack")

dpotrf, dpotri, dpotrs = _compiled.dpotrf, _compiled.dpotri, _compiled.dpotrs
