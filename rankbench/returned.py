"""Numbers that foreign code promised to return: what is something else is refused, never cast.

NumPy turns much into floats without a word: of a complex number it drops a part, of a masked
array the mask; a date becomes nanoseconds, True 1, and None nan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeAlias

from rankbench.errors import PluginError

__all__ = ["Promise", "checked", "numbers", "trouble_with"]

Promise: TypeAlias = Literal["array", "number", "number and array", "arrays"]
"""What a method returns: an array of numbers, one number, both in a tuple, or a tuple of arrays."""

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
    import numpy as np

    if promise in ("number and array", "arrays"):
        if not isinstance(value, tuple | list) or len(value) != 2:
            return f"{_called(value)}, not a tuple of two"
        first: Promise = "number" if promise == "number and array" else "array"
        return trouble_with(value[0], first) or trouble_with(value[1])
    if type(value) is np.ndarray and value.dtype.kind in "fiu":
        array = value
    elif isinstance(value, np.ma.MaskedArray):
        return "a masked array; fill it, or leave out what is masked"
    else:
        try:
            array = np.asarray(value)
        except Exception:  # it has other shapes within, or code of its own that fails
            return f"{_called(value)}, not numbers"
        if array.dtype.kind not in "fiu":
            what = _CALLED.get(array.dtype.kind, str(array.dtype))
            return f"{_called(value)}, not numbers" if array.shape == () else f"{what}, not real numbers"
    return f"an array of shape {array.shape}, not one number" if promise == "number" and array.shape else ""


def _called(value: object) -> str:
    return f"a value of type {type(value).__name__}" if value is not None else "None"


def numbers(value: object, what: str, promise: Promise = "array") -> Any:
    """Return `value` as it is.

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
    trouble = trouble_with(value, promise)
    if trouble:
        raise PluginError(f"{what}: returned {trouble}")
    return value


def checked(function: Callable[..., Any], promise: Promise) -> Callable[..., Any]:
    """Return a component's method that keeps its promise, or raises `PluginError`."""

    @wraps(function)
    def keeping(self: Any, *arguments: Any, **named: Any) -> Any:
        returned = function(self, *arguments, **named)
        return numbers(returned, f"{self.kind} {self.name!r}, {function.__name__}", promise)

    keeping.__dict__["keeps"] = promise
    return keeping
