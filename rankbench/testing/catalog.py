"""The checks there are: each with its name, the kinds it is for, and one sentence."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rankbench.errors import SpecError, nearest
from rankbench.testing.subjects import Subject

__all__ = ["Check", "all_checks", "checks_for", "conformance_check", "registered_check"]


F = TypeVar("F", None, "str | None")


@dataclass(frozen=True)
class Check:
    """One conformance check.

    Attributes
    ----------
    name : str
        Kebab-case.
    function : callable
        Raises `CheckFailed` or `CheckSkipped`; returns nothing, or what there is to report of one that passed.
    kinds : tuple of str
        The kinds of components that it is for; empty: all of them.
    family : str
        The module it stands in.
    """

    name: str
    function: Callable[[Subject], str | None]
    kinds: tuple[str, ...]
    family: str

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    def applies(self, kind: str) -> bool:
        """Return whether the check is for components of this kind."""
        return not self.kinds or kind in self.kinds


_checks: dict[str, Check] = {}


def conformance_check(*kinds: str) -> Callable[[Callable[[Subject], F]], Callable[[Subject], F]]:
    """Enter a function among the checks, under its name with hyphens, for these kinds (none: all)."""

    def enter(function: Callable[[Subject], F]) -> Callable[[Subject], F]:
        name = function.__name__.replace("_", "-")
        _checks[name] = Check(name, function, kinds, function.__module__.rpartition(".")[2])
        return function

    return enter


def all_checks() -> list[Check]:
    """Return every check, family by family."""
    from rankbench.testing import checks

    for module in pkgutil.iter_modules(checks.__path__):
        importlib.import_module(f"{checks.__name__}.{module.name}")
    return sorted(_checks.values(), key=lambda c: c.family)


def checks_for(kind: str) -> list[Check]:
    """Return the checks of one kind of component."""
    return [found for found in all_checks() if found.applies(kind)]


def registered_check(name: str) -> Check:
    """Return the check of that name.

    Raises
    ------
    SpecError
        There is none; the message has the nearest.
    """
    by_name = {found.name: found for found in all_checks()}
    if name not in by_name:
        raise SpecError(f"there is no check {name!r}{nearest(name, by_name)}")
    return by_name[name]
