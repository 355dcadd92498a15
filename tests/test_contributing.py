"""What CONTRIBUTING.md tells about folders and interfaces is so."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

import rankbench
from rankbench.plugin.registry import KINDS, base_of

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = TEXT.partition("| kind | base class |")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.splitlines()[2:] if line]
INTERFACES = [(row[0], row[1].strip("`"), " ".join(row[2:])) for row in ROWS if row[1].startswith("`")]


def test_every_kind_has_a_row_with_its_base_class():
    listed = {re.split(r",| of ", kind)[0] for kind, *_ in INTERFACES}
    assert {word.replace("data set", "dataset") for word in listed} == set(KINDS)
    for kind, name, _ in INTERFACES:
        word = re.split(r",| of ", kind)[0].replace("data set", "dataset")
        assert issubclass(getattr(rankbench, name), base_of(word))


@pytest.mark.parametrize(("kind", "name", "text"), INTERFACES, ids=[row[0] for row in INTERFACES])
def test_methods_have_the_parameters_that_the_table_shows(kind, name, text):
    base = getattr(rankbench, name)
    shown = re.findall(r"`([a-z_]+)\(([a-z_0-9, ]*)\)`", text)
    assert shown
    for method, written in shown:
        function = inspect.getattr_static(base, method)
        given = [word for word in inspect.signature(inspect.unwrap(getattr(base, method))).parameters if word != "self"]
        assert [word for word in written.split(", ") if word] == given, f"{name}.{method}"
        assert function is not None
    for attribute in re.findall(r"`([a-z_]+)`", text):
        assert attribute in {*dir(base), *base.__annotations__}, f"{name}.{attribute}"
    assert all(method in dict(shown) for method in getattr(base, "__abstractmethods__", ()))


def test_signatures_of_derived_forms_exist():
    from rankbench.kernels import signatures as kernels

    named = set(re.findall(r"`([A-Z_]+)`", TABLE)) - {"TOML"}
    assert {"AGGREGATE", "STEP"} <= named
    assert [name for name in named if not hasattr(kernels, name)] == []


def test_folders_of_the_layout_exist():
    layout = TEXT.partition("Beside it:")[2].partition("\n## ")[0]
    folders = re.findall(r"^\| `([\w/]+)` \|", layout, flags=re.MULTILINE)
    assert len(folders) > 5
    assert [name for name in folders if not (ROOT / name).is_dir()] == []


def test_planted_bugs_stand_where_the_table_says() -> None:
    """`make mutants` takes hours, and a file that moved would stop it."""
    mutants = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text(encoding="utf-8"))["mutants"]
    for mutant in mutants:
        text = (ROOT / "rankbench" / mutant["file"]).read_text(encoding="utf-8")
        assert text.count(mutant["old"]) == 1, mutant["name"]
        assert all((ROOT / test.partition("::")[0]).exists() for test in mutant["tests"]), mutant["name"]
