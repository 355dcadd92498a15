"""The plugins of this process, which are loaded once, and what is looked up among them."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from rankbench.component import Component
from rankbench.errors import PluginError, SpecError
from rankbench.plugin import hookspecs
from rankbench.plugin.kinds import SUITE
from rankbench.plugin.loading import OURSELVES, Loader, Plugins, PluginStatus
from rankbench.plugin.registry import Origin
from rankbench.spec import Spec, Value, parse

__all__ = [
    "check_contested",
    "component_class",
    "get",
    "maybe_theirs",
    "names",
    "origin",
    "plugins",
    "statuses",
    "suites",
    "whose",
    "written_class",
]

C = TypeVar("C", bound=Component)
"""Of ``Callable[..., C]``, not of ``type[C]``, in which mypy accepts no abstract class."""

_lock = threading.RLock()
_loaded: Plugins | None = None
_loader: Loader | None = None
_loading = False


def plugins(kind: str = "") -> Plugins:
    """Return the plugins of this process, those at least that may bring a kind; the first call for it loads them.

    Parameters
    ----------
    kind : str
        Or ``suite``. By default all plugins are loaded.

    Raises
    ------
    PluginError
        A plugin is broken and ``RANKBENCH_STRICT_PLUGINS`` is set, or a plugin looks
        components up while it is being loaded.
    """
    global _loaded, _loader, _loading
    with _lock:
        if _loaded is not None:
            return _loaded
        if _loading:
            raise PluginError("components cannot be looked up while plugins load; do it inside a function")
        _loading = True
        # If a plugin is broken and must not be, the next call begins anew.
        loader, _loader = _loader, None
        try:
            if loader is None:
                strict = os.environ.get("RANKBENCH_STRICT_PLUGINS", "") not in ("", "0")
                loader = Loader(importlib.metadata.entry_points(group=hookspecs.GROUP), strict=strict)
            found = loader.plugins(kind)
            if loader.waiting:
                _loader = loader
            else:
                _loaded = found
        finally:
            _loading = False
        return found


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
        kind that is not of the class, a value that does not fit, no text at all, or a grid: a
        list describes several components, see `rankbench.component.build`.

    Examples
    --------
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "elo:factor=20")
    Elo(factor=20.0)
    """
    spec = parse(text) if isinstance(text, str) else text
    if not isinstance(spec, Spec):
        given = type(text).__name__
        raise SpecError(f"write the {_kind(base)} as a text, such as 'name:param=value,...'; this is of type {given}")
    found = written_class(base, spec.name)
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
        found = plugins(kind).registry.component_class(kind, name)
    except SpecError as error:
        raise SpecError(f"{error}{maybe_theirs()}") from None
    wanted = cast("type[C]", base)
    if not issubclass(found, wanted):
        known = plugins(kind).registry
        fitting = [other for other in known.names(kind) if issubclass(known.component_class(kind, other), wanted)]
        these = f"; these are: {', '.join(fitting)}" if fitting else ""
        raise SpecError(f"{kind} {name!r} is not a {wanted.__name__}{these}")
    return found


def written_class(base: Callable[..., C], name: str) -> type[C]:
    """Return the class that a name stands for that somebody wrote, as `component_class` does.

    Raises
    ------
    SpecError
        Also for a name of rankbench that a plugin registers: which of the two is meant is not known.
    """
    check_contested(name, _kind(base))
    return component_class(base, name)


def check_contested(name: str, kind: str) -> None:
    """Refuse a name that was written and that two distributions register for a kind (or ``suite``).

    Raises
    ------
    SpecError
        Which distributions, and how to say which one is meant.
    """
    plugins(kind).registry.check_contested(name, kind)


def maybe_theirs(name: str = "") -> str:
    """Return what to add to a message about a name that nothing has: " (broken plugins: ...)"; "" if none is broken.

    Raises
    ------
    SpecError
        Two plugins have the name, and so it stands for neither.
    """
    plugins().registry.check_contested(name)
    broken = sorted({s.distribution for s in statuses() if s.status == "broken"})
    return f" (broken plugins: {', '.join(broken)}; see `rankbench plugins`)" if broken else ""


def names(kind: str) -> list[str]:
    """Return the names of a kind's components (or of the suites), sorted."""
    return plugins(kind).registry.names(kind)


def suites() -> dict[str, Path]:
    """Return the suite files by name."""
    return plugins(SUITE).registry.suites()


def origin(kind: str, name: str) -> Origin:
    """Return the distribution and version that a component (or a suite) comes from."""
    return plugins(kind).registry.origin(kind, name)


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
