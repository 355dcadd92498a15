"""Deliberately broken plugins, each caught by what its own file says; `broken/` has them, one a file.

``CAUGHT = "loading"``: `rankbench plugins` tells, and nothing of it is there. ``"check"``: the named
conformance check fails. ``"process"``: `rankbench check` tells, whose processes may hang or die.
The table in docs/plugins.md is made from the same files.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from amounts import part_of
from forked import run_program

from rankbench.plugin.loading import load
from rankbench.testing.check import check_component

FOLDER = Path(__file__).with_name("broken")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"
WHERE = {"loading": "while it is loaded", "check": "by the check", "process": "by a process of its own"}
SECONDS = 3
SLOW = ("endless_machine_code", "endless_python", "segfault")
"""They cost several processes each; of those that hang and of those that die, another one is always tried."""


def facts(path: Path) -> dict[str, str]:
    """Read what a plugin says of itself, without importing it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {"doc": ast.get_docstring(tree) or "", "name": path.stem}
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.targets[0], ast.Name)
        ):
            said[node.targets[0].id] = str(node.value.value)
    return said


PLUGINS = {path.stem: facts(path) for path in sorted(FOLDER.glob("*.py"))}


def caught(how: str) -> list[str]:
    return [name for name, said in PLUGINS.items() if said["CAUGHT"] == how]


def imported(name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(f"broken_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def loader(name: str):
    def load_it() -> object:
        module = imported(name)
        attribute = PLUGINS[name].get("ATTRIBUTE")
        return getattr(module, attribute) if attribute else module

    return load_it


@pytest.mark.parametrize("name", caught("loading"))
def test_what_is_caught_while_it_is_loaded(name, entry, model):
    ours = entry("ours", distribution="rankbench", brings=lambda: [model("linear")])
    status = load([ours, entry(name, load=loader(name))]).statuses[-1]
    assert status.status == "broken"
    assert status.components == ()
    assert re.search(PLUGINS[name]["BY"], status.causes[0]), status.causes


@pytest.fixture
def as_before():
    with np.errstate(), mock.patch.dict(os.environ):
        yield


@pytest.mark.parametrize("name", part_of(caught("check"), 3))
def test_what_is_caught_by_a_check(name, entry, as_before):
    plugin = load([entry(name, load=loader(name))], strict=True)
    ((kind, brought),) = (component.split("/") for component in plugin.statuses[0].components)
    results = check_component(plugin.registry.component_class(kind, brought))
    failed = {result.check: result.reason for result in results if not result.ok}
    assert PLUGINS[name]["BY"] in failed
    # Expected to fail, the same checks are no failures; told nothing of it, a sound component is.
    assert all(r.ok for r in check_component(plugin.registry.component_class(kind, brought), failed))


@pytest.mark.parametrize(
    "name",
    [
        *part_of((name for name in caught("process") if name not in SLOW), 3),
        *(pytest.param(name, marks=pytest.mark.long) for name in SLOW),
    ],
)
def test_what_is_caught_by_a_process_of_its_own(name, tmp_path):
    info = tmp_path / f"broken_{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: broken-{name.replace('_', '-')}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rankbench]\nbroken = broken_{name}\n")
    (tmp_path / f"broken_{name}.py").write_text((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    arguments = ["check", f"broken-{name.replace('_', '-')}", "--json", "--timeout", str(SECONDS)]
    shown = run_program(*arguments, environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert shown.returncode == 1, shown.stderr
    results = json.loads(shown.stdout)["results"]
    assert any(PLUGINS[name]["BY"] in r["reason"] for r in results if r["status"] == "failed"), results


def test_there_are_at_least_twenty():
    assert len(PLUGINS) >= 20
    assert {said["CAUGHT"] for said in PLUGINS.values()} == set(WHERE)


def table() -> str:
    lines = ["| plugin | what is wrong with it | caught |", "|---|---|---|"]
    for how, where in WHERE.items():
        for name in caught(how):
            said = PLUGINS[name]
            by = {"loading": where, "check": f"{where} `{said['BY']}`", "process": f"{where}: {said['BY']}"}[how]
            lines.append(f"| {name.replace('_', ' ')} | {said['doc']} | {by} |")
    return "\n".join(lines)


def test_the_table_of_the_page_is_this_one():
    assert table() in PAGE.read_text(encoding="utf-8"), f"put this into docs/plugins.md:\n{table()}"
