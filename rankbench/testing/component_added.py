"""`rankbench new plugin` on a plugin that is there: one more component."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rankbench.errors import InputError
from rankbench.plugin import manager
from rankbench.plugin.registry import SUITE
from rankbench.testing.scaffold import GATES, TIMED, check_form, class_of, kebab, plugin_files, slower_step

PAGES_END = "<!-- The pages"
"""Where the pages of a plugin end in its README."""


GATE = ".github/workflows/gate.yml"


class AddedComponent(NamedTuple):
    """A component that was added to a plugin.

    Attributes
    ----------
    component : str
    files : dict of str to str
        Contents of the files that are new or changed, by path below the plugin's folder.
    """

    component: str
    files: dict[str, str]

    def gate_by_hand(self, kind: str) -> str:
        """Return a sentence on additions to the gate by hand, or ``""``."""
        if kind not in GATES or GATE in self.files:
            return ""
        options = GATES[kind].replace("@", self.component)
        return f"{GATE} is not as it was written: add `{options}` to its runs by hand."


def with_gated(workflow: str, kind: str, component: str) -> str:
    """Return the workflow of a gate with one more component; unchanged if its runs of the suite are not found."""
    option = " --with " + GATES[kind].rpartition(" ")[2].replace("@", component)
    found, runs = re.subn(r"rankbench run --suite gate(?: --with \S+)*", rf"\g<0>{option}", workflow)
    if not GATES[kind].startswith("--suite gate --with") or runs != 2:
        return workflow
    if kind not in TIMED:
        return found
    only = f" --only '*/*{component}*'"
    timed, runs = re.subn(r"(rankbench time gate(?: --with \S+)*)((?: --only \S+)*)", rf"\1{option}\2{only}", found)
    upload = "      - uses: actions/upload-artifact@"
    if not runs and upload in found:
        return found.replace(upload, slower_step(kind, component) + upload, 1)
    return timed if runs == 1 else workflow


def add_component(folder: Path, kind: str, *, compiled: bool = False) -> AddedComponent:
    """Add a component to the plugin in a folder: its module, its test, and its entry in the list of the hook.

    Parameters
    ----------
    folder : Path
        With ``pyproject.toml``.
    kind : str
    compiled : bool
        See `write_plugin`.

    Returns
    -------
    AddedComponent

    Raises
    ------
    InputError
        No plugin of the folder's name is there, or its hook returns no list; nothing was written.
    """
    check_form(kind, compiled)
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        hook_module = next(iter(project["entry-points"]["rankbench"].values())).partition(":")[0]
    except (OSError, ValueError, KeyError, StopIteration, AttributeError) as error:
        raise InputError("it has no entry point of the group rankbench; nothing was written", path=path) from error
    package, *inner = hook_module.split(".")
    root = next((found for found in (folder, folder / "src") if (found / package).is_dir()), None)
    if root is None:
        what = f"its module {package!r} is no folder, which another module could stand in; nothing was written"
        raise InputError(what, path=folder)
    hook = root.joinpath(package, *inner)
    hook = hook / "__init__.py" if hook.is_dir() else hook.with_suffix(".py")
    component, files = _added_files(str(project["name"]), root / package, hook, hook_module, kind, compiled)
    if compiled and not re.search(r"[\"']numba\b", text := path.read_text(encoding="utf-8")):
        files[path] = re.sub(r"(?m)^(dependencies = \[)", r'\1"numba>=0.63", ', text, count=1)
    readme, gate = folder / "README.md", folder / GATE
    if taken := [new for new in files if new.exists() and new not in (hook, path, readme, gate)]:
        raise InputError("it is there already; nothing was written", path=taken[0])
    before = {changed: changed.read_bytes() for changed in files if changed.exists()}
    try:
        for new, text in files.items():
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        for new in files:
            with suppress(OSError):
                new.write_bytes(before[new]) if new in before else new.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}; nothing was written", path=folder) from error
    return AddedComponent(component, {new.relative_to(folder).as_posix(): text for new, text in files.items()})


def _added_files(
    distribution: str, package: Path, hook: Path, hook_module: str, kind: str, compiled: bool
) -> tuple[str, dict[Path, str]]:
    """Return the name of one more component and its files, the changed hook last."""
    source, first = hook.read_text(encoding="utf-8"), distribution.removeprefix("rankbench-")
    number = next(
        n
        for n in itertools.count(1)
        if not (package / f"{_numbered(kind, n)}.py").exists()
        and not (kind == SUITE and (package / f"{_numbered(first, n, '-')}.toml").exists())
        and _numbered(first, n, "-") not in manager.names(kind)
    )
    component = kebab(_numbered(first, number, "-"), "component")
    made = plugin_files(distribution, package.name, component, kind, compiled)
    cls = class_of(component)
    unique = cls + kind.capitalize() if re.search(rf"\b{cls}\b", source) else cls
    renamed = {rf"\b{cls}\b": unique}
    stems = {stem: stem for stem in (kind, "check", "kernels")}
    for stem in stems:
        if (package / f"{stem}.py").exists():
            stems[stem] = _numbered(f"{kind}_{stem}" if stem != kind else kind, max(number, 1 + (stem == kind)))
            renamed[rf"\b{package.name}\.{stem} import\b"] = f"{package.name}.{stems[stem]} import"
    renamed[rf"from {package.name} import kernels\b"] = f"from {package.name} import {stems['kernels']} as kernels"
    renamed[rf"from {package.name} import {cls}\b"] = f"from {package.name}.{stems[kind]} import {unique}"
    suite = _numbered("SUITE", number)
    if kind == SUITE:
        renamed = {rf"from {package.name} import SUITE": f"from {hook_module} import SUITE", r"\bSUITE\b": suite}

    def adapted(text: str) -> str:
        for pattern, replacement in reversed(renamed.items()):
            text = re.sub(pattern, replacement, text)
        return text

    tests = package.parent if package.parent.name != "src" else package.parent.parent
    found = {tests / "tests" / f"test_{package.name}_{_numbered(kind, number)}.py": f"tests/test_{package.name}.py"}
    found |= {package / f"{stems[stem]}.py": f"{package.name}/{stem}.py" for stem in stems}
    found |= {tests / "gate.toml": "gate.toml"} if not (tests / "gate.toml").exists() else {}
    files = {new: adapted(made[old]) for new, old in found.items() if old in made}
    gate = tests / GATE
    before = gate.read_text(encoding="utf-8") if kind in GATES and gate.exists() else ""
    if before and (text := with_gated(before, kind, component)) != before:
        files[gate] = text
    elif GATE in made and not before and gate.parent.is_dir():
        files |= {tests / one: made[one] for one in (GATE, ".github/changed-results.md")}
    readme = tests / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    if PAGES_END in text:
        use = made["README.md"].partition("```\n\n")[2].partition(PAGES_END)[0].strip()
        files[readme] = text.replace(PAGES_END, f"The {kind} `{component}`: {use}\n\n{PAGES_END}", 1)
    if kind == SUITE:
        files[package / f"{component}.toml"] = made[f"{package.name}/{component}.toml"]
        value = f'Path(__file__).with_name("{component}.toml")'
        lines = ["from pathlib import Path", "", f"{suite} = {value}"]
        return component, {**files, hook: with_entry(source, hook, suite, lines)}
    line = f"from {package.name}.{stems[kind]} import {unique}"
    return component, {**files, hook: with_entry(source, hook, unique, [line])}


def _numbered(word: str, number: int, joint: str = "_") -> str:
    return word if number == 1 else f"{word}{joint}{number}"


def with_entry(source: str, path: Path, entry: str, lines: Sequence[str]) -> str:
    """Return a module with lines after its imports, and one more entry in the list that its hook returns.

    Raises
    ------
    InputError
        The hook does not return a list that is written out.
    """
    tree = ast.parse(source)
    returned = [
        node.value
        for hook in tree.body
        if isinstance(hook, ast.FunctionDef) and hook.name == "rankbench_register"
        for node in hook.body
        if isinstance(node, ast.Return) and isinstance(node.value, ast.List)
    ]
    if not returned:
        what = f"`rankbench_register` returns no list such as [{entry}]: add {entry} to it by hand; nothing was written"
        raise InputError(what, path=path)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    exported = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.List)
        and "__all__" in map(ast.unparse, node.targets)
    ]
    places = [(returned[-1], entry), *((names, f'"{entry}"') for names in exported[:1])]
    rows = [row.encode() for row in source.splitlines(keepends=True)]  # columns are bytes
    for value, text in sorted(places, key=lambda place: -place[0].lineno):
        at, end = (value.end_lineno or value.lineno) - 1, (value.end_col_offset or 1) - 1
        inside = ast.get_source_segment(source, value) or "[]"
        comma = "" if not value.elts or inside[:-1].rstrip().endswith(",") else ", "
        rows[at] = rows[at][:end] + f"{comma}{text}".encode() + rows[at][end:]
    after = max((node.end_lineno or node.lineno for node in imports), default=0)
    rows[after:after] = [f"{line}\n".encode() for line in lines if line not in source.splitlines()]
    return b"".join(rows).decode()
