"""Questions are values whose fields become options of the command line, and keywords of Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, ConfigDict, ValidationError

from rankbench.core.component import Record, first_problem
from rankbench.errors import OptionError, SpecError


@dataclass(frozen=True)
class Offered:
    """An option of the command line that a field of a question becomes, with the field's name, type and description.

    The description is the text below the field, with other options in backticks.

    Attributes
    ----------
    name : str
        Its name; empty: the field's.
    metavar : str
        Words for its value.
    names : str
        Kinds of component whose names complete it, separated by spaces.
    flag_value : str
        Value where the option stands without one.
    may_be_empty : bool
        An empty text has a meaning, and is no variable of the shell that is not set.
    location : bool
        It says where an answer is computed, which changes nothing of it: JSON leaves it out.
    """

    name: str = ""
    metavar: str = ""
    names: str = ""
    flag_value: str = ""
    may_be_empty: bool = False
    location: bool = False


class QuestionRecord(Record):
    """What a function is asked: options with their meanings, which refuses those that do not go together."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Return the question that options ask.

        Raises
        ------
        SpecError
            An option that does not exist, a value out of range, or options that do not go together.
        """
        try:
            return cls(**options)
        except ValidationError as error:
            first = error.errors()[0]
            if isinstance(said := first.get("ctx", {}).get("error"), SpecError):
                raise said from None
            path, message = first_problem(error)
            if bound := _BOUNDS.get(first["type"]):
                raise SpecError(f"{path} must be {bound.format(**first['ctx'])}, not {first['input']}") from error
            raise SpecError(f"{path}: {message}") from error

    def asked(self) -> dict[str, Any]:
        """Return the value of every option that may change the answer, for JSON."""
        return {
            name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if not any(isinstance(one, Offered) and one.location for one in field.metadata)
        }

    def given(self, *names: str) -> list[str]:
        """Return the options that differ from their defaults, of some."""
        return [name for name in names if getattr(self, name) != type(self).model_fields[name].default]

    def refuse_together(self, name: str, why: str, *others: str) -> None:
        """Raise `OptionError` if an option was given, and others that it excludes."""
        if self.given(name) and (both := self.given(*others)):
            raise OptionError(name, why, excludes=both)

    def refuse_alone(self, name: str, why: str, other: str) -> None:
        """Raise `OptionError` if an option was given without another that it needs: a keyword, or ``keyword=VALUE``."""
        if self.given(name) and not self.given(other.partition("=")[0]):
            raise OptionError(name, why, needs=other)

    def refuse_half_a_cluster(self) -> None:
        """Raise `OptionError` for the executor ``dask`` without an address, or an address without it."""
        self.refuse_alone("executor", "takes the workers of a cluster", "address=tcp://HOST:PORT")
        self.refuse_alone("address", "is of a cluster's scheduler", "executor=dask")


def _different(given: object) -> object:
    """Return different names; one text stands for a sequence of one."""
    several = (given,) if isinstance(given, str) else given
    return tuple(dict.fromkeys(several)) if isinstance(several, Iterable) else several


DifferentNames: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_different)]
"""Different names."""


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: components, paths and infinite numbers as text."""
    if type(value) in (list, tuple):
        return [_plain(one) for one in value]
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if value is None or (isinstance(value, bool | int | float | str) and finite) else str(value)


_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
"""Words for bounds of numbers, by pydantic's name of what breaks them."""
