"""What is checked: a component, or a suite's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankbench.component import Component
from rankbench.errors import SpecError
from rankbench.plugin.kinds import SUITE
from rankbench.spec import Spec

__all__ = ["Subject", "specs_at_bounds", "subject_of"]


@dataclass(frozen=True)
class Subject:
    """A component (or a suite's file) under test.

    Attributes
    ----------
    kind : str
        A kind of component, or ``suite``.
    it : Component or Path
        Any, as each check knows the kinds it is for.
    """

    kind: str
    it: Any

    def declares(self, word: str) -> bool:
        """Return whether the component promises a property."""
        return word in self.it.properties

    def __str__(self) -> str:
        return f"{self.kind}/{self.it.stem if self.kind == SUITE else self.it}"


def specs_at_bounds(cls: type[Component]) -> list[str]:
    """Return a component's specs with one parameter each at a bound that it may take, the lower one if there are two.

    A solver's budget is left out: with the smallest there is nothing to promise.
    """
    found = []
    for name, field in cls.parameters().items():
        bounds = [
            value
            for bound in ("ge", "le")
            for constraint in field.metadata
            if isinstance(value := getattr(constraint, bound, None), int | float)
        ]
        if field.annotation not in (int, float) or not bounds or name == getattr(cls, "budget", None):
            continue
        try:
            found.append(str(cls.from_spec(Spec(cls.name, {name: field.annotation(bounds[0])}))))
        except SpecError:
            continue  # another parameter does not go with it, or has no default
    return [text for text in dict.fromkeys(found) if text != cls.name]


def subject_of(obj: object) -> Subject:
    """Return what `obj` is to the checks.

    Parameters
    ----------
    obj : Component, component class, or Path of a suite's TOML file
        A class stands for the component with all parameters at their defaults.

    Raises
    ------
    SpecError
        It is none of these, or a class whose parameters have no defaults.
    """
    if isinstance(obj, Path):
        return Subject(SUITE, obj)
    if isinstance(obj, type) and issubclass(obj, Component):
        required = [name for name, field in obj.parameters().items() if field.is_required()]
        if required:
            raise SpecError(f"{obj.__name__} needs {required[0]!r}; check an instance of it")
        obj = obj()
    if not isinstance(obj, Component):
        raise SpecError(f"{obj!r} is neither a component nor the path of a suite")
    kind = getattr(obj, "kind", None)
    if not isinstance(kind, str):
        raise SpecError(f"{type(obj).__name__} does not derive from the base class of a kind")
    return Subject(kind, obj)
