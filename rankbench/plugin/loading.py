"""The loader turns entry points into records, and rejects plugins with unmet requirements.

``RANKBENCH_BLOCK_PLUGINS=one-plugin,another`` is the way out when a plugin hangs or ends
the process while it is imported, where nothing can be recorded any more.

A broken plugin never ends the program: its errors are recorded, and
its other components work. One that requires another version of rankbench is broken
as a whole, and not imported: its results with this version are undefined.
``RANKBENCH_STRICT_PLUGINS=1`` raises instead; ``RANKBENCH_BLOCK_PLUGINS`` names those
that are not to be imported.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pluggy

from rankbench.core.code_digest import OURSELVES, first_seen
from rankbench.core.text import normalized
from rankbench.errors import PluginError
from rankbench.plugin import registry
from rankbench.plugin.blocked import is_blocked
from rankbench.plugin.registry import HOOK, Origin, Registry, plural_of

BROUGHT_BY = {"format": "tables", "claim": "suites", "figure": "suites", "model": "methods"}
"""Built-in entry points that are not named after the kind of component that they bring, as ``KINDS[-MORE]``."""

TWO_LINES = f"`@rankbench.hookimpl` / `def {HOOK}(): return [...]`"


@dataclass(frozen=True)
class PluginStatus:
    """Outcome of loading one entry point.

    Attributes
    ----------
    entry_point : str
    distribution, version : str
    components : tuple of str
        Names that it registered, as ``kind/name``, in its order.
    seconds : float
        Time to import it and to call its hook.
    status : {"ok", "broken", "blocked"}
        Blocked ones are not imported, see `rankbench.plugin.loading`.
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


def load(entry_points: Iterable[importlib.metadata.EntryPoint], *, strict: bool = False) -> Loader:
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
    loader = Loader(entry_points, strict=strict)
    loader.load()
    return loader


class Loader:
    """Entry points on their way into one registry, the built-in ones first.

    Built-in ones are imported when their kind, which their names tell, is needed: importing all families takes a
    third of a second. Where a plugin is installed, all are loaded at once: it may bring any kind, and our names
    come first.

    Attributes
    ----------
    registry : Registry
        Components and suites that are registered by now.
    waiting : list of (Origin, EntryPoint)
        Entry points that are not loaded yet.
    """

    def __init__(self, entry_points: Iterable[importlib.metadata.EntryPoint], *, strict: bool = False) -> None:
        self.manager = pluggy.PluginManager(registry.GROUP)
        self.manager.add_hookspecs(registry)
        self.registry, self.strict = Registry(), strict
        entries = list(entry_points)
        # Name and version are read by parsing all of the metadata, pages of text: once for each distribution.
        known = {id(dist): (dist.name, dist.version) for dist in {id(e.dist): e.dist for e in entries}.values() if dist}
        origins = [Origin(*known.get(id(entry.dist), ("unknown", "?")), entry.name) for entry in entries]
        self.waiting = sorted(zip(origins, entries, strict=True), key=lambda each: _place(each[0]))
        self._statuses: list[tuple[Origin, PluginStatus]] = []

    @property
    def statuses(self) -> list[PluginStatus]:
        """Outcomes of all that were loaded: built-in ones first, then by distribution and entry point."""
        return [status for _, status in sorted(self._statuses, key=lambda each: _place(each[0]))]

    def load(self, kind: str = "") -> None:
        """Load the plugins that may have components of a kind (or ``suite``), by default all."""
        third_party = any(origin.distribution != OURSELVES for origin, _ in self.waiting)
        wanted = "" if third_party or not kind else BROUGHT_BY.get(kind) or plural_of(kind)
        while left := [each for each in self.waiting if wanted in ("", each[1].name.partition("-")[0])]:
            self.waiting.remove(left[0])
            origin, entry = left[0]
            loading = _Loading(origin, entry)
            start = time.perf_counter()
            if not is_blocked(origin.distribution):
                loading.register(self.manager, self.registry)
            if self.strict and loading.causes:
                cause = f"plugin {entry.name!r} of {origin} is broken: {loading.causes[0]}"
                raise PluginError(cause) from loading.first_error
            self._statuses.append((origin, loading.status(time.perf_counter() - start)))


def _place(origin: Origin) -> tuple[bool, str, str, str]:
    return origin.distribution != OURSELVES, origin.distribution, origin.version, origin.entry_point


