"""The code digest changes when numbers may, and only then."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from installed import install_plugin

import rankbench
from rankbench.core import code_digest as digest
from rankbench.plugin import manager
from rankbench.plugin.registry import KINDS, base_of

PACKAGE = Path(rankbench.__file__).parent


@pytest.fixture
def taken(tmp_path):
    """Take the digest of a copy of the package, in a process of its own."""
    copy = tmp_path / "copy" / "rankbench"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    site = tmp_path / "site"
    site.mkdir()

    def take(which: str = "code", **environment: str) -> str:
        program = f"from rankbench.core import code_digest as of; print(of.__file__, of.{which}_digest())"
        variables = {**os.environ, "PYTHONPATH": f"{copy.parent}{os.pathsep}{site}", **environment}
        command = [sys.executable, "-c", program]
        shown = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=True)
        where, value = shown.stdout.split()
        assert Path(where) == copy / "core" / "code_digest.py"
        return value

    take.copy, take.site = copy, site
    return take


def append(path: Path, text: str = "\n# changed\n") -> None:
    path.write_text(path.read_text() + text)


@pytest.mark.full
def test_an_edited_or_added_helper_changes_it_and_taking_it_back_restores_it(taken):
    before = taken()
    assert taken() == before
    helper = taken.copy / "interfaces" / "queries.py"
    original = helper.read_text()
    append(helper)
    assert taken() != before
    helper.write_text(original)
    assert taken() == before
    (taken.copy / "aggregators" / "new.py").write_text("")
    added = taken()
    assert added != before
    append(taken.copy / "aggregators" / "new.py")
    assert taken() != added


@pytest.mark.full
def test_what_comes_after_computing_does_not_change_it(taken):
    before = taken()
    for file in ("cli/info", "reports/leaderboard", "certificates/search", "tracking/history", "store/store"):
        append(taken.copy / f"{file}.py")
    append(taken.copy / "suites" / "claim_kinds.py")
    (taken.copy / "cli" / "new.py").write_text("")
    assert taken() == before


def test_every_component_counts():
    """Or an edit of one could change a number without changing the digest; its bases are among what counts imports."""
    kinds = KINDS.keys() - {"claim", "figure"}
    classes = [manager.component_class(base_of(kind), name) for kind in kinds for name in manager.names(kind)]
    files = {Path(inspect.getfile(cls)) for cls in classes if cls.__module__.startswith("rankbench.")}
    assert len(files) > 40
    assert files <= set(digest.sources(PACKAGE))


RECORDS = {
    *("drawing.canvas", "interfaces.claim", "interfaces.figure", "store.journal", "store.records"),
}
"""What modules that count import and what does not count: it reads suites, writes results down and draws them."""


MODULES = {".".join(("rankbench", *p.relative_to(PACKAGE).with_suffix("").parts)): p for p in PACKAGE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in MODULES.items()}


def imported(tree: ast.Module) -> set[str]:
    """Return the modules of ours that a file imports from, wherever the imports stand."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & MODULES.keys()) or {node.module}
    return found & MODULES.keys()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.full
def test_what_counts_imports_nothing_else_that_computes():
    counted = set(digest.sources(PACKAGE))
    found = {name for path in counted - {PACKAGE / "__init__.py"} for name in imported(parsed(path))}
    assert {name for name in found if MODULES[name] not in counted} == {f"rankbench.{name}" for name in RECORDS}


@pytest.mark.full
def test_a_switch_of_the_machine_code_changes_it(taken):
    assert taken(NUMBA_CPU_NAME="generic") != taken()


def plugin(site: Path, *requires: str) -> Path:
    info = install_plugin(site, "some-plugin", "some = some_package.plugin", requires=requires)
    (info / "RECORD").write_text("some_package/plugin.py,,\nother_top.py,,\n")
    package = site / "some_package"
    package.mkdir(exist_ok=True)
    # Importing any of it would fail: the digest must not.
    (package / "__init__.py").write_text("raise RuntimeError")
    for module in (package / "plugin.py", package / "helper.py", site / "other_top.py"):
        module.write_text("raise RuntimeError")
    return package


@pytest.mark.full
def test_plugins_and_their_helpers_are_in_their_own_without_being_imported(taken):
    ours, without = taken(), taken("plugins")
    package = plugin(taken.site)
    before = taken("plugins")
    assert before != without
    append(package / "helper.py")
    edited = taken("plugins")
    assert edited != before
    append(taken.site / "other_top.py")
    assert taken("plugins") != edited
    assert taken() == ours


