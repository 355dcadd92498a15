"""Loads plugins once a process, keeps a record of each, and looks components up.

A broken plugin never takes the program down: what is wrong with it is recorded, and
whatever else it brought works. One that asks for another version of rankbench is broken
as a whole, and not imported: what it computes with this one was never promised.
``RANKBENCH_STRICT_PLUGINS=1`` raises instead; ``RANKBENCH_BLOCK_PLUGINS`` names those
that are not to be imported.
"""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, cast

import pluggy

from rankbench.component import Component
from rankbench.errors import PluginError, SpecError
from rankbench.plugin import hookspecs
from rankbench.plugin.blocked import is_blocked
from rankbench.plugin.registry import Origin, Registry
from rankbench.spec import Spec, Value, parse
from rankbench.text import said

__all__ = [
    "PluginStatus",
    "Plugins",
    "component_class",
    "get",
    "load",
    "maybe_theirs",
    "names",
    "origin",
    "plugins",
    "statuses",
    "suites",
    "whose",
]

C = TypeVar("C", bound=Component)
"""Of ``Callable[..., C]``, not of ``type[C]``, in which mypy accepts no abstract class."""

OURSELVES = "rankbench"

TWO_LINES = f"`@rankbench.hookimpl` / `def {hookspecs.HOOK}(): return [...]`"


@dataclass(frozen=True)
class PluginStatus:
    """What became of one entry point.

    Attributes
    ----------
    entry_point : str
    distribution, version : str
    components : tuple of str
        What it registered, as ``kind/name``, in its order.
    seconds : float
        Time to import it and to call its hook.
    status : {"ok", "broken", "blocked"}
        Blocked ones are not imported, see `rankbench.plugin.blocked`.
    causes : tuple of str
        Why it is broken: one sentence for each thing that was refused.
    """

    entry_point: str
    distribution: str
    version: str
    components: tuple[str, ...]
    seconds: float
    status: Literal["ok", "broken", "blocked"]
    causes: tuple[str, ...]


@dataclass(frozen=True)
class Plugins:
    """The loaded plugins: what they registered and what became of each.

    Attributes
    ----------
    registry : Registry
    statuses : tuple of PluginStatus
        Built-in ones first, then by distribution and entry point.
    """

    registry: Registry
    statuses: tuple[PluginStatus, ...]


def load(entry_points: Iterable[importlib.metadata.EntryPoint], *, strict: bool = False) -> Plugins:
    """Load plugins from entry points, the built-in ones first.

    Parameters
    ----------
    entry_points : iterable of EntryPoint
    strict : bool
        Raise on the first broken plugin instead of recording it.

    Raises
    ------
    PluginError
        In strict mode, with distribution, version and cause.
    """
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    registry = Registry()
    ordered = sorted(entry_points, key=lambda e: (_distribution(e)[0] != OURSELVES, *_distribution(e), e.name))
    return Plugins(registry, tuple(_Loading(entry, manager, registry, strict).status() for entry in ordered))


def _distribution(entry: importlib.metadata.EntryPoint) -> tuple[str, str]:
    return ("unknown", "?") if entry.dist is None else (entry.dist.name, entry.dist.version)


