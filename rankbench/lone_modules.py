"""A module of a package without the rest of it, which is imported when somebody asks the package for more.

``import scipy.special._ufuncs`` executes ``scipy/special/__init__.py`` first. That imports NumPy's compiler of Fortran
and takes docstrings apart, a tenth of a second or more, for functions that are all in one compiled file.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

__all__ = ["lone_functions", "lone_module"]


def lone_module(package: str, name: str) -> ModuleType:
    """Import a module of a package, and of the package itself nothing yet.

    Parameters
    ----------
    package : str
        Its ``__init__.py`` is executed when it is asked for an attribute that it has not got: who imports it
        elsewhere finds all that is in it. It should do nothing but define names.
    name : str
        A module of the package.

    Raises
    ------
    ImportError
        There is no such package, or no such module.
    """
    if package not in sys.modules:
        sys.meta_path.insert(0, _Later(package))
    return importlib.import_module(f"{package}.{name}")


def lone_functions(package: str, name: str, wanted: Sequence[str], public: str) -> list[Any]:
    """Return functions out of a module of a package that is the package's own business, if they are there.

    Parameters
    ----------
    package, name : str
        See `lone_module`.
    wanted : sequence of str
    public : str
        The module that promises these functions: they are taken from there in a version that has them elsewhere.
    """
    with suppress(ImportError):
        found = lone_module(package, name)
        if all(hasattr(found, one) for one in wanted):
            return [getattr(found, one) for one in wanted]
    promised = importlib.import_module(public)
    return [getattr(promised, one) for one in wanted]


class _Later:
    """Finds a package, which is not executed yet, and a module that is in no file: who imports that executes it.

    So Python's own locks hold, where several threads ask the package for something.
    """

    def __init__(self, package: str) -> None:
        self.package, self.whole = package, f"{package}._whole"
        self.module: ModuleType | None = None

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name == self.whole and self.module is not None:
            return ModuleSpec(name, self)  # type: ignore[arg-type]
        if name != self.package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        self.execute = spec.loader.exec_module
        setattr(spec.loader, "exec_module", self.wait)  # noqa: B010
        return spec

    def wait(self, module: ModuleType) -> None:
        """Execute the package when it is asked for what it has not got."""
        self.module = module
        setattr(module, "__getattr__", self.missing)  # noqa: B010

    def missing(self, attribute: str) -> Any:
        """Return an attribute of the package, which is executed before."""
        # What is special to Python is asked for of every module, but for the list of what a star stands for.
        if not attribute.startswith("__") or attribute == "__all__":
            importlib.import_module(self.whole)
        try:
            return vars(self.module)[attribute]
        except KeyError:
            raise AttributeError(f"module {self.package!r} has no attribute {attribute!r}") from None

    def create_module(self, spec: ModuleSpec) -> None:
        """Have Python make a module as it always does."""

    def exec_module(self, made: ModuleType) -> None:
        """Execute the package."""
        module = sys.modules[self.package]
        self.execute(module)
        if vars(module).get("__getattr__") == self.missing:
            delattr(module, "__getattr__")
