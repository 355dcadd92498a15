"""What the page for plugin authors says about the hook, checks, compiled forms and what is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest

import rankbench
from rankbench.core.spec import parse
from rankbench.errors import SpecError
from rankbench.plugin import registry as hookspecs
from rankbench.plugin.loading import load
from rankbench.plugin.registry import KINDS, base_of, kind_of
from rankbench.testing.check import all_checks, check_component
from rankbench.testing.scaffold import PLUGIN_KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
HOOKS = {name: value for name, value in vars(hookspecs).items() if name.startswith("rankbench_")}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_there_is_one_hook():
    assert list(HOOKS) == [hookspecs.HOOK]
    assert inspect.signature(HOOKS[hookspecs.HOOK]).return_annotation == "list[type[Component] | Path]"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_kind_has_a_base_class_that_is_public(kind):
    base = kind.base_class()
    assert (base.kind, base_of(kind.name)) == (kind.name, base)
    assert getattr(rankbench, base.__name__) is base


@pytest.mark.parametrize("hook", HOOKS.values(), ids=lambda hook: hook.__name__)
def test_every_hook_says_since_when(hook):
    assert re.search(r"\.\. versionadded:: \d+\.\d+", inspect.getdoc(hook))


def test_the_page_has_the_hook_with_its_signature():
    written = re.findall(r"^def (rankbench_\w+)(\(.*\) -> .*): \.\.\.$", PAGE, flags=re.MULTILINE)
    signatures = {name: str(inspect.signature(hook)).replace("'", "") for name, hook in HOOKS.items()}
    assert dict(written) == signatures


def test_the_example_of_the_page_is_a_plugin_that_works(entry):
    module = types.ModuleType("squared_margin")
    sys.modules[module.__name__] = module
    try:
        exec(compile(blocks("python")[0], "docs/plugins.md", "exec"), vars(module))
        loaded = load([entry("squared-margin", load=lambda: module)], strict=True)
    finally:
        del sys.modules[module.__name__]
    cls = loaded.registry.component_class("surrogate", "squared-margin")
    surrogate = cls.from_spec(parse("squared-margin:gamma=2"))
    assert repr(surrogate) in PAGE
    margin, h = np.linspace(-2, 3, 11), 1e-6
    np.testing.assert_allclose(
        surrogate.dphi(margin), (surrogate.phi(margin + h) - surrogate.phi(margin - h)) / (2 * h), atol=1e-6
    )
    np.testing.assert_allclose(
        surrogate.ddphi(margin), (surrogate.dphi(margin + h) - surrogate.dphi(margin - h)) / (2 * h), atol=1e-6
    )


def test_the_entry_points_of_the_page_are_in_the_groups_that_are_read():
    from rankbench.cli import GROUP

    groups = [group for block in blocks("toml") for group in tomllib.loads(block)["project"]["entry-points"]]
    assert groups == [hookspecs.GROUP, GROUP]


def test_ours_enter_through_the_same_door():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # Kinds of claims and figures come with the suites that use them, models with the methods.
    kinds = {kind.plural for kind in KINDS.values()} - {"claims", "figures", "models"}
    assert set(project["entry-points"][hookspecs.GROUP]) == kinds | {"suites"}


@pytest.mark.parametrize("word", ["loss", "losses", "suite", "suites", "dataset", "datasets"])
def test_kinds_are_known_in_the_singular_and_the_plural(word):
    singular = {"losses": "loss", "suites": "suite", "datasets": "dataset"}
    assert kind_of(word) == singular.get(word, word)


def test_an_unknown_kind_gets_the_nearest():
    with pytest.raises(SpecError, match=r"no kind 'surogate'; did you mean 'surrogate'"):
        kind_of("surogate")


PYTHON = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
COMPILED = re.findall(r"```python\n(.*?)```", PAGE.partition("### The compiled form")[2], flags=re.DOTALL)
TOML = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
PUBLIC = re.findall(r"^\| `(rankbench[a-z_.]*)` \| .* \|$", PAGE, flags=re.MULTILINE)
"""The modules of the table under *What may be imported*."""
SOURCES = sorted((ROOT / "plugins").rglob("*.py"))


def test_it_lists_every_check_with_what_must_hold():
    for check in all_checks():
        kinds = "every kind" if set(check.kinds) >= set(KINDS) else ", ".join(check.kinds)
        assert f"| `{check.name}` | {kinds} | {check.summary} |" in PAGE
    section = PAGE.partition("## Checks")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\| `[a-z0-9-]+` \| ", section, flags=re.MULTILINE)) == len(all_checks())


def test_it_opens_with_every_kind_and_names_the_base_class_of_each():
    opening = PAGE.partition("\n## ")[0].replace("\n", " ").replace("data sets", "datasets")
    assert re.search(r"brings \*components\* \((.*?)\)", opening)[1].split(", ") == [k.plural for k in KINDS.values()]
    section = PAGE.partition("## The hook")[2].partition("\n## ")[0]
    shown = re.findall(r"^\| (\w+) \| `rankbench\.(\w+)` \|", section, flags=re.MULTILINE)
    assert dict(shown) == {kind.name: kind.base.rpartition(":")[2] for kind in KINDS.values()}


def test_it_names_every_kind_that_has_a_template():
    for kind in PLUGIN_KINDS:
        assert f"`{kind}`" in PAGE.partition("## Start from a template")[2].partition("## ")[0]


@pytest.mark.parametrize("module", PUBLIC)
def test_what_is_public_is_there(module):
    found = importlib.import_module(module)
    assert all(getattr(found, name) is not None for name in found.__all__)


def imports(path: Path) -> list[tuple[str, str | None]]:
    """Return what a file imports of rankbench: (module, name), name None for the module itself."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.partition(".")[0] == "rankbench"]