class _Loading:
    """One entry point on its way into the registry."""

    def __init__(
        self, entry: importlib.metadata.EntryPoint, manager: pluggy.PluginManager, registry: Registry, strict: bool
    ) -> None:
        self.entry, self.manager, self.registry, self.strict = entry, manager, registry, strict
        self.origin = Origin(*_distribution(entry), entry.name)
        self.components: list[str] = []
        self.causes: list[str] = []

    def status(self) -> PluginStatus:
        if is_blocked(self.origin.distribution):
            origin = self.origin
            return PluginStatus(self.entry.name, origin.distribution, origin.version, (), 0.0, "blocked", ())
        start = time.perf_counter()
        try:
            self.register()
        # Even to compare or to iterate over what a plugin brought runs foreign code.
        except BaseException as error:
            if self.strict and isinstance(error, PluginError):
                raise  # this is what `broken` raised
            self.broken(f"looking at {self.entry.value!r} raised {said(error)}", error)
        seconds = time.perf_counter() - start
        return PluginStatus(
            self.entry.name,
            self.origin.distribution,
            self.origin.version,
            tuple(self.components),
            seconds,
            "broken" if self.causes else "ok",
            tuple(self.causes),
        )

    def broken(self, cause: str, error: BaseException | None = None) -> None:
        # Our own plugins interrupt nothing: then it was the user.
        if isinstance(error, KeyboardInterrupt) and self.origin.distribution == OURSELVES:
            raise error
        if self.strict:
            raise PluginError(f"plugin {self.entry.name!r} of {self.origin} is broken: {cause}") from error
        self.causes.append(cause)

    def register(self) -> None:
        if why := self.excluded():
            self.broken(why)
            return
        try:
            plugin = self.entry.load()
        # A plugin that exits, interrupts or raises what is no Exception while it is
        # imported must not end the program.
        except BaseException as error:
            self.broken(f"cannot import {self.entry.value!r}: {said(error)}", error)
            return
        try:
            name = self.manager.register(plugin, f"{self.origin.distribution}/{self.entry.name}")
        except BaseException as error:
            self.broken(f"pluggy refuses {self.entry.value!r}: {said(error)}", error)
            return
        if (times := _definitions(plugin)) > 1:
            self.broken(
                f"{self.entry.value!r} defines {hookspecs.HOOK} {times} times, and Python keeps the last; "
                "return everything in one list"
            )
        callers = self.manager.get_hookcallers(plugin) or []
        for caller in callers:
            if caller.name != hookspecs.HOOK:
                self.broken(
                    f"there is no hook {caller.name!r}: one hook returns classes and suite files of every kind; "
                    f"write {TWO_LINES} instead"
                )
                continue
            for implementation in caller.get_hookimpls():
                if implementation.plugin_name == name:
                    self.call(implementation)
        if not callers:
            self.broken(f"{self.entry.value!r} implements no hook; write {TWO_LINES}")

    def excluded(self) -> str:
        """Return why the distribution is not for this rankbench; ours is always."""
        if self.entry.dist is None or self.origin.distribution == OURSELVES:
            return ""
        from rankbench.plugin.requirements import unmet

        return unmet(self.entry.dist, importlib.metadata.version(OURSELVES))

    def call(self, implementation: pluggy.HookImpl) -> None:
        """Call the plugin's hook by itself, so that one plugin that fails takes no other with it."""
        try:
            found: object = implementation.function()
        except BaseException as error:
            self.broken(f"hook {hookspecs.HOOK} raised {said(error)}", error)
            return
        if not isinstance(found, list):
            self.broken(f"hook {hookspecs.HOOK} returned {type(found).__name__}, not a list; write `return [...]`")
            return
        for number, thing in enumerate(found, start=1):
            self.add(number, thing)

    def add(self, number: int, thing: object) -> None:
        """Register one item by itself, so that one that fails takes no other with it."""
        item = f"hook {hookspecs.HOOK}, item {number}"
        try:
            self.components.append(self.registry.add(thing, self.origin))
        except PluginError as error:
            self.broken(f"{item}: {error}", error)
        # Looking at a foreign object (its repr, its attributes) runs foreign code.
        except BaseException as error:
            self.broken(f"{item}: looking at it raised {said(error)}", error)


def _definitions(plugin: object) -> int:
    """Return how often a module's source defines the hook at its top: all but the last are lost without a word."""
    if not isinstance(plugin, types.ModuleType):
        return 0
    try:
        tree = ast.parse(inspect.getsource(plugin))
    except (OSError, TypeError, SyntaxError):  # no source at hand
        return 0
    return sum(isinstance(node, ast.FunctionDef) and node.name == hookspecs.HOOK for node in tree.body)


_lock = threading.RLock()
_loaded: Plugins | None = None
_loading = False


