"""The hook that a plugin implements. It is called once a process.

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

from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from rankbench.component import Component

__all__ = ["GROUP", "HOOK", "hookimpl", "rankbench_register"]

GROUP = "rankbench"
"""Entry-point group of plugins, and the project name that pluggy knows."""

HOOK = "rankbench_register"
"""Name of the one hook."""

hookspec = pluggy.HookspecMarker(GROUP)

hookimpl = pluggy.HookimplMarker(GROUP)
"""Decorator that marks a plugin's function as the implementation of a hook."""


@hookspec
def rankbench_register() -> list[type[Component] | Path]:
    """Return component classes and suite files, of any kind and in any order.

    Returns
    -------
    list of type[Component] or pathlib.Path
        Classes, not instances: a class has its kind from its base (`rankbench.Aggregator`,
        ...). A path is that of a suite's TOML file; the suite's name is the file's without
        ``.toml``. Nothing is read, downloaded or looked up here.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []
