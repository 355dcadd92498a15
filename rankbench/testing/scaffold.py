"""`rankbench new`: plugin, suite, templates."""

from __future__ import annotations

import importlib.util
import json
import keyword
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from rankbench.errors import InputError, SpecError, option
from rankbench.plugin import manager
from rankbench.plugin.registry import KINDS, SUITE, is_component_name, plural_of

_RUN_BY_OTHERS = frozenset({"conftest", "setup", "sitecustomize", "usercustomize"})
"""Modules that Python, pip or pytest run when they find them."""

LONGEST = 60


def kebab(name: str, what: str) -> str:
    """Return `name` if it is a valid kebab-case name.

    Raises
    ------
    SpecError
        It is not.
    """
    if not is_component_name(name) or len(name) > LONGEST:
        raise SpecError(
            f"{name!r} cannot be the name of a {what}: small letters and digits in parts with hyphens between, "
            f"as in 'smooth-hinge', at most {LONGEST}"
        )
    return name


def module_of(distribution: str) -> str:
    """Return the module of a distribution: ``rankbench_smooth_hinge`` of ``rankbench-smooth-hinge``.

    Raises
    ------
    SpecError
        Python would import another one.
    """
    module = distribution.replace("-", "_")
    python = keyword.iskeyword(module) or module in sys.stdlib_module_names
    if python or module in _RUN_BY_OTHERS or importlib.util.find_spec(module) is not None:
        raise SpecError(
            f"{distribution!r} would be the module {module!r}, which is Python's own, installed already, or run by "
            "tools unasked; choose another name"
        )
    return module


FOLDER = Path(__file__).with_name("templates")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with every ``@NAME@`` replaced.

    Parameters
    ----------
    template : str
        Path below `templates/`.
    values : mapping of str to str

    Raises
    ------
    KeyError
        The template has a name that `values` has not.
    """
    text = (FOLDER / template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], text)


def write_all(target: Path, files: Mapping[str, str]) -> None:
    """Write a new folder, or, for files of the name "", a new file: all of it or nothing.

    Parameters
    ----------
    target : Path
        Must not be there yet; its parent must.
    files : mapping of str to str
        Contents by path below `target`.

    Raises
    ------
    InputError
        The target is there already, or cannot be written.
    """
    if os.path.lexists(target):
        raise InputError("it is there already; nothing was written", path=target)
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=target) from error
    try:
        whole = draft / target.name
        for name, text in files.items():
            path = whole / name if name else whole
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        # The draft stands on the same file system: the name appears with all that belongs to it.
        whole.rename(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=target) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


PLUGIN_KINDS = (*KINDS, SUITE)
"""Kinds with a template: all."""

COMPILED_KINDS = ("surrogate", "aggregator", "loss", "optimizer")
"""Kinds with a compiled form and a template for it."""

GATES = {
    **{kind: f"--suite gate --with {kind}=@" for kind in ("aggregator", "surrogate", "optimizer", "model", "loss")},
    "method": "--suite gate --with method=@",  # a bare name may be another component of the plugin, too
    "dataset": "--suite demo --dataset @:queries=220",
    "protocol": "--suite gate.toml",
    SUITE: "--suite @",
}
"""Options of the run in a plugin's gate, for kinds that results depend on; @ is the component."""

TIMED = ("aggregator", "surrogate", "optimizer", "model", "method")
"""Kinds that compute contenders, which the gate times."""

ALIKE = ("pyproject.toml", "README.md", "docs/conf.py", "docs/index.md")
"""Files that plugins of all kinds have, beside workflows."""


def of_this_python(*arguments: str) -> str:
    """Return a shell command that runs a module with the Python that runs this: a bare ``pip`` may be another's."""
    return shlex.join([sys.executable, "-m", *arguments])


def check_form(kind: str, compiled: bool) -> None:
    """Raise for a compiled form of a kind that has none.

    Raises
    ------
    SpecError
    """
    if compiled and kind not in COMPILED_KINDS:
        raise SpecError(
            f"a {kind} has no compiled form ({', '.join(COMPILED_KINDS)} have); leave {option('compiled')} out"
        )


