"""The loader turns entry points into records, and rejects plugins with unmet requirements.

``RANKBENCH_BLOCK_PLUGINS=one-plugin,another`` is the way out when a plugin hangs or ends
the process while it is imported, where nothing can be recorded any more.

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
import time
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pluggy

from rankbench.core.code_digest import OURSELVES, first_seen
from rankbench.core.text import normalized
from rankbench.errors import PluginError
from rankbench.plugin import registry
from rankbench.plugin.blocked import is_blocked
from rankbench.plugin.registry import Origin, Registry, plural_of

BROUGHT_BY = {"claim": "suites", "figure": "suites", "model": "methods"}
"""Built-in entry points that are not named after the kind of component that they bring."""

TWO_LINES = f"`@rankbench.hookimpl` / `def {registry.HOOK}(): return [...]`"


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
    return Loader(entry_points, strict=strict).plugins()


class Loader:
    """Entry points on their way into one registry, the built-in ones first.

    Built-in ones wait until somebody asks for what they bring, which their names say: importing all families takes a
    third of a second. Where a plugin is installed, all are loaded at once: it may bring any kind, and our names
    come first.
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
        self.statuses: list[tuple[Origin, PluginStatus]] = []

    def plugins(self, kind: str = "") -> Plugins:
        """Load what may bring a kind (or ``suite``), by default everything; return all that is loaded by now."""
        foreign = any(origin.distribution != OURSELVES for origin, _ in self.waiting)
        wanted = "" if foreign or not kind else BROUGHT_BY.get(kind) or plural_of(kind)
        while left := [each for each in self.waiting if wanted in ("", each[1].name)]:
            self.waiting.remove(left[0])
            origin, entry = left[0]
            self.statuses.append((origin, _Loading(origin, entry, self.manager, self.registry, self.strict).status()))
        return Plugins(self.registry, tuple(status for _, status in sorted(self.statuses, key=lambda s: _place(s[0]))))


def _place(origin: Origin) -> tuple[bool, str, str, str]:
    return origin.distribution != OURSELVES, origin.distribution, origin.version, origin.entry_point


class _Loading:
    """One entry point on its way into the registry."""

    def __init__(
        self,
        origin: Origin,
        entry: importlib.metadata.EntryPoint,
        manager: pluggy.PluginManager,
        registry: Registry,
        strict: bool,
    ) -> None:
        self.origin, self.entry, self.manager, self.registry, self.strict = origin, entry, manager, registry, strict
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
            self.broken(f"looking at {self.entry.value!r} raised {self.text_of(error)}", error)
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

    def text_of(self, error: BaseException) -> str:
        """Say what foreign code raised, and where in the plugin."""
        from rankbench.interfaces.cell import reason

        return reason(error, [self.entry.value.partition(":")[0].partition(".")[0]])

    def register(self) -> None:
        if why := self.excluded():
            self.broken(why)
            return
        if self.origin.distribution != OURSELVES:
            first_seen(self.origin.distribution)  # before it is imported: what is edited later is not what runs here
        try:
            plugin = self.entry.load()
        # A plugin that exits, interrupts or raises what is no Exception while it is
        # imported must not end the program.
        except BaseException as error:
            self.broken(f"cannot import {self.entry.value!r}: {self.text_of(error)}", error)
            return
        try:
            name = self.manager.register(plugin, f"{self.origin.distribution}/{self.entry.name}")
        except BaseException as error:
            self.broken(f"pluggy refuses {self.entry.value!r}: {self.text_of(error)}", error)
            return
        if self.origin.distribution != OURSELVES and (times := _definitions(plugin)) > 1:
            self.broken(
                f"{self.entry.value!r} defines {registry.HOOK} {times} times, and Python keeps the last; "
                "return everything in one list"
            )
        callers = self.manager.get_hookcallers(plugin) or []
        for caller in callers:
            if caller.name != registry.HOOK:
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

        return unmet(self.entry.dist, importlib.metadata.version(OURSELVES))

    def call(self, implementation: pluggy.HookImpl) -> None:
        """Call the plugin's hook by itself, so that one plugin that fails takes no other with it."""
        try:
            found: object = implementation.function()
        except BaseException as error:
            self.broken(f"hook {registry.HOOK} raised {self.text_of(error)}", error)
            return
        if not isinstance(found, list):
            self.broken(f"hook {registry.HOOK} returned {type(found).__name__}, not a list; write `return [...]`")
            return
        for number, thing in enumerate(found, start=1):
            self.add(number, thing)

    def add(self, number: int, thing: object) -> None:
        """Register one item by itself, so that one that fails takes no other with it."""
        item = f"hook {registry.HOOK}, item {number}"
        try:
            self.components.append(self.registry.add(thing, self.origin))
        except PluginError as error:
            self.broken(f"{item}: {error}", error)
        # Looking at a foreign object (its repr, its attributes) runs foreign code.
        except BaseException as error:
            self.broken(f"{item}: looking at it raised {self.text_of(error)}", error)


def _definitions(plugin: object) -> int:
    """Return how often a module's source defines the hook at its top: all but the last are lost without a word."""
    if not isinstance(plugin, types.ModuleType):
        return 0
    try:
        tree = ast.parse(inspect.getsource(plugin))
    except (OSError, TypeError, SyntaxError):  # no source at hand
        return 0
    return sum(isinstance(node, ast.FunctionDef) and node.name == registry.HOOK for node in tree.body)


def unmet(distribution: importlib.metadata.Distribution, installed: str) -> str:
    """Return why a distribution does not work with a version of rankbench, and what to do; "" if it does.

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
                f"it asks for rankbench {asked.specifier}, and {installed} is installed: install a release of it that "
                f"allows {installed}, or, if it is yours, widen the requirement and run `rankbench check` on it"
            )
    return ""
