"""Numbers that foreign code promised to return: what is something else is refused, never cast.

NumPy turns much into floats without a word: of a complex number it drops a part, of a masked
array the mask; a date becomes nanoseconds, True 1, and None nan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeAlias

from rankbench.errors import PluginError

__all__ = ["Promise", "checked_method", "returned_numbers", "trouble_with"]

Promise: TypeAlias = Literal["array", "number", "number and array", "arrays"]
"""What a method returns: an array of numbers, one number, both in a tuple, or a tuple of arrays."""

_WHOLE = 2**53
"""Up to here float64 has every integer."""

_CALLED = {
    "b": "booleans",
    "c": "complex numbers",
    "m": "durations",
    "M": "dates",
    "O": "Python objects",
    "S": "bytes",
    "U": "texts",
    "T": "texts",
    "V": "records",
}


def trouble_with(value: object, promise: Promise = "array") -> str:
    """Say what makes `value` something else than the real numbers that were promised; empty if nothing."""
    return _read(value, promise)[1]


def _read(value: object, promise: Promise) -> tuple[Any, str]:
    """Return the numbers in `value` and what is wrong with it: whoever uses these numbers uses those that were checked.

    What converts itself is asked once; it may say something else the next time.
    """
    import numpy as np

    if promise in ("number and array", "arrays"):
        if not isinstance(value, tuple | list) or len(value) != 2:
            return None, f"{_called(value)}, not a tuple of two"
        one, trouble = _read(value[0], "number" if promise == "number and array" else "array")
        two, more = _read(value[1], "array")
        return (one, two), trouble or more
    if type(value) is np.ndarray and value.dtype.kind in "fiu":
        array = value
    elif isinstance(value, np.ma.MaskedArray):
        return None, "a masked array; fill it, or leave out what is masked"
    else:
        try:
            array = np.asarray(value)
        except Exception:  # it has other shapes within, or code of its own that fails
            return None, f"{_called(value)}, not numbers"
        if array.dtype.kind not in "fiu":
            what = _CALLED.get(array.dtype.kind, str(array.dtype))
            return None, f"{_called(value)}, not numbers" if array.shape == () else f"{what}, not real numbers"
    if promise == "number":
        if array.shape:
            return None, f"an array of shape {array.shape}, not one number"
        return value if type(value) in (int, float) else array[()], ""
    if array.dtype.kind in "iu" and array.dtype.itemsize > 4 and array.size:
        far = max(int(array.max()), -int(array.min()))
        if far > _WHOLE:
            return None, f"integers up to {far}, beyond 2^53, where float64 makes several of them one"
    return array, ""


def _called(value: object) -> str:
    return f"a value of type {type(value).__name__}" if value is not None else "None"


def returned_numbers(value: object, what: str, promise: Promise = "array") -> Any:
    """Return the numbers in `value`: an array, one number, or a tuple.

    Parameters
    ----------
    value : object
        What was returned.
    what : str
        What it stands for: "scores".
    promise : Promise

    Raises
    ------
    PluginError
        It is not what was promised.
    """
    found, trouble = _read(value, promise)
    if trouble:
        raise PluginError(f"{what}: returned {trouble}")
    return found


def checked_method(function: Callable[..., Any], promise: Promise) -> Callable[..., Any]:
    """Return a component's method that keeps its promise, or raises `PluginError`."""

    @wraps(function)
    def keeping(self: Any, *arguments: Any, **named: Any) -> Any:
        returned = function(self, *arguments, **named)
        return returned_numbers(returned, f"{self.kind} {self.name!r}, {function.__name__}", promise)

    keeping.__dict__["keeps"] = promise
    return keeping
