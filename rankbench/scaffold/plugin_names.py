"""What a new plugin or suite may be called, and what follows from its name."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from dataclasses import dataclass

from rankbench.errors import SpecError

__all__ = ["Names", "kebab"]

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_RESERVED = frozenset({"inf", "true", "false", "nan"})
_RUN_BY_OTHERS = frozenset({"conftest", "setup", "sitecustomize", "usercustomize"})
"""Modules that Python, pip or pytest run when they find them."""

LONGEST = 60


def kebab(name: str, what: str) -> str:
    """Return `name` if it is a kebab-case name that can be used.

    Raises
    ------
    SpecError
        It is not.
    """
    if not _KEBAB.match(name) or name in _RESERVED or len(name) > LONGEST:
        raise SpecError(
            f"{name!r} cannot be the name of a {what}: small letters and digits in parts with hyphens between, "
            f"as in 'smooth-hinge', at most {LONGEST}"
        )
    return name


@dataclass(frozen=True)
class Names:
    """All names of a new plugin.

    Attributes
    ----------
    distribution : str
        ``rankbench-smooth-hinge``, as the package index will know it.
    component : str
        ``smooth-hinge``, as people will write it.
    """

    distribution: str
    component: str

    @classmethod
    def from_distribution(cls, distribution: str) -> Names:
        """Derive them from the distribution's name.

        Raises
        ------
        SpecError
            It is no name for a distribution, or Python could not import its module.
        """
        component = kebab(distribution, "plugin").removeprefix("rankbench-")
        names = cls(distribution, kebab(component, "component"))
        module = names.module
        if keyword.iskeyword(module) or module in sys.stdlib_module_names:
            raise SpecError(f"{distribution!r} would be the module {module!r}, which is Python's own; choose another")
        if module in _RUN_BY_OTHERS:
            raise SpecError(f"{distribution!r} would be the module {module!r}, which tools run unasked; choose another")
        if importlib.util.find_spec(module) is not None:
            raise SpecError(f"{distribution!r} would be the module {module!r}, which is installed; choose another name")
        return names

    @property
    def module(self) -> str:
        """Name of the module: ``rankbench_smooth_hinge``."""
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        """Name of the component's class: ``SmoothHinge``."""
        return "".join(part.capitalize() for part in self.component.split("-"))
