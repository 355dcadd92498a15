"""What `rankbench new` writes: complete, sound, and never half of it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from amounts import part_of
from forked import run_program
from installed import install_plugin

from rankbench.errors import InputError, SpecError
from rankbench.plugin.loading import load
from rankbench.suites.suite_files import load_suite
from rankbench.testing.check import check_component
from rankbench.testing.component_added import add_component, with_entry
from rankbench.testing.scaffold import (
    COMPILED_KINDS,
    PLUGIN_KINDS,
    plugin_files,
    write_all,
    write_plugin,
    write_suite,
)

ROOT = Path(__file__).resolve().parents[2]
HERE = Path.cwd().anchor / Path("ada")
WRITTEN = [(kind, False) for kind in PLUGIN_KINDS] + [(kind, True) for kind in COMPILED_KINDS]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a plugin and make its module importable."""

    def write(kind: str, compiled: bool) -> Path:
        folder = write_plugin(f"rankbench-made-{kind}", kind, tmp_path, compiled=compiled)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield write
    for module in [name for name in sys.modules if name.startswith("rankbench_made_")]:
        del sys.modules[module]


@pytest.mark.parametrize(("kind", "compiled"), part_of(WRITTEN))
def test_as_written_it_loads_and_does_what_it_declares(kind, compiled, written):
    folder = written(kind, compiled)
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == f"rankbench-made-{kind}"
    ((name, module),) = project["entry-points"]["rankbench"].items()
    assert (name, module) == (f"made-{kind}", f"rankbench_made_{kind}")

    plugins = load([EntryPoint(name, module, "rankbench")], strict=True)
    assert plugins.statuses[0].components == (f"{kind}/made-{kind}",)
    brought = plugins.registry.files(kind)[name] if kind == "suite" else plugins.registry.component_class(kind, name)
    results = check_component(brought)
    assert [str(result) for result in results if not result.ok] == []
    assert sum(result.executed for result in results) >= 2
    assert any(result.check.startswith("compiled-") and result.executed for result in results) == compiled


ADDED = [kind for kind in PLUGIN_KINDS if kind != "surrogate"]