@pytest.mark.full
def test_extension_modules_and_data_of_plugins_are_part_of_it(taken):
    package = plugin(taken.site)
    tag = sysconfig.get_config_var("EXT_SUFFIX")
    record = taken.site / "some_plugin-1.0.dist-info" / "RECORD"
    record.write_text(f"{record.read_text()}fast_top{tag},,\n")
    (package / "tables").mkdir()
    (package / "__pycache__").mkdir()
    seen = [taken("plugins")]
    for path in (package / "tables" / "prior.csv", package / "fast.so", taken.site / f"fast_top{tag}"):
        path.write_bytes(b"1")
        seen.append(taken("plugins"))
        path.write_bytes(b"2")
        seen.append(taken("plugins"))
    assert len(set(seen)) == 7
    (package / "__pycache__" / "plugin.cpython-311.pyc").write_bytes(b"made from the source")
    assert taken("plugins") == seen[-1]


@pytest.mark.full
def test_what_a_plugin_requires_is_part_of_it_by_version(taken):
    plugin(taken.site, "some-solver>=1; python_version>'3'")
    missing = taken("plugins")
    info = install_plugin(taken.site, "some-solver", "")
    first = taken("plugins")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-solver\nVersion: 1.1\n")
    assert len({missing, first, taken("plugins")}) == 3


def test_each_plugin_has_its_own_with_the_plugins_that_it_requires(tmp_path, monkeypatch):
    for name, requires in (("dist-one", ()), ("dist-two", ["dist_one>=1"]), ("dist-three", ())):
        module = f"{name.replace('-', '_')}_top"
        install_plugin(tmp_path, name, f"x = {module}", requires=requires, **{module: "raise RuntimeError"})
    monkeypatch.syspath_prepend(tmp_path)
    names = ("dist-one", "dist-two", "dist-three")

    def fresh() -> dict[str, str]:
        for cached in (digest.plugin_digest, digest.first_seen):
            cached.cache_clear()
        return {name: digest.plugin_digest(name) for name in names}

    before = fresh()
    assert len({*before.values(), ""}) == 4
    assert [digest.edited_file(name) for name in names] == [None] * 3
    path = tmp_path / "dist_one_top.py"
    path.write_text("raise ValueError")
    assert [digest.edited_file(name) for name in names] == [path, path, None]
    after = fresh()
    assert {name for name in names if before[name] != after[name]} == {"dist-one", "dist-two"}
    path.unlink()
    assert digest.edited_file("dist-one") == path
    path.write_text("raise ValueError")  # as it was, and yet another file
    assert digest.edited_file("dist-one") == path
    assert digest.plugin_digest("no-such-plugin") == ""
    assert digest.edited_file("no-such-plugin") is None
    fresh()


def test_what_is_left_out_is_there():
    """A package that gets another name would count, or be compiled from, without a word."""
    assert all((PACKAGE / name).exists() for name in (*digest.AFTERWARDS, *digest.POPULATIONS, *digest.COMPILED_TOO))


@pytest.mark.full
def test_what_is_compiled_is_compiled_again_after_edits_of_what_it_is_made_from_alone(taken):
    before = taken("compiled")
    append(taken.copy / "aggregators" / "rates.py")
    append(taken.copy / "runner" / "plan.py")
    append(taken.copy / "aggregators" / "__init__.py")
    assert taken("compiled") == before
    append(taken.copy / "surrogates" / "phi.py")  # plain Python that a kernel compiles
    assert taken("compiled") != before
    before = taken("compiled")
    append(taken.copy / "kernels" / "gains.py")
    assert taken("compiled") != before
    ours, others = taken("compiled"), taken("plugins")
    package = plugin(taken.site)
    installed = taken("plugins")
    append(package / "helper.py")
    assert len({others, installed, taken("plugins")}) == 3
    assert taken("compiled") == ours
    assert taken("compiled", NUMBA_CPU_NAME="generic") != taken("compiled")


AROUND = {"rankbench.core.component", "rankbench.errors", "rankbench.core.runtime"}
"""What such modules import beside what is compiled: a class of components, errors, what settles numba."""


@pytest.mark.full
def test_what_is_compiled_is_made_of_nothing_else_of_ours():
    """The sources of machine code are named by their place; here all imports are read by the parser."""
    counted, compiling = set(digest.compiled_sources(PACKAGE)), 0
    for path in MODULES.values():
        tree = parsed(path)
        compiles = any(
            isinstance(node, ast.FunctionDef)
            and re.search(r"(?<![-\w])(njit|declared)\b", " ".join(map(ast.unparse, node.decorator_list)))
            for node in ast.walk(tree)
        )
        compiling += compiles
        assert path in counted or not compiles
        for name in imported(tree) - AROUND if path in counted else ():
            assert MODULES[name] in counted, f"{path}: {name}"
    assert compiling > 25
