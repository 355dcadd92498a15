"""Declared functions are compiled with the types of their annotations, or loaded from numba's cache; and typed lists.

That is done when a module of kernels is imported, some five milliseconds a function: import such a module only where
something is computed with it. A function is defined below its callees.

numba's own ``List.append`` takes every compiled function for a type of its own and is compiled again for each, a
third of a second that no cache keeps, in each process that computes something. Here functions are of the one type
that their signature says, so that what makes a list is compiled once a signature and found in the cache from then on.

The types of a function are said once, in its annotations: an array is one of the names below, or an ``Annotated`` array
with its numba type; arrays that go together are a named tuple of such, which numba takes without conversion: what is
read-only in it must be so when it is called.

A formula is a plain function of numbers that is written with NumPy's elementwise functions alone: called on arrays it
is its own NumPy form. Here it takes its place in a compiled loop, so that it stands nowhere twice.

This module imports numba; import it only where kernels are run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from types import FunctionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import config, njit, types
from numba.core.errors import NumbaError
from numba.extending import register_jitable
from numba.typed import List
from numpy.typing import NDArray

from rankbench.kernels.signatures import PHI

Function = TypeVar("Function", bound=Callable[..., Any])


def _read_only(dtype: Any, dimensions: int) -> Any:
    return types.Array(dtype, dimensions, "C", readonly=True)


Vector = Annotated[NDArray[np.float64], types.float64[::1]]
Matrix = Annotated[NDArray[np.float64], types.float64[:, ::1]]
Index = Annotated[NDArray[np.int32], types.int32[::1]]
Rows = Annotated[NDArray[np.int64], types.int64[::1]]
Flags = Annotated[NDArray[np.bool_], types.boolean[::1]]
ReadVector = Annotated[NDArray[np.float64], _read_only(types.float64, 1)]
ReadMatrix = Annotated[NDArray[np.float64], _read_only(types.float64, 2)]
ReadIndex = Annotated[NDArray[np.int32], _read_only(types.int32, 1)]
ReadRows = Annotated[NDArray[np.int64], _read_only(types.int64, 1)]
Bytes = Annotated[NDArray[np.uint8], _read_only(types.uint8, 1)]
"""Arrays of compiled functions. Those of `Read..`, and `Bytes`, are not written to: they may be mapped into memory."""

_SCALARS: dict[Any, Any] = {
    int: types.int64,
    float: types.float64,
    bool: types.boolean,
    np.float32: types.float32,
    np.uint64: types.uint64,
    type(None): types.void,
}


def annotated_signatures(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the signatures in annotations: one, or one for each type that an array may have."""
    made = _alternatives(get_type_hints(function, include_extras=True))
    return tuple(result(*arguments) for *arguments, result in made)


def _alternatives(hints: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the types that hints declare: once, or once for each of the types that an array may have."""
    found = [_numba_types(hint) for hint in hints.values()]
    return [tuple(each[k % len(each)] for each in found) for k in range(max(map(len, found)))]


def _numba_types(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1:]
    if get_origin(hint) is tuple:
        return (types.Tuple([_numba_types(member)[0] for member in get_args(hint)]),)  # type: ignore[no-untyped-call]
    if hasattr(hint, "_fields"):
        made = _alternatives(get_type_hints(hint, include_extras=True))
        return tuple(types.BaseTuple.from_types(members, hint) for members in made)  # type: ignore[no-untyped-call]
    return (_SCALARS[hint],)


def declared(*signatures: Any, **options: Any) -> Callable[[Function], Function]:
    """Declare that a function is compiled for these signatures and no others; kept in the cache, without Python's lock.

    Parameters
    ----------
    signatures : numba signatures
        Those of the function's annotations by default: see `annotated_signatures`.
    options
        As for ``numba.njit``.
    """

    def declare(function: Function) -> Function:
        types_of_calls = list(signatures or annotated_signatures(function))
        cached = bool(config.CACHE_DIR)  # type: ignore[attr-defined]
        try:
            return njit(types_of_calls, nogil=True, cache=cached, **options)(function)  # type: ignore[return-value]
        except NumbaError:
            raise
        except Exception:  # a file of the cache that is damaged raises anything, a full disk OSError
            return njit(types_of_calls, nogil=True, **options)(function)  # type: ignore[return-value]

    return declare


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
    """Return functions that make a list of a type and append to it, compiled for that type.

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


Formula = Callable[..., Any]
"""A scalar formula."""


@cache
def jitable(formula: Formula) -> Formula:
    """Register a formula so that compiled functions may call it, and return it."""
    register_jitable(formula)
    return formula


def looped(loop: Formula, signature: Any, **formulas: Formula) -> Any:
    """Return a loop compiled with formulas in place of its callees of these names.

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
