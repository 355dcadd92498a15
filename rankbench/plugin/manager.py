"""Loads plugins once a process, keeps a record of each, and looks components up.

A broken plugin never takes the program down: what is wrong with it is recorded, and
whatever else it brought works. One that asks for another version of rankbench is broken
as a whole, and not imported: what it computes with this one was never promised.
``RANKBENCH_STRICT_PLUGINS=1`` raises instead; ``RANKBENCH_BLOCK_PLUGINS`` names those
that are not to be imported.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pluggy

from rankbench.component import Component
from rankbench.errors import PluginError, SpecError, nearest
from rankbench.plugin import hookspecs
from rankbench.plugin.blocked import is_blocked
from rankbench.plugin.kinds import KINDS, SUITE
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

OURSELVES = "rankbench"

SUITES_HOOK = "rankbench_register_suites"


@dataclass(frozen=True)
class PluginStatus:
    """What became of one entry point.

    Attributes
    ----------
    entry_point : str
    distribution, version : str
    hooks : tuple of str
        The hooks that it implements, sorted.
    components : tuple of str
        What it registered, as ``kind/name``, in its order.
    seconds : float
        Time to import it and to call its hooks.
    status : {"ok", "broken", "blocked"}
        Blocked ones are not imported, see `rankbench.plugin.blocked`.
    causes : tuple of str
        Why it is broken: one sentence for each thing that was refused.
    """

    entry_point: str
    distribution: str
    version: str
    hooks: tuple[str, ...]
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
        self.hooks: list[str] = []
        self.components: list[str] = []
        self.causes: list[str] = []

    def status(self) -> PluginStatus:
        if is_blocked(self.origin.distribution):
            origin = self.origin
            return PluginStatus(self.entry.name, origin.distribution, origin.version, (), (), 0.0, "blocked", ())
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
            tuple(sorted(self.hooks)),
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
        callers = self.manager.get_hookcallers(plugin) or []
        for caller in callers:
            if not caller.has_spec():
                known = [kind.hook for kind in KINDS.values()] + [SUITES_HOOK]
                self.broken(f"there is no hook {caller.name!r}{nearest(caller.name, known)}")
                continue
            self.hooks.append(caller.name)
            for implementation in caller.get_hookimpls():
                if implementation.plugin_name == name:
                    self.call(caller.name, implementation)
        if not callers:
            self.broken(f"{self.entry.value!r} implements no hook; decorate its functions with @rankbench.hookimpl")

    def excluded(self) -> str:
        """Return why the distribution is not for this rankbench; ours is always."""
        if self.entry.dist is None or self.origin.distribution == OURSELVES:
            return ""
        from rankbench.plugin.requirements import unmet

        return unmet(self.entry.dist, importlib.metadata.version(OURSELVES))

    def call(self, hook: str, implementation: pluggy.HookImpl) -> None:
        """Call one hook by itself, so that one that fails takes no other with it."""
        try:
            found: object = implementation.function()
        except BaseException as error:
            self.broken(f"hook {hook} raised {said(error)}", error)
            return
        if not isinstance(found, list):
            self.broken(f"hook {hook} returned {type(found).__name__}, not a list")
            return
        for thing in found:
            self.add(hook, thing)

    def add(self, hook: str, thing: object) -> None:
        kind = next((kind.name for kind in KINDS.values() if kind.hook == hook), SUITE)
        try:
            if kind == SUITE:
                name = self.registry.add_suite(thing, self.origin)
            else:
                name = self.registry.add(kind, thing, self.origin)
            self.components.append(f"{kind}/{name}")
        except PluginError as error:
            self.broken(f"hook {hook}: {error}", error)
        # Looking at a foreign object (its repr, its attributes) runs foreign code.
        except BaseException as error:
            self.broken(f"hook {hook}: looking at what it returned raised {said(error)}", error)


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


def get(kind: str, text: str | Spec) -> Component:
    """Return the component that a name or spec describes.

    Parameters
    ----------
    kind : str
        ``aggregator``, ``surrogate``, ``loss``, ``optimizer``, ``model``, ``method``,
        ``protocol``, ``reader`` or ``dataset``.
    text : str or Spec
        ``name`` or ``name:param=value,...``.

    Raises
    ------
    SpecError
        Unknown kind, name or parameter (the message has the nearest valid one), a value
        that does not fit, or a grid: a list describes several components, see
        `rankbench.component.build`.

    Examples
    --------
    >>> import rankbench
    >>> rankbench.get("method", "random-scores:stream=3").stream
    3
    """
    spec = parse(text) if isinstance(text, str) else text
    cls = component_class(kind, spec.name)
    if _is_grid(spec):
        raise SpecError(f"{kind} {str(spec)!r} is a grid; write one value for each parameter here")
    return cls.from_spec(spec)


def _is_grid(value: Value) -> bool:
    if isinstance(value, Spec):
        return any(_is_grid(v) for v in value.params.values())
    return isinstance(value, list)


def component_class(kind: str, name: str) -> type[Component]:
    """Return the class of a component.

    Raises
    ------
    SpecError
        Unknown kind or name. If plugins are broken, the message says so: what is
        missing may be theirs.
    """
    try:
        return plugins().registry.component_class(kind, name)
    except SpecError as error:
        raise SpecError(f"{error}{maybe_theirs()}") from None


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
