"""A module of a package without the rest of it, which is imported when somebody imports the package.

``import scipy.special._ufuncs`` executes ``scipy/special/__init__.py`` first. That imports NumPy's compiler of Fortran
and takes docstrings apart, a tenth of a second or more, for functions that are all in one compiled file.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

__all__ = ["lone_functions", "lone_module"]


def lone_module(package: str, name: str) -> ModuleType:
    """Import a module of a package, and leave the package itself to be imported by whoever wants it.

    Parameters
    ----------
    package : str
        Of which nothing stays but this module, and what that imports out of the package.
    name : str
        A module of the package.

    Raises
    ------
    ImportError
        There is no such package, or no such module.
    """
    full = f"{package}.{name}"
    if package in sys.modules or full in sys.modules:
        return importlib.import_module(full)
    finder = _InnerFirst(package, full)
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module(package)
    except _InnerIsThereError:
        sys.meta_path.insert(0, _AfterInner(package))
        return sys.modules[full]
    finally:
        sys.meta_path.remove(finder)
    # A package without a source file: it has been imported as a whole.
    return importlib.import_module(full)


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


class _InnerIsThereError(Exception):
    """Ends the import of a package, which Python then takes for not imported."""


class _InnerFirst:
    """Finds a package that imports one of its modules in place of what is in its file, and then fails.

    Python's lock of the package is held meanwhile: a thread that imports it waits, and then imports it itself.
    """

    def __init__(self, package: str, inner: str) -> None:
        self.package, self.inner = package, inner

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        spec = _source_of(name, path, target) if name == self.package else None
        if spec is not None:
            spec.loader = _Instead(self.inner)
        return spec


class _Instead(Loader):
    def __init__(self, inner: str) -> None:
        self.inner = inner

    def exec_module(self, module: ModuleType) -> None:
        importlib.import_module(self.inner)
        raise _InnerIsThereError


class _AfterInner:
    """Finds a package some of whose modules have been imported before it: they are attributes of it, as always."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name != self.package:
            return None
        with suppress(ValueError):
            sys.meta_path.remove(self)
        spec = _source_of(name, path, target)
        if spec is not None:
            spec.loader = _WithInner(name, str(spec.origin))
        return spec


class _WithInner(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        start = f"{module.__name__}."
        for name, inner in list(sys.modules.items()):
            if name.startswith(start) and "." not in name[len(start) :]:
                setattr(module, name[len(start) :], inner)
        super().exec_module(module)


def _source_of(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Return where a package's source file is; None if it has none."""
    spec = PathFinder.find_spec(name, path, target)
    return spec if spec is not None and type(spec.loader) is SourceFileLoader else None
