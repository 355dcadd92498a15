"""Questions are values whose fields become options of the command line, and keywords of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from pydantic import ConfigDict, ValidationError

from rankbench.core.component import Record, first_problem
from rankbench.errors import SpecError


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
    """

    name: str = ""
    metavar: str = ""
    names: str = ""
    flag_value: str = ""
    may_be_empty: bool = False


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


_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
"""Words for bounds of numbers, by pydantic's name of what breaks them."""
