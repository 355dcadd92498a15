"""``rankbench new plugin``: an installable package with one component."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import version
from pathlib import Path

from rankbench.errors import SpecError, nearest
from rankbench.plugin import manager
from rankbench.plugin.kinds import KINDS, SUITE
from rankbench.scaffold.names import Names
from rankbench.scaffold.templates import filled, write_all

__all__ = ["PLUGIN_KINDS", "of_this_python", "write_plugin"]

PLUGIN_KINDS = ("surrogate", "aggregator", "loss", "optimizer", "model", "method", "reader", "dataset", SUITE)
"""Kinds that there is a template for."""

IMPORTS = {
    "optimizer": "import numpy as np\nfrom {module} import {cls}\n\nfrom rankbench.optimizers.penalties import Penalty",
    "reader": "import pytest\nfrom {module} import {cls}\n\nfrom rankbench.errors import InputError",
    "dataset": "from {module} import {cls}",
}

CHECKED = {
    "surrogate": "{cls}(), {cls}(width=0.25)",
    "aggregator": "{cls}(), {cls}(margin=1)",
    "optimizer": "{cls}(), {cls}(c=1.0)",
    "model": "{cls}(), {cls}(scale=0.1)",
    "method": "{cls}(), {cls}(ridge=1.0)",
    "dataset": "{cls}(queries=20), {cls}(queries=20, noise=0, seed=3)",
}


def of_this_python(*arguments: str) -> str:
    """Return a shell command that runs a module with the Python that runs this: a bare ``pip`` may be another's."""
    return shlex.join([sys.executable, "-m", *arguments])


def write_plugin(name: str, kind: str, parent: Path) -> Path:
    """Write a plugin that installs, loads and passes its own checks.

    Parameters
    ----------
    name : str
        Of the distribution and its folder, kebab-case; the component has the same without
        ``rankbench-`` before it.
    kind : str
        One of `PLUGIN_KINDS`.
    parent : Path
        Folder to write it into.

    Returns
    -------
    Path
        The new folder.

    Raises
    ------
    SpecError
        A kind without a template, or a name that cannot be used or is taken.
    InputError
        The folder is there already or cannot be written; nothing was written.
    """
    if kind not in PLUGIN_KINDS:
        raise SpecError(f"there is no template for the kind {kind!r}{nearest(kind, PLUGIN_KINDS)}")
    names = Names.of(name)
    if names.component in manager.names(kind):
        owner = manager.origin(kind, names.component)
        raise SpecError(f"{kind} {names.component!r} is registered by {owner}; choose another name")
    target = parent / name
    write_all(target, _files(names, kind))
    return target


def _files(names: Names, kind: str) -> dict[str, str]:
    cls = names.class_name
    spoken = {"module": names.module, "cls": cls}
    major, minor, *_ = version("rankbench").split(".")
    plural = KINDS[kind].plural if kind in KINDS else "suites"
    values = {
        "DISTRIBUTION": names.distribution,
        "COMPONENT": names.component,
        "MODULE": names.module,
        "CLASS": cls,
        "KIND": kind,
        "PLURAL": plural,
        "VERSION": f"{major}.{minor}",
        "NEXT": f"{major}.{int(minor) + 1}" if major == "0" else str(int(major) + 1),
        "SOURCES": names.module if kind == SUITE else f"{names.module}.py",
        "IMPORTS": IMPORTS.get(kind, "import numpy as np\nfrom {module} import {cls}").format(**spoken),
        "CHECKED": CHECKED.get(kind, "{cls}()").format(**spoken),
        "WHERE": names.component,
    }
    values["USE"] = filled(f"{kind}/use.md.in", values).rstrip()
    files = {name: filled(f"common/{name}.in", values) for name in ("pyproject.toml", "README.md")}
    test = f"tests/test_{names.module}.py"
    if kind == SUITE:
        files[f"{names.module}/__init__.py"] = filled("suite/module.py.in", values)
        files[f"{names.module}/{names.component}.toml"] = filled("suite/suite.toml.in", values)
        files[test] = filled("suite/test.py.in", values)
    else:
        files[f"{names.module}.py"] = filled(f"{kind}/module.py.in", values)
        files[test] = (
            filled("common/test.py.in", values | {"TESTS": filled(f"{kind}/tests.in", values)}).rstrip() + "\n"
        )
    return files