def private(path: Path) -> list[str]:
    wrong = []
    for module, name in imports(path):
        whole = f"{module}.{name}"
        if module not in PUBLIC and whole not in PUBLIC:
            wrong.append(module)
        elif name is not None and whole not in PUBLIC and name not in importlib.import_module(module).__all__:
            wrong.append(whole)
    return wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_our_plugins_use_the_public_door_only(path):
    assert private(path) == []


def test_a_private_import_would_be_noticed(tmp_path):
    path = tmp_path / "plugin.py"
    path.write_text(
        "from rankbench.runner.plan import make_plan\nimport rankbench.core.code_digest\nfrom rankbench import _x\n"
    )
    assert private(path) == ["rankbench.runner.plan", "rankbench.core.code_digest", "rankbench._x"]
    path.write_text("import rankbench\nfrom rankbench import testing\nfrom rankbench.errors import InputError\n")
    assert private(path) == []


def test_its_compiled_form_equals_the_plain_one():
    plain, kernels, method = PYTHON[0], COMPILED[0], COMPILED[1]
    modules = {name: types.ModuleType(name) for name in ("squared_margin", "squared_margin.kernels")}
    modules["squared_margin"].__path__ = []
    sys.modules |= modules
    try:
        exec(compile(kernels, "docs/plugins.md", "exec"), vars(modules["squared_margin.kernels"]))
        exec(compile(plain, "docs/plugins.md", "exec"), vars(modules["squared_margin"]))
        namespace = dict(vars(modules["squared_margin"]))
        exec(textwrap.dedent(method), namespace)
        cls = modules["squared_margin"].SquaredMargin
        assert [str(r) for r in check_component(cls) if not r.ok] == []
        cls.phi_kernels = namespace["phi_kernels"]
        results = {r.check: r for r in check_component(cls(gamma=2))}
    finally:
        for name in modules:
            del sys.modules[name]
    assert results["compiled-surrogate-equals-numpy"].status == "passed"


def test_the_wheel_of_its_example_holds_the_kernels(tmp_path):
    pytest.importorskip("hatchling", reason="the build backend is part of requirements/dev.txt")
    package = tmp_path / "squared_margin"
    package.mkdir()
    (package / "__init__.py").write_text(PYTHON[0].rstrip() + "\n", encoding="utf-8")
    (package / "kernels.py").write_text(COMPILED[0], encoding="utf-8")
    (project,) = (text for text in TOML if "[build-system]" in text)
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", "dist"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"squared_margin/__init__.py", "squared_margin/kernels.py"} <= set(names)
    for path in re.findall(r"`(squared_margin/\w+\.py)`", PAGE):
        assert path in names


def test_its_tests_run(tmp_path):
    assert "parametrize_with_checks([SquaredMargin(), SquaredMargin(gamma=2)], expected_failed={})" in COMPILED[2]
    compile(COMPILED[2], "docs/plugins.md", "exec")
