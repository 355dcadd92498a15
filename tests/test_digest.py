"""The code digest changes when numbers may, and only then."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import rankbench
from rankbench import digest

PACKAGE = Path(rankbench.__file__).parent


@pytest.fixture
def taken(tmp_path):
    """Take the digest of a copy of the package, in a process of its own."""
    copy = tmp_path / "copy" / "rankbench"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    site = tmp_path / "site"
    site.mkdir()

    def take(**environment: str) -> str:
        shown = subprocess.run(
            [sys.executable, "-c", "from rankbench import digest; print(digest.__file__, digest.code_digest())"],
            env={**os.environ, "PYTHONPATH": f"{copy.parent}{os.pathsep}{site}", **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        where, value = shown.stdout.split()
        assert Path(where) == copy / "digest.py"
        return value

    take.copy, take.site = copy, site
    return take


def append(path: Path, text: str = "\n# changed\n") -> None:
    path.write_text(path.read_text() + text)


def test_an_edited_or_added_helper_changes_it_and_taking_it_back_restores_it(taken):
    before = taken()
    assert taken() == before
    helper = taken.copy / "data" / "queries.py"
    original = helper.read_text()
    append(helper)
    assert taken() != before
    helper.write_text(original)
    assert taken() == before
    (taken.copy / "aggregators" / "new.py").write_text("")
    assert taken() != before


def test_what_comes_after_computing_does_not_change_it(taken):
    before = taken()
    append(taken.copy / "cli" / "list.py")
    append(taken.copy / "plugin" / "describe.py")
    append(taken.copy / "env.py")
    append(taken.copy / "results" / "store.py")
    (taken.copy / "cli" / "new.py").write_text("")
    assert taken() == before


AFTER = ("rankbench.cli", "rankbench.results", "rankbench.env", "rankbench.scaffold", "rankbench.testing")


def test_what_computes_does_not_import_what_comes_after():
    """Or an edit there could change a number without changing the digest."""
    allowed = {"api.py"}  # puts both together
    lookups = ("rankbench.plugin", "rankbench.results.schema", "rankbench.runner.progress")
    for path in digest.sources(PACKAGE):
        names = {
            node.module
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        after = {n for n in names if n.startswith(AFTER)}
        if path.relative_to(PACKAGE).as_posix() not in allowed:
            assert not {n for n in after if not n.startswith(lookups)}, path


def test_a_switch_of_the_machine_code_changes_it(taken):
    assert taken(NUMBA_CPU_NAME="generic") != taken()


def plugin(site: Path, requires: str = "") -> Path:
    info = site / "some_plugin-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n{requires}")
    (info / "entry_points.txt").write_text("[rankbench]\nsome = some_package.plugin\n")
    (info / "RECORD").write_text("some_package/plugin.py,,\nother_top.py,,\n")
    package = site / "some_package"
    package.mkdir(exist_ok=True)
    # Importing any of it would fail: the digest must not.
    (package / "__init__.py").write_text("raise RuntimeError")
    for module in (package / "plugin.py", package / "helper.py", site / "other_top.py"):
        module.write_text("raise RuntimeError")
    return package


def test_plugins_and_their_helpers_are_part_of_it_without_being_imported(taken):
    without = taken()
    package = plugin(taken.site)
    before = taken()
    assert before != without
    append(package / "helper.py")
    edited = taken()
    assert edited != before
    append(taken.site / "other_top.py")
    assert taken() != edited


def test_extension_modules_and_data_of_plugins_are_part_of_it(taken):
    package = plugin(taken.site)
    tag = sysconfig.get_config_var("EXT_SUFFIX")
    record = taken.site / "some_plugin-1.0.dist-info" / "RECORD"
    record.write_text(f"{record.read_text()}fast_top{tag},,\n")
    (package / "tables").mkdir()
    (package / "__pycache__").mkdir()
    seen = [taken()]
    for path in (package / "tables" / "prior.csv", package / "fast.so", taken.site / f"fast_top{tag}"):
        path.write_bytes(b"1")
        seen.append(taken())
        path.write_bytes(b"2")
        seen.append(taken())
    assert len(set(seen)) == 7
    (package / "__pycache__" / "plugin.cpython-311.pyc").write_bytes(b"made from the source")
    assert taken() == seen[-1]


def test_what_a_plugin_requires_is_part_of_it_by_version(taken):
    plugin(taken.site, "Requires-Dist: some-solver>=1; python_version>'3'\n")
    missing = taken()
    info = taken.site / "some_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-solver\nVersion: 1.0\n")
    first = taken()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-solver\nVersion: 1.1\n")
    assert len({missing, first, taken()}) == 3


def test_the_sources_are_those_that_compute():
    found = {path.relative_to(PACKAGE).as_posix() for path in digest.sources(PACKAGE)}
    assert {"spec.py", "kernels.py", "methods/erm.py", "results/schema.py", "models/linear.py"} <= found
    after = {path for path in found if path.startswith(("cli/", "plugin/", "results/", "scaffold/", "testing/"))}
    assert after == {"results/schema.py"}
    assert not {"env.py", "runner/progress.py"} & found


def test_it_is_a_hash_and_names_the_cpu():
    assert len(digest.code_digest()) == 32
    assert int(digest.code_digest(), 16) >= 0
    assert digest.cpu_class() == digest.cpu_class()
    assert len(digest.cpu_class().split("-")) >= 3


def test_a_version_that_is_not_there_says_so():
    assert digest.version("no-such-distribution-anywhere") == "missing"
    assert digest.version("") == "missing"
