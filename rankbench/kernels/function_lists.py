"""Kernels of one signature as the typed list of first-class functions that a compiled loop reads.

numba's own ``List.append`` takes every compiled function for a type of its own and is compiled again for each, a
third of a second that no cache keeps, in each process that computes something. Here functions are of the one type
that their signature says, so that what makes a list is compiled once a signature and found in the cache from then on.

This module imports numba; import it only where kernels are run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types
from numba.typed import List
from numpy.typing import NDArray

__all__ = ["functions", "vectors"]

_kept: set[Any] = set()
"""All functions that have been listed: a list holds their addresses, and keeps nothing alive."""


def functions(signature: Any, members: Iterable[Any]) -> Any:
    """Return kernels of one signature as a typed list of first-class functions.

    Parameters
    ----------
    signature : numba signature
        One of `rankbench.kernels.signatures`.
    members : iterable of numba dispatchers

    Raises
    ------
    TypeError
        One of them cannot be compiled with this signature.
    """
    kept = list(members)
    _kept.update(kept)
    return _listed(types.FunctionType(signature), kept)


def vectors(members: Iterable[NDArray[np.float64]]) -> Any:
    """Return contiguous vectors of float64, which may be written to, as a typed list."""
    return _listed(types.float64[::1], members)


def _listed(of: Any, members: Iterable[Any]) -> Any:
    empty, append = _made_for(of)
    listed = empty(of)
    for member in members:
        append(listed, member)
    return listed


@cache
def _made_for(of: Any) -> tuple[Any, Any]:
    """Return what makes a list of a type, and its append, compiled for that type.

    Each is a copy with a name for the type, which numba caches in a file of its own: processes that
    add two signatures to one file at the same time could find the machine code of the other one.
    """
    listed = types.ListType(of)  # type: ignore[no-untyped-call]
    mark = hashlib.blake2b(str(of).encode(), digest_size=8).hexdigest()
    signatures = ((_empty, listed(types.TypeRef(of))), (_append, types.void(listed, of)))
    made = []
    for function, signature in signatures:
        own = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_{mark}")
        own.__qualname__ = own.__name__
        made.append(njit(signature, cache=True)(own))
    return made[0], made[1]


def _empty(of):  # type: ignore[no-untyped-def]
    return List.empty_list(of)


def _append(listed, member):  # type: ignore[no-untyped-def]
    listed.append(member)
