"""SciPy's LAPACK routines that we call, themselves, without the modules that `scipy.linalg` imports beside them.

The library is the one that numba's products go by, too: whoever imports this has loaded it.
"""

from __future__ import annotations

from rankbench.lone_modules import lone_functions

__all__ = ["dpotrf", "dpotri", "dpotrs"]

dpotrf, dpotri, dpotrs = lone_functions("scipy.linalg", "_flapack", __all__, public="scipy.linalg.lapack")
