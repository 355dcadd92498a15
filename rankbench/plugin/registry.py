"""The registry holds the kinds, the one hook, and who registered what.

A plugin is a module (or any object) that an entry point of the group ``rankbench`` names.
It implements the hook as a function decorated with `hookimpl`::

    import rankbench

    @rankbench.hookimpl
    def rankbench_register():
        return [MySurrogate, MyLoss]

The hook takes no arguments, has no side effects, and returns a list. rankbench's own
components are registered in the same way, each family by an entry point of its own.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pluggy

from rankbench.core.code_digest import OURSELVES
from rankbench.core.component import Component
from rankbench.errors import PluginError, SpecError, closest, nearest

GROUP = "rankbench"
"""Entry-point group of plugins, and the project name that pluggy knows."""

HOOK = "rankbench_register"
"""Name of the one hook."""

hookspec = pluggy.HookspecMarker(GROUP)

hookimpl = pluggy.HookimplMarker(GROUP)
"""Decorator that marks a plugin's function as the implementation of a hook."""


@hookspec
def rankbench_register() -> list[type[Component] | Path]:
    """Return component classes, suite files and format files, of any kind and in any order.

    Returns
    -------
    list of type[Component] or pathlib.Path
        Classes, not instances: a class has its kind from its base (`rankbench.Aggregator`,
        ...). A path is that of a suite's TOML file, or of a known format's (``NAME.format.toml``); its name is the
        file's without these endings. Nothing is read, downloaded or looked up here.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


SUITE, FORMAT = FILES = ("suite", "format")
"""Suites and known formats are listed beside components, but they are files, not classes."""

_FORMAT_ENDING = ".format.toml"


def kind_of_file(path: Path) -> tuple[str, str]:
    """Return whether a file is a suite's or a known format's, and its name without the endings."""
    if path.name.endswith(_FORMAT_ENDING):
        return FORMAT, path.name.removesuffix(_FORMAT_ENDING)
    return SUITE, path.stem


KINDS = {
    "aggregator": ("rankbench.interfaces.aggregator", "Aggregator"),
    "surrogate": ("rankbench.interfaces.surrogate", "Surrogate"),
    "loss": ("rankbench.interfaces.surrogate", "Loss"),
    "optimizer": ("rankbench.interfaces.method", "Optimizer"),
    "model": ("rankbench.interfaces.method", "Model"),
    "method": ("rankbench.interfaces.method", "Method"),
    "protocol": ("rankbench.interfaces.protocol", "Protocol"),
    "reader": ("rankbench.interfaces.dataset", "Reader"),
    "dataset": ("rankbench.interfaces.dataset", "Dataset"),
    "table": ("rankbench.interfaces.table", "TableKind"),
    "claim": ("rankbench.interfaces.claim", "ClaimKind"),
    "figure": ("rankbench.interfaces.figure", "FigureKind"),
}
"""Kinds of components with the module and name of their base classes, each imported when first asked for."""


def kind_of(word: str) -> str:
    """Return the kind, or ``suite``, that a singular or plural word names.

    Raises
    ------
    SpecError
        There is no such kind.
    """
    words = {name: kind for kind in (*KINDS, *FILES) for name in (kind, plural_of(kind))}
    if word not in words:
        raise SpecError(f"there is no kind {word!r}{nearest(word, [*KINDS, *FILES])}")
    return words[word]


def plural_of(kind: str) -> str:
    """Return the plural of a kind, or of ``suite``."""
    return f"{kind}{'es' if kind.endswith('s') else 's'}"


def base_of(kind: str) -> type[Component]:
    """Return the base class of a kind, given by name.

    Raises
    ------
    SpecError
        There is no such kind; the message has the nearest one.
    """
    if kind not in KINDS:
        raise SpecError(f"there is no kind {kind!r} of component{nearest(kind, KINDS)}")
    module, name = KINDS[kind]
    base: type[Component] = getattr(importlib.import_module(module), name)
    return base


def kind_of_class(found: type) -> str:
    """Return the kind of a component class: that of the one kind's base class that it derives from.

    Raises
    ------
    PluginError
        It derives from none of them, or from several.
    """
    # No class derives from a base class whose module has not been imported.
    known = {kind: getattr(sys.modules.get(module), name, None) for kind, (module, name) in KINDS.items()}
    kinds = [kind for kind, base in known.items() if base in found.__mro__]
    if len(kinds) == 1:
        return kinds[0]
    bases = ", ".join(f"rankbench.{KINDS[kind][1]}" for kind in kinds or KINDS)
    where = f"{found.__module__}.{found.__qualname__}"
    if kinds:
        raise PluginError(f"{where} derives from several kinds ({bases}); write a class for each")
    raise PluginError(f"{where} derives from the base class of no kind; derive it from one of {bases}")


_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_RESERVED = frozenset({"inf", "true", "false", "null"})  # values in the contender grammar


@dataclass(frozen=True)
class Origin:
    """Origin of a component or a suite.

    Attributes
    ----------
    distribution, version : str
        As the package index knows it.
    entry_point : str
        Name of the entry point in the group ``rankbench``.
    """

    distribution: str
    version: str
    entry_point: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


class Registry:
    """Components and suites that the plugins of a process registered.

    A name that one distribution registers twice stands for the first. One that two distributions register is
    contested: to write it is an error. A built-in one that no user wrote still means rankbench's.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, tuple[Any, Origin]]] = {kind: {} for kind in (*KINDS, *FILES)}
        # By identity: a class may define its own module and hash.
        self._origins: dict[int, Origin] = {}
        self._contested: dict[tuple[str, str], tuple[str, Origin, Origin]] = {}

    def add(self, found: object, origin: Origin) -> str:
        """Register one thing that the hook returned, a component class or the path of a file.

        Returns
        -------
        str
            ``kind/name``.

        Raises
        ------
        PluginError
            It is neither, it is not complete, or its name is taken.
        """
        if isinstance(found, Path):
            kind, stem = kind_of_file(found)
            return f"{kind}/{self._add_file(kind, stem, found, origin)}"
        if isinstance(found, type):
            kind = kind_of_class(found)
            return f"{kind}/{self._add_class(kind, found, origin)}"
        if isinstance(found, Component):
            raise PluginError(f"{found!r} is not a class; return {type(found).__name__} itself, not an instance")
        raise PluginError(f"{found!r} is not a class of components, nor a pathlib.Path to a suite file")

    def _add_class(self, kind: str, found: type[Component], origin: Origin) -> str:
        where = f"{found.__module__}.{found.__qualname__}"
        name = _name(getattr(found, "name", None), f"{where}.name")
        if found.kind != kind:
            raise PluginError(f"{where} says it is of the kind {found.kind!r}; leave `kind` to the base class")
        source = getattr(found, "source", None)
        if not isinstance(source, str) or not source.strip():
            raise PluginError(f"{where} does not say its source (paper and equation, or where it is described)")
        if inspect.isabstract(found):
            missing = ", ".join(sorted(found.__abstractmethods__))
            raise PluginError(f"{where} does not implement {missing}")
        if origin.distribution != OURSELVES:
            found.model_rebuild()  # else parameters are looked at when they are used, and defects when one is made
            if defect := found.defect():
                raise PluginError(f"{where}: {defect}")
        self._put(kind, name, found, origin)
        self._origins[id(found)] = origin
        return name

    def _add_file(self, kind: str, stem: str, found: Path, origin: Origin) -> str:
        try:
            found.open("rb").close()
        except (OSError, ValueError) as error:
            raise PluginError(f"{kind} file {found} cannot be read: {error}") from error
        if found.suffix != ".toml":
            raise PluginError(f"{kind} file {found} has a name that does not end in .toml")
        name = _name(stem, f"the name of {kind} file {found}")
        self._put(kind, name, found, origin)
        return name

    def _put(self, kind: str, name: str, found: type[Component] | Path, origin: Origin) -> None:
        if name in self._found[kind]:
            raise self._clash(kind, name, self._found[kind][name][1], origin)
        self._found[kind][name] = found, origin

    def _clash(self, kind: str, name: str, first: Origin, second: Origin) -> PluginError:
        """Return the error on a name that is taken, and record the contest."""
        if first.distribution == second.distribution:
            said = f"rankbench rejects {kind} {name!r} of {second}: {first} registered that name first"
            return PluginError(f"{said}; rename one of them")
        remedy = f"Rename that of {second.distribution}" if first.distribution == OURSELVES else "Uninstall one of them"
        said = (
            f"{kind} {name!r} is contested: {first} and {second} both register it. {remedy}, or block "
            f"it: RANKBENCH_BLOCK_PLUGINS={second.distribution} leaves that of {first.distribution}"
        )
        self._contested.setdefault((kind, name), (said, first, second))
        return PluginError(said)

    def contested(self, distribution: str) -> list[str]:
        """Return an error text for each name that a distribution contests with another one."""
        found = self._contested.values()
        return [said for said, *origins in found if distribution in {origin.distribution for origin in origins}]

    def _stands_for_none(self, kind: str, name: str) -> bool:
        return (kind, name) in self._contested and self._contested[kind, name][1].distribution != OURSELVES

    def check_contested(self, name: str, kind: str = "") -> None:
        """Raise if two distributions register a name, for one kind (or ``suite``) or by default for any.

        Called for names that users write, so that a built-in component is not taken for a plugin's.

        Raises
        ------
        SpecError
            It names the distributions, and the way to choose one.
        """
        for (of, contested), (said, *_) in self._contested.items():
            if contested == name and kind in ("", of):
                raise SpecError(said)

    def names(self, kind: str) -> list[str]:
        """Return the names of a kind's components (or of suites), sorted."""
        return sorted(name for name in self._found[kind] if not self._stands_for_none(kind, name))

    def component_class(self, kind: str, name: str) -> type[Component]:
        """Return the class of a registered component; see `origin`."""
        found: type[Component] = self._entry(kind, name)[0]
        return found

    def files(self, kind: str) -> dict[str, Path]:
        """Return the suite files, or the format files, by name, sorted by name."""
        return {name: self._found[kind][name][0] for name in self.names(kind)}

    def origin(self, kind: str, name: str) -> Origin:
        """Return the origin of a component or a suite.

        Raises
        ------
        SpecError
            Unknown name, with the nearest one; or two distributions contest it.
        """
        return self._entry(kind, name)[1]

    def origin_of(self, registered: type[Component]) -> Origin | None:
        """Return the origin of a class; None if it is not registered."""
        return self._origins.get(id(registered))

    def _entry(self, kind: str, name: str) -> tuple[Any, Origin]:
        if self._stands_for_none(kind, name):
            self.check_contested(name, kind)
        if name not in self._found[kind]:
            near = closest(name, self.names(kind)) or ";"
            raise SpecError(f"unknown {kind} {name!r}{near} `rankbench list {kind}` lists all")
        return self._found[kind][name]


def is_component_name(name: object) -> bool:
    """Return whether a name is kebab-case, and no value of the contender grammar."""
    return isinstance(name, str) and bool(_KEBAB.match(name)) and name not in _RESERVED


def _name(name: Any, what: str) -> str:
    if not is_component_name(name):
        raise PluginError(f"{what} is {name!r}, not a kebab-case name such as 'mean-log-odds'")
    return str(name)
