"""What `import rankbench` offers, and how little it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rankbench


@pytest.mark.parametrize("name", rankbench.__all__)
def test_every_public_name_is_there(name):
    assert getattr(rankbench, name) is not None
    assert name in dir(rankbench)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(rankbench.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        node.names[0].asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].asname
    }
    assert seen | {"__version__"} == set(rankbench.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rankbench.nothing  # noqa: B018


def test_the_version_is_the_projects():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert rankbench.__version__ == project["version"]


def test_importing_it_imports_no_library():
    program = "import sys; before = set(sys.modules); import rankbench; print(sorted(set(sys.modules) - before))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pydantic", "polars", "numba", "scipy", "click", "pluggy", "importlib.metadata"}
    assert not heavy & set(shown.stdout.replace("'", "").strip("[]\n").split(", "))


def test_importing_components_imports_neither_numba_nor_scipy():
    program = (
        "import sys, rankbench; from rankbench.plugin import component_description, manager, registry; "
        "[getattr(rankbench, name) for name in rankbench.__all__ if name not in ('run', 'report', 'Ranker')]; "
        "[component_description.describe_component(k, name) for k in registry.KINDS for name in manager.names(k)]; "
        "print({'numba', 'scipy'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
