"""Kernels of one signature as the typed list of first-class functions that a compiled loop reads.

numba's own ``List.append`` takes every compiled function for a type of its own and is compiled again for each, a
third of a second that no cache keeps, in each process that computes something. Here functions are of the one type
that their signature says, so that what makes a list is compiled once a signature and found in the cache from then on.

This module imports numba; import it only where kernels are run.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.runtime import prepare

prepare()  # numba reads its cache folder from the environment when it is first imported

from numba import njit, types  # noqa: E402
from numba.typed import List  # noqa: E402

__all__ = ["functions", "vectors"]

_kept: set[Any] = set()
"""All functions that have been listed: a list holds their addresses, and keeps nothing alive."""


def functions(signature: Any, members: Iterable[Any]) -> Any:
    """Return kernels of one signature as a typed list of first-class functions.

    Parameters
    ----------
    signature : numba signature
        One of `rankbench.kernels`.
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
    listed = _empty(of)
    append = _append(of)
    for member in members:
        append(listed, member)
    return listed


@njit(cache=True)
def _empty(of):  # type: ignore[no-untyped-def]
    return List.empty_list(of)


@cache
def _append(of: Any) -> Any:
    """Return the append to lists of a type, compiled for that alone: it takes no function for a type of its own."""
    return njit(types.void(types.ListType(of), of), cache=True)(_appended)  # type: ignore[no-untyped-call]


def _appended(listed, member):  # type: ignore[no-untyped-def]
    listed.append(member)