@pytest.mark.full
def test_a_component_of_each_kind_is_added_to_a_package(written):
    folder = written("surrogate", False)
    for kind in (*ADDED, "surrogate"):
        before = {path: path.read_bytes() for path in folder.rglob("*.py")}
        files = add_component(folder, kind, compiled=kind in COMPILED_KINDS).files
        changed = {path.relative_to(folder).as_posix() for path, text in before.items() if path.read_bytes() != text}
        assert changed == {"rankbench_made_surrogate/__init__.py"}, kind
        assert any(name.startswith("tests/test_rankbench_made_surrogate_") for name in files), kind
    plugins = load([EntryPoint("made-surrogate", "rankbench_made_surrogate", "rankbench")], strict=True)
    names = {f"{kind}/made-surrogate" for kind in PLUGIN_KINDS} | {"surrogate/made-surrogate-2"}
    assert set(plugins.statuses[0].components) == names
    for kind, name in (("loss", "made-surrogate"), ("aggregator", "made-surrogate"), ("surrogate", "made-surrogate-2")):
        results = check_component(plugins.registry.component_class(kind, name))
        assert [str(result) for result in results if not result.ok] == []
        assert any(result.check.startswith("compiled-") and result.executed for result in results)
    assert '"numba>=0.63"' in (folder / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.full
def test_tests_of_added_components_pass(tmp_path):
    folder = write_plugin("rankbench-made-loss", "loss", tmp_path)
    for kind in ("loss", "model", "suite"):
        add_component(folder, kind)
    install_plugin(folder, "rankbench-made-loss", "made-loss = rankbench_made_loss")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    tests = [sys.executable, "-m", "pytest", "-q", "-k", "not it_runs", str(folder)]
    shown = subprocess.run(tests, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    shown = run_program("new", "plugin", "rankbench-made-loss", "--kind", "method", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "rankbench_made_loss/method.py" in shown.stdout


def test_a_hook_that_returns_no_written_list_is_named_and_nothing_is_written(tmp_path):
    folder = write_plugin("rankbench-made-loss", "loss", tmp_path)
    hook = folder / "rankbench_made_loss" / "__init__.py"
    hook.write_text(hook.read_text().replace("return [MadeLoss]", "return list((MadeLoss,))"))
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError, match=r"returns no list such as \[MadeLossModel\]"):
        add_component(folder, "model")
    assert sorted(folder.rglob("*")) == before
    (folder / "pyproject.toml").write_text('[project]\nname = "rankbench-made-loss"\n')
    with pytest.raises(InputError, match="no entry point of the group rankbench"):
        add_component(folder, "model")


def test_the_gate_has_all_components_of_the_plugin(tmp_path):
    """First the kinds of a component that no run is timed for; then one that is; then edited by hand."""
    folder = write_plugin("rankbench-made-loss", "loss", tmp_path)
    gate = folder / ".github" / "workflows" / "gate.yml"
    assert "rankbench time" not in gate.read_text(encoding="utf-8")
    for kind in ("surrogate", "method"):
        added = add_component(folder, kind)
        assert added.gate_by_hand(kind) == ""
    text = gate.read_text(encoding="utf-8")
    options = "--with loss=made-loss --with surrogate=made-loss --with method=made-loss"
    assert text.count(f"rankbench run --suite gate {options} --out") == 2
    only = "--only '*/*made-loss*' --only '*/*made-loss*'"
    timed = f"rankbench time gate --with surrogate=made-loss --with method=made-loss {only} --against"
    assert text.count(timed) == 1
    gate.write_text(text.replace("--suite gate", "--suite mine"), encoding="utf-8")
    edited = gate.read_bytes()
    assert "`--suite gate --with model=made-loss`" in add_component(folder, "model").gate_by_hand("model")
    assert gate.read_bytes() == edited


def test_a_plugin_without_a_gate_gets_one_with_its_first_contender(tmp_path):
    folder = write_plugin("rankbench-made-reader", "reader", tmp_path)
    assert not (folder / ".github" / "workflows" / "gate.yml").exists()
    assert add_component(folder, "method").gate_by_hand("method") == ""
    text = (folder / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8")
    assert text == (write_plugin("made-reader", "method", tmp_path) / ".github/workflows/gate.yml").read_text("utf-8")
    assert (folder / ".github" / "changed-results.md").exists()


@pytest.mark.parametrize("listed", ["[]", "[A]", "[A, ]", "[\n        A,\n        B,\n    ]", "[A, B]  # \u00fc"])
def test_an_entry_is_added_to_any_list(listed):
    source = f'"""\u00fcber."""\n\nimport os\n\n\ndef rankbench_register():\n    return {listed}\n'
    found = with_entry(source, Path("x.py"), "C", ["from x import C"])
    tree = ast.parse(found)
    assert [ast.unparse(node) for node in tree.body[1:3]] == ["import os", "from x import C"]
    assert tree.body[-1].body[-1].value.elts[-1].id == "C"


def test_pages_do_not_begin_with_the_template(written):
    folder = written("surrogate", False)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (marker,) = re.findall(":end-before: (.*)", (folder / "docs" / "index.md").read_text(encoding="utf-8"))
    pages, _, work = readme.partition(marker)
    assert "new plugin" not in pages
    assert "replace the formulas" in work


@pytest.mark.parametrize(
    ("direct", "source"),
    [
        (None, "rankbench"),
        ({"url": (HERE / "rankbench").as_uri(), "dir_info": {"editable": True}}, "rankbench"),
        ({"url": (HERE / "rankbench-1.0-py3-none-any.whl").as_uri(), "archive_info": {}}, "rankbench"),
        ({"url": (HERE / "rankbench").as_uri(), "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, "rankbench"),
        ({"url": "https://h/o/r", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, "git+https://h/o/r@c0ffee"),
        ({"url": "https://h/rankbench.whl", "archive_info": {}}, "https://h/rankbench.whl"),
    ],
)
def test_a_plugin_names_no_folder_of_the_machine_that_wrote_it(direct, source, monkeypatch):
    installed = SimpleNamespace(version="1.0", read_text=lambda name: direct and json.dumps(direct))
    monkeypatch.setattr(metadata, "distribution", lambda name: installed)
    files = plugin_files("rankbench-made", "rankbench_made", "made", "loss", compiled=False)
    assert re.findall(r"RANKBENCH:-([^}]+)}", files["README.md"]) == [source]
    here = (str(Path.home()), str(Path.cwd()), sys.prefix, str(HERE))
    assert [name for name, text in files.items() if any(place in text for place in here if place != "/")] == []


@pytest.mark.full
def test_the_protocol_runs_the_suite_of_its_gate_and_its_tests_pass(tmp_path):
    folder = write_plugin("rankbench-made-protocol", "protocol", tmp_path)
    # As installed: worker processes look the protocol up as well.
    install_plugin(folder, "rankbench-made-protocol", "made-protocol = rankbench_made_protocol")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = ["run", "--suite", str(folder / "gate.toml"), "--reps", "1", "--out", "out"]
    shown = run_program(*run, environment=environment, folder=tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    tests = [sys.executable, "-m", "pytest", "-q", str(folder)]
    shown = subprocess.run(tests, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert rows["status"].unique().to_list() == ["done"]
    means = dict(rows.group_by("n").agg(pl.col("value").mean()).iter_rows())
    assert means[300] < means[30] < 0.5


@pytest.mark.parametrize(("kind", "compiled"), WRITTEN)
def test_nothing_is_left_to_fill_in(kind, compiled, written):
    folder = written(kind, compiled)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    package = f"rankbench_made_{kind}"
    assert {"pyproject.toml", "README.md", f"tests/test_{package}.py", f"{package}/__init__.py"} < files
    assert (f"{package}/kernels.py" in files) == compiled
    assert ("numba" in (folder / "pyproject.toml").read_text(encoding="utf-8")) == compiled
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert re.findall(r"@[A-Z]+@", path.read_text(encoding="utf-8")) == [], path


def test_our_own_rules_find_nothing_in_it(tmp_path):
    for kind, compiled in WRITTEN:
        write_plugin(f"rankbench-made-{kind}{'-compiled' * compiled}", kind, tmp_path, compiled=compiled)
    ruff = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    for rules in (["--ignore", "D,I001,RUF012,E501"], ["--select", "F,E9,B,UP"]):
        shown = subprocess.run([*ruff, *rules], capture_output=True, text=True, check=False)
        assert shown.returncode == 0, shown.stdout


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("My-Plugin", "small letters"),
        ("../up", "small letters"),
        ("rankbench-", "small letters"),
        ("a" * 61, "small letters"),
        ("", "small letters"),
        ("class", "Python's own"),
        ("json", "Python's own"),
        ("setup", "run by tools unasked"),
        ("conftest", "run by tools unasked"),
        ("sitecustomize", "run by tools unasked"),
        ("usercustomize", "run by tools unasked"),
        ("numpy", "installed"),
        ("rankbench", "installed"),
        ("rankbench-inf", "cannot be the name of a component"),
        ("rankbench-regression", "registered by rankbench"),
    ],
)
def test_names_that_cannot_be_used_are_refused(name, complaint, tmp_path):
    with pytest.raises(SpecError, match=complaint):
        write_plugin(name, "surrogate", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_kind_without_a_compiled_form_says_so(tmp_path):
    for kind in set(PLUGIN_KINDS) - set(COMPILED_KINDS):
        with pytest.raises(SpecError, match=f"a {kind} has no compiled form"):
            write_plugin("my-own", kind, tmp_path, compiled=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["folder", "file", "dangling link"])
def test_nothing_is_overwritten(what, tmp_path):
    target = tmp_path / "my-own"
    if what == "folder":
        target.mkdir()
        (target / "kept").write_text("mine")
    elif what == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "nowhere")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(InputError, match="it is there already; nothing was written"):
        write_plugin("my-own", "model", tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_failure_in_the_middle_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_all(tmp_path / "my-own", {"a": "first", "a/b": "a is a file"})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="cannot be written"):
        write_all(tmp_path / "no" / "such", {"a": "first"})


def test_a_suite_loads_and_names_what_is_there(tmp_path):
    path = write_suite("my-own", tmp_path)
    assert path.name == "my-own.toml"
    assert load_suite(str(path)).name == "my-own"
    assert [str(result) for result in check_component(path) if not result.ok] == []
    assert sum(line.startswith("#") for line in path.read_text(encoding="utf-8").splitlines()) >= 8
    with pytest.raises(InputError, match="there already"):
        write_suite("my-own", tmp_path)
    with pytest.raises(SpecError, match="registered by rankbench"):
        write_suite("demo", tmp_path)