class _Loading:
    """One entry point on its way into the registry."""

    def __init__(self, origin: Origin, entry: importlib.metadata.EntryPoint) -> None:
        self.origin, self.entry = origin, entry
        self.components: list[str] = []
        self.causes: list[str] = []
        self.first_error: BaseException | None = None

    def status(self, seconds: float) -> PluginStatus:
        brought, causes, origin = tuple(self.components), tuple(self.causes), self.origin
        status: Literal["ok", "broken", "blocked"] = "broken" if causes else "ok"
        if is_blocked(origin.distribution):
            status = "blocked"
        return PluginStatus(self.entry.name, origin.distribution, origin.version, brought, seconds, status, causes)

    @contextmanager
    def recorded(self, what: str) -> Iterator[None]:
        """Record errors of third-party code inside: comparing and iterating its objects run code too."""
        from rankbench.interfaces.cell import reason

        try:
            yield
        except BaseException as error:
            # Our own plugins interrupt nothing: then it was the user.
            if isinstance(error, KeyboardInterrupt) and self.origin.distribution == OURSELVES:
                raise
            self.first_error = self.first_error or error
            self.causes.append(f"{what} {reason(error, [self.entry.value.partition(':')[0].partition('.')[0]])}")

    def register(self, manager: pluggy.PluginManager, registry: Registry) -> None:
        """Import the plugin and register the result of its hook."""
        entry, origin = self.entry, self.origin
        plugin: object = None
        if origin.distribution != OURSELVES:
            if entry.dist is not None and (why := unmet(entry.dist, importlib.metadata.version(OURSELVES))):
                self.causes.append(why)
                return
            first_seen(origin.distribution)  # before it is imported: later edits do not run here
        with self.recorded(f"cannot import {entry.value!r}:"):
            plugin = entry.load()
        if self.causes:
            return
        with self.recorded(f"pluggy refuses {entry.value!r}:"):
            manager.register(plugin, f"{origin.distribution}/{entry.name}")
        if self.causes:
            return
        with self.recorded(f"looking at {entry.value!r} raised"):
            self.call_hooks(manager, plugin, registry)

    def call_hooks(self, manager: pluggy.PluginManager, plugin: object, registry: Registry) -> None:
        """Call the plugin's hook by itself, so that a failing plugin does not affect others."""
        callers = manager.get_hookcallers(plugin) or []
        if not callers:
            self.causes.append(f"{self.entry.value!r} implements no hook; write {TWO_LINES}")
        for caller in callers:
            if caller.name != HOOK:
                self.causes.append(
                    f"there is no hook {caller.name!r}: one hook returns classes and suite files of every kind; "
                    f"write {TWO_LINES} instead"
                )
                continue
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    with self.recorded(f"hook {HOOK} raised"):
                        self.add_all(implementation.function(), registry)

    def add_all(self, found: object, registry: Registry) -> None:
        """Register each item by itself, so that a failing one does not affect others."""
        if not isinstance(found, list):
            self.causes.append(f"hook {HOOK} returned {type(found).__name__}, not a list; write `return [...]`")
            return
        for number, thing in enumerate(found, start=1):
            item = f"hook {HOOK}, item {number}:"
            with self.recorded(f"{item} looking at it raised"):
                try:
                    self.components.append(registry.add(thing, self.origin))
                except PluginError as error:
                    self.causes.append(f"{item} {error}")


def unmet(distribution: importlib.metadata.Distribution, installed: str) -> str:
    """Return why a distribution does not work with a version of rankbench, and a remedy, or ``""``.

    Parameters
    ----------
    distribution : Distribution
        With its requirements, as ``Requires-Dist`` has them.
    installed : str
        Version of rankbench.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    for text in distribution.requires or ():
        try:
            asked = Requirement(text)
        except InvalidRequirement as error:
            return (
                f"its requirement {text!r} cannot be read ({str(error).splitlines()[0]}); mend it in its pyproject.toml"
            )
        if normalized(asked.name) != "rankbench" or (asked.marker and not asked.marker.evaluate({"extra": ""})):
            continue
        # A checkout of rankbench between two releases has the version of a pre-release.
        if not asked.specifier.contains(installed, prereleases=True):
            return (
                f"it asks for rankbench {asked.specifier}, and {installed} is installed. Install a release of it that "
                f"allows {installed}, or, if it is yours, widen the requirement and run `rankbench check` on it"
            )
    return ""
