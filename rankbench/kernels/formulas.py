"""Compiled forms of scalar formulas, such as the phi of a surrogate.

A formula is a plain function of numbers that is written with NumPy's elementwise functions alone: called on arrays it
is its own NumPy form. Here it takes its place in a compiled loop, so that it stands nowhere twice.

This module imports numba; import it only where kernels are run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import PHI

__all__ = ["Formula", "elementwise", "jitable", "looped"]

Formula = Callable[..., Any]
"""A scalar formula."""


@cache
def jitable(formula: Formula) -> Formula:
    """Return a formula as it is; compiled functions may call it from now on."""
    register_jitable(formula)
    return formula


def looped(loop: Formula, signature: Any, **formulas: Formula) -> Any:
    """Return a loop compiled with formulas in the place of what it calls by these names.

    Parameters
    ----------
    loop : callable
        A function as for ``numba.njit``; the names of the formulas are free in it.
    signature : numba signature or list of them
    formulas : callable
        At least one. The compiled loop is kept in the cache as a function of the first one's file and name:
        an edit there compiles it again, and a plugin's is kept with what else is the plugin's.
    """
    of = next(iter(formulas.values())).__code__
    name = "_".join([loop.__name__, *(formula.__qualname__ for formula in formulas.values())])
    code = loop.__code__.replace(co_filename=of.co_filename, co_firstlineno=of.co_firstlineno, co_name=name)
    names = loop.__globals__ | {name: jitable(formula) for name, formula in formulas.items()}
    made = FunctionType(code, names, name)
    made.__qualname__ = name
    return declared(signature)(made)


@cache
def elementwise(formula: Formula) -> Any:
    """Return the kernel (`PHI`) that writes a formula of each margin; it has no parameters."""
    return looped(_each, PHI, formula=formula)


def _each(margins: NDArray[np.float64], params: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for i in range(margins.shape[0]):
        out[i] = formula(margins[i])  # type: ignore[name-defined]  # noqa: F821
