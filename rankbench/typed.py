"""Validated models whose numbers are numbers, whose booleans are booleans, and whose texts are neither."""

from __future__ import annotations

import types
from collections.abc import Iterator
from numbers import Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationInfo, field_validator

__all__ = ["Typed"]

_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "a text"}


class Typed(BaseModel):
    """A model that reads no value as one of another type.

    Pydantic by itself takes ``true`` and ``"1"`` for the number 1, and 1, ``"on"`` and ``"y"``
    for true. Whole numbers stand for floats, and floats without a fraction for whole numbers:
    ``1e5`` is how one writes a hundred thousand.
    """

    @field_validator("*", mode="before", check_fields=False)
    @classmethod
    def _of_its_type(cls, value: object, info: ValidationInfo) -> object:
        field = cls.model_fields[info.field_name or ""]
        _check(value, field.annotation)
        return value


def _check(value: object, annotation: object) -> None:
    """Refuse a plain value that none of the types of an annotation stands for; leave the others to pydantic."""
    options = list(_options(annotation))
    if isinstance(value, list | tuple):
        inner = [get_args(option)[0] for option in options if get_origin(option) in (list, tuple, set, frozenset)]
        if len(inner) == 1:
            for one in value:
                _check(one, inner[0])
        return
    expected = [option for option in options if option in _WORDS]
    closed = all(option in _WORDS or option is type(None) or get_origin(option) is Literal for option in options)
    if expected and closed and not any(_is(value, option) for option in options):
        listed = [repr(word) for option in options if get_origin(option) is Literal for word in get_args(option)]
        wanted = " or ".join(dict.fromkeys([*(_WORDS[option] for option in expected), *listed]))
        shown = str(value).lower() if _is(value, bool) else repr(value)
        raise ValueError(f"must be {wanted}, not {shown}")


def _options(annotation: object) -> Iterator[Any]:
    """Yield the types that an annotation is a union of."""
    while hasattr(annotation, "__value__"):  # ``type Name = ...``, from Python 3.12 on
        annotation = annotation.__value__
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _options(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _options(part)
    else:
        yield annotation


def _is(value: object, option: object) -> bool:
    """Return whether a value is of a plain type; NumPy's own scalars are."""
    if get_origin(option) is Literal:
        return any(type(value) is type(word) and value == word for word in get_args(option))
    if option is type(None):
        return value is None
    boolean = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if option is bool:
        return boolean
    if option in (int, float):
        return isinstance(value, Real) and not boolean
    return isinstance(value, str)
