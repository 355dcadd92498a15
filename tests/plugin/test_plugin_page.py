"""What the page for plugin authors says about the hook, kinds and what is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
import types
from pathlib import Path

import pytest

import rankbench
from rankbench.core.spec import parse
from rankbench.plugin import registry
from rankbench.plugin.loading import load
from rankbench.plugin.registry import KINDS, base_of, kind_of, plural_of
from rankbench.testing.check import check_component

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "writing-plugins.md").read_text(encoding="utf-8")
RULES = PAGE.partition("## Rules")[2]
PUBLIC = {
    *re.findall(r"`(rankbench[a-z_.]*)`", RULES.partition("Import names")[2].partition("Everything else")[0]),
    *(f"rankbench.interfaces.{module.name}" for module in pkgutil.iter_modules([str(ROOT / "rankbench/interfaces")])),
}
SOURCES = sorted((ROOT / "plugins").rglob("*.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_has_at_most_1400_words():
    assert len(PAGE.split()) <= 1400


def test_the_page_has_the_hook_with_its_signature_and_the_hook_says_since_when():
    (written,) = re.findall(rf"^def {registry.HOOK}(\(.*\) -> .*): \.\.\.$", PAGE, flags=re.MULTILINE)
    assert written == str(inspect.signature(registry.rankbench_register)).replace("'", "")
    assert re.search(r"\.\. versionadded:: \d+\.\d+", inspect.getdoc(registry.rankbench_register))


def test_the_page_names_every_kind_and_public_bases_of_it():
    opening = PAGE.partition("\n    ")[0].replace("\n", " ").replace("data sets", "datasets")
    assert re.search(r"brings components \((.*?)\)", opening)[1].split(", ") == [*map(plural_of, KINDS)]
    shown = re.findall(r"^\| (\w+) \| `rankbench\.(\w+)`", PAGE, flags=re.MULTILINE)
    assert {kind for kind, _ in shown} == set(KINDS)
    for kind, base in shown:
        assert issubclass(getattr(rankbench, base), base_of(kind))


def test_the_example_of_the_page_is_a_plugin_that_passes_its_checks(entry):
    module = types.ModuleType("squared_margin")
    sys.modules[module.__name__] = module
    try:
        exec(compile(blocks("python")[0], "docs/how-to/writing-plugins.md", "exec"), vars(module))
        loaded = load([entry("squared-margin", load=lambda: module)], strict=True)
        cls = loaded.registry.component_class("surrogate", "squared-margin")
        surrogate = cls.from_spec(parse("squared-margin:gamma=2"))
        assert [str(result) for result in check_component(surrogate) if not result.ok] == []
    finally:
        del sys.modules[module.__name__]
    assert repr(surrogate) in PAGE


def test_the_entry_points_of_the_page_are_in_the_groups_that_are_read():
    from rankbench.cli import GROUP

    (project,) = map(tomllib.loads, blocks("toml"))
    assert list(project["project"]["entry-points"]) == [registry.GROUP]
    assert f'[project.entry-points."{GROUP}"]' in PAGE


def test_ours_enter_through_the_same_door():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # Kinds of claims and figures come with the suites that use them, models with the methods.
    kinds = set(map(plural_of, KINDS)) - {"claims", "figures", "models"}
    assert {name.partition("-")[0] for name in project["entry-points"][registry.GROUP]} == kinds | {"suites"}


@pytest.mark.parametrize("word", ["loss", "losses", "suite", "suites", "dataset", "datasets"])
def test_kinds_are_known_in_the_singular_and_the_plural(word):
    assert kind_of(word) == {"losses": "loss", "suites": "suite", "datasets": "dataset"}.get(word, word)


def private(path: Path) -> list[str]:
    """Return what a file imports of rankbench that is not public."""
    wrong = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wrong += [a.name for a in node.names if a.name.startswith("rankbench.") and a.name not in PUBLIC]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rankbench":
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            known = {f"{node.module}.{name}" for name in defined(node.module)} if node.module in PUBLIC else set()
            wrong += [name for name in found if name not in known | PUBLIC]
    return wrong


def defined(name: str) -> set[str]:
    """Return the names that a module lists in `__all__`, or defines at its top without a leading underscore."""
    module = importlib.import_module(name)
    source = re.findall(r"^(?:def |class )?([A-Za-z]\w*)(?=[(:]| = )", inspect.getsource(module), flags=re.MULTILINE)
    return set(getattr(module, "__all__", source))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_our_plugins_use_the_public_door_only(path):
    assert private(path) == []