def write_plugin(name: str, kind: str, parent: Path, *, compiled: bool = False) -> Path:
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
    compiled : bool
        With the compiled form, in a module of its own.

    Returns
    -------
    Path
        The new folder.

    Raises
    ------
    SpecError
        A kind without the compiled form that was asked for; a name that cannot be used or is taken.
    InputError
        The folder is there already or cannot be written; nothing was written.
    """
    check_form(kind, compiled)
    component = kebab(kebab(name, "plugin").removeprefix("rankbench-"), "component")
    module = module_of(name)
    if component in manager.names(kind):
        raise SpecError(f"{kind} {component!r} is registered by {manager.origin(kind, component)}; choose another name")
    target = parent / name
    write_all(target, plugin_files(name, module, component, kind, compiled))
    return target


def plugin_files(distribution: str, module: str, component: str, kind: str, compiled: bool) -> dict[str, str]:
    """Return the contents of a plugin with one component, by path below its folder."""
    cls = class_of(component)
    values = {
        "DISTRIBUTION": distribution,
        "COMPONENT": component,
        "MODULE": module,
        "CLASS": cls,
        "KIND": kind,
        "PLURAL": plural_of(kind),
        "REQUIRES": _requires(compiled),
        "OPTION": " --compiled" if compiled else "",
        "KERNELS": f" `{module}/kernels.py` has the compiled form." if compiled else "",
        "WHERE": component,
        "RANKBENCH": _rankbench_source(),
        "GATED": ", compares pull requests with the branch that they change" if kind in GATES else "",
    }
    values["USE"] = filled(f"{kind}/use.md.in", values).rstrip()
    files = {name: filled(f"common/{name}.in", values) for name in ALIKE}
    workflows = ["tests", "release", "docs"]
    if kind in GATES:
        values["GATE"] = GATES[kind].replace("@", component)
        step = slower_step(kind, component)
        values |= {"WORSE": ", nor make them slower" if step else "", "SLOWER": step}
        workflows.append("gate")
        files[".github/changed-results.md"] = filled("common/changed-results.md.in", values)
    files |= {f".github/workflows/{one}.yml": filled(f"common/workflows/{one}.yml.in", values) for one in workflows}
    if kind == "protocol":
        files["gate.toml"] = filled("protocol/gate.toml.in", values)
    files[f"tests/test_{module}.py"] = filled(f"{kind}/test.py.in", values)
    if kind == SUITE:
        files[f"{module}/__init__.py"] = filled("suite/module.py.in", values)
        files[f"{module}/{component}.toml"] = filled("suite/suite.toml.in", values)
        return files
    files[f"{module}/__init__.py"] = filled("common/init.py.in", values)
    files[f"{module}/{kind}.py"] = filled(f"{kind}/module.py.in", values)
    if kind == "table":
        files[f"{module}/check.py"] = filled("table/check.py.in", values)
    if compiled:
        files[f"{module}/{kind}.py"] += filled(f"{kind}/compiled.in", values)
        files[f"{module}/kernels.py"] = filled(f"{kind}/kernels.py.in", values)
    return files


def slower_step(kind: str, component: str) -> str:
    """Return the step of a gate that times a component; empty for kinds that compute no contender."""
    values = {"WITH": GATES[kind].rpartition(" ")[2].replace("@", component), "COMPONENT": component}
    return filled("common/workflows/slower.yml.in", values) if kind in TIMED else ""


def class_of(component: str) -> str:
    """Return the class of a component: ``SmoothHinge`` of ``smooth-hinge``."""
    return "".join(part.capitalize() for part in component.split("-"))


def _rankbench_source() -> str:
    """Return rankbench's requirement for pip: the address of the installation here, or its name on an index.

    A folder or a file is on this machine alone, so that published files do not name it.
    """
    record = metadata.distribution("rankbench").read_text("direct_url.json")
    found = json.loads(record) if record else {}
    url = str(found.get("url", ""))
    if not url or urlsplit(url).scheme == "file":
        return "rankbench"
    if "vcs_info" in found:
        return f"{found['vcs_info']['vcs']}+{url}@{found['vcs_info'].get('commit_id', 'HEAD')}"
    return url


def _requires(compiled: bool) -> str:
    """Return the plugin's dependencies, as the elements of a TOML list."""
    major, minor, *_ = metadata.version("rankbench").split(".")
    following = f"{major}.{int(minor) + 1}" if major == "0" else str(int(major) + 1)
    wanted = [f"rankbench>={major}.{minor},<{following}", "numpy>=2.2", *(["numba>=0.63"] if compiled else [])]
    return ", ".join(f'"{requirement}"' for requirement in wanted)


def write_suite(name: str, parent: Path) -> Path:
    """Write ``NAME.toml``, a suite that loads and runs.

    Parameters
    ----------
    name : str
        Kebab-case.
    parent : Path
        Folder to write it into.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    SpecError
        A name that cannot be used, or that a registered suite has.
    InputError
        The file is there already or cannot be written; nothing was written.
    """
    kebab(name, SUITE)
    if name in manager.names(SUITE):
        raise SpecError(f"suite {name!r} is registered by {manager.origin(SUITE, name)}; choose another name")
    target = parent / f"{name}.toml"
    write_all(target, {"": filled("suite/suite.toml.in", {"COMPONENT": name, "WHERE": target.name})})
    return target
