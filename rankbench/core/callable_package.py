"""A package can be called where it and its one function have the same name, as `rankbench.audit`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that can be called: ``rankbench.audit(...)`` calls `rankbench.audit.audit.audit`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the package's name, in the module of its name."""
        name = self.__name__.rpartition(".")[2]
        module = __import__(f"{self.__name__}.{name}", fromlist=[name])
        return getattr(module, name)(*arguments, **options)


def make_callable(package: str) -> None:
    """Make an imported package one that can be called."""
    sys.modules[package].__class__ = CallablePackage