def plugins() -> Plugins:
    """Return the plugins of this process; the first call loads them.

    Raises
    ------
    PluginError
        A plugin is broken and ``RANKBENCH_STRICT_PLUGINS`` is set, or a plugin looks
        components up while it is being loaded.
    """
    global _loaded, _loading
    with _lock:
        if _loaded is None:
            if _loading:
                raise PluginError("components cannot be looked up while plugins load; do it inside a function")
            _loading = True
            try:
                strict = os.environ.get("RANKBENCH_STRICT_PLUGINS", "") not in ("", "0")
                _loaded = load(importlib.metadata.entry_points(group=hookspecs.GROUP), strict=strict)
            finally:
                _loading = False
        return _loaded


def get(base: Callable[..., C], text: str | Spec) -> C:
    """Return the component that a name or spec describes.

    Parameters
    ----------
    base : type
        What it must be: the base class of its kind, such as `rankbench.Aggregator`, or a
        class that derives from one. Type checkers know that the component is of this class.
    text : str or Spec
        ``name`` or ``name:param=value,...``.

    Raises
    ------
    SpecError
        Unknown name or parameter (the message has the nearest valid one), a component of the
        kind that is not of the class, a value that does not fit, or a grid: a list describes
        several components, see `rankbench.component.build`.

    Examples
    --------
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "elo:factor=20")
    Elo(factor=20.0)
    """
    spec = parse(text) if isinstance(text, str) else text
    found = component_class(base, spec.name)
    if _is_grid(spec):
        raise SpecError(f"{_kind(base)} {str(spec)!r} is a grid; write one value for each parameter here")
    return found.from_spec(spec)


def _is_grid(value: Value) -> bool:
    if isinstance(value, Spec):
        return any(_is_grid(v) for v in value.params.values())
    return isinstance(value, list)


def _kind(base: object) -> str:
    if isinstance(base, type) and issubclass(base, Component) and hasattr(base, "kind"):
        return base.kind
    raise SpecError(f"{base!r} is not a class of components; write get(rankbench.Aggregator, 'borda') and the like")


def component_class(base: Callable[..., C], name: str) -> type[C]:
    """Return the class of a component.

    Parameters
    ----------
    base : type
        As of `get`; `rankbench.plugin.kinds.base_of` returns it where a text says the kind.
    name : str

    Raises
    ------
    SpecError
        Unknown name, or a component that is not of this class. If plugins are broken, the
        message says so: what is missing may be theirs.
    """
    kind = _kind(base)
    try:
        found = plugins().registry.component_class(kind, name)
    except SpecError as error:
        raise SpecError(f"{error}{maybe_theirs()}") from None
    wanted = cast("type[C]", base)
    if not issubclass(found, wanted):
        known = plugins().registry
        fitting = [other for other in known.names(kind) if issubclass(known.component_class(kind, other), wanted)]
        these = f"; these are: {', '.join(fitting)}" if fitting else ""
        raise SpecError(f"{kind} {name!r} is not a {wanted.__name__}{these}")
    return found


def maybe_theirs() -> str:
    """Return what to add to a message about a name that nothing has: " (broken plugins: ...)"; "" if none is broken."""
    broken = sorted({s.distribution for s in statuses() if s.status == "broken"})
    return f" (broken plugins: {', '.join(broken)}; see `rankbench plugins`)" if broken else ""


def names(kind: str) -> list[str]:
    """Return the names of a kind's components (or of the suites), sorted."""
    return plugins().registry.names(kind)


def suites() -> dict[str, Path]:
    """Return the suite files by name."""
    return plugins().registry.suites()


def origin(kind: str, name: str) -> Origin:
    """Return the distribution and version that a component (or a suite) comes from."""
    return plugins().registry.origin(kind, name)


def whose(component: Component) -> str:
    """Return the distribution whose code a component's own class is: of those that are registered, who did it.

    What nobody registered, such as a class of a script, is ours only where our modules hold it
    under its name, and its module's else: that is all that is known of it.
    """
    made = type(component)
    known = plugins().registry.origin_of(made)
    if known is not None:
        return known.distribution
    top = made.__module__.partition(".")[0]
    if top == OURSELVES and getattr(sys.modules.get(made.__module__), made.__qualname__, None) is not made:
        return f"a class that says to be of {made.__module__}"
    return top


def statuses() -> list[PluginStatus]:
    """Return what became of each plugin, the built-in ones first."""
    return list(plugins().statuses)
