"""`rankbench check --wheel`: what others would install, built here and checked in an environment of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankbench.cli import main
from rankbench.errors import InputError, SpecError
from rankbench.testing import wheel as wheels
from rankbench.testing.scaffold import COMPILED_KINDS, PLUGIN_KINDS, write_plugin
from rankbench.testing.wheel import Installation, check_wheel

pytest.importorskip("hatchling", reason="the build backend is part of requirements/dev.txt")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
WRITTEN = [(kind, False) for kind in PLUGIN_KINDS] + [(kind, True) for kind in COMPILED_KINDS]


def wrong(results) -> dict[str, str]:
    return {result.check: result.reason for result in results if not result.ok}


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def unchecked(monkeypatch):
    """Leave out what takes long: the conformance checks of what the wheel brings."""
    monkeypatch.setattr(wheels, "_checked", lambda *_: iter(()))


def contents(folder: Path, into: Path) -> set[str]:
    assert wheels._pip("wheel", "--no-build-isolation", "--wheel-dir", str(into), str(folder)).returncode == 0
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.mark.parametrize(("kind", "compiled"), [("loss", True), ("suite", False)])
def test_the_wheel_of_a_new_plugin_holds_its_package(kind, compiled, tmp_path):
    folder = write_plugin("rankbench-made-it", kind, tmp_path, compiled=compiled)
    package = folder / "rankbench_made_it"
    held = {path.relative_to(folder).as_posix() for path in package.rglob("*") if path.is_file()}
    assert len(held) == (3 if compiled else 2)
    assert contents(folder, tmp_path) == held


def test_a_new_compiled_plugin_passes_from_its_wheel(tmp_path):
    folder = write_plugin("rankbench-made-hinge", "surrogate", tmp_path, compiled=True)
    results = list(check_wheel(str(folder)))
    assert wrong(results) == {}
    done = {result.check for result in results if result.executed}
    assert {"wheel-is-built", "wheel-is-installed", "loads", "compiled-surrogate-equals-numpy"} <= done
    assert {result.component for result in results} == {
        "plugin/rankbench-made-hinge",
        "surrogate/made-hinge",
        "surrogate/made-hinge:width=10",  # the bound of its parameter
    }


@pytest.mark.long
@pytest.mark.parametrize(("kind", "compiled"), WRITTEN)
def test_each_new_plugin_passes_from_its_wheel(kind, compiled, tmp_path):
    folder = write_plugin("rankbench-made-it", kind, tmp_path, compiled=compiled)
    results = list(check_wheel(str(folder)))
    assert wrong(results) == {}
    assert ("compiled" in " ".join(r.check for r in results if r.executed)) == compiled
    package = {path.relative_to(folder).as_posix() for path in (folder / "rankbench_made_it").rglob("*.*")}
    assert contents(folder, tmp_path) == {name for name in package if "__pycache__" not in name}


def test_kernels_that_the_wheel_lacks_are_missed(tmp_path):
    """An author followed the page as it once was: kernels beside the module, which the wheel does not name."""
    folder = write_plugin("rankbench-made-apart", "surrogate", tmp_path, compiled=True)
    package = folder / "rankbench_made_apart"
    (package / "kernels.py").rename(folder / "made_apart_kernels.py")
    edited(package / "surrogate.py", "from rankbench_made_apart import kernels", "import made_apart_kernels as kernels")
    found = wrong(check_wheel(str(folder)))
    assert (
        "it lacks made_apart_kernels, which rankbench_made_apart.surrogate imports"
        in (found["wheel-holds-what-it-imports"])
    )
    assert "No module named 'made_apart_kernels'" in found["compiled-surrogate-equals-numpy"]


@pytest.mark.parametrize(
    ("place", "line", "lacks"),
    [
        ("helpers.py", "import helpers", "helpers"),
        ("helpers/__init__.py", "from helpers import anything", "helpers"),
        ("src/helpers.py", "from helpers import anything", "helpers"),
        ("rankbench_made_it/left_out.py", "from rankbench_made_it import left_out", "rankbench_made_it.left_out"),
        ("rankbench_made_it/left_out.py", "from . import left_out", "rankbench_made_it.left_out"),
        ("rankbench_made_it/left_out.py", "from .left_out import anything", "rankbench_made_it.left_out"),
        ("rankbench_made_it/kept.py", "from .kept import anything", None),
        ("numpy.py", "import numpy", None),  # another distribution has it
        ("data/table.csv", "import data", None),  # not a module
        ("helpers.py", "'import helpers'", None),
    ],
)
def test_what_stands_in_the_folder_and_is_imported_must_be_in_the_wheel(place, line, lacks, tmp_path):
    folder = write_plugin("rankbench-made-it", "loss", tmp_path)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text("anything = 1\n")
    package = folder / "rankbench_made_it"
    edited(package / "loss.py", "\n\nclass", f"\n\ndef late():\n    {line}\n\n\nclass")
    with zipfile.ZipFile(tmp_path / "made.whl", "w") as archive:
        for path in package.glob("*.py"):
            if path.name != "left_out.py":
                archive.write(path, path.relative_to(folder))
        found = wheels._lacking(archive, folder)
    said = (
        f"it lacks {lacks}, which rankbench_made_it.loss imports: put it into the package, or name it in pyproject.toml"
    )
    assert found == ([] if lacks is None else [said])


def test_an_environment_sees_this_one_but_nothing_of_the_plugin(tmp_path, monkeypatch):
    """Neither links of an editable install are followed, nor PYTHONPATH into the folder, nor an older copy."""
    source = Path(pytest.importorskip("rankbench_example", reason="make install installs it").__file__).parent
    old = tmp_path / "old"
    info = old / "rankbench_example-0.0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Rankbench.Example\nVersion: 0.0.1\n")
    (old / "example_kernels.py").write_text("")
    (old / "unrelated.py").write_text("")
    (info / "RECORD").write_text("example_kernels.py,,\nrankbench_example-0.0.1.dist-info/METADATA,,\n")
    monkeypatch.syspath_prepend(str(old))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(source), str(old)]))
    environment = Installation.make(tmp_path / "environment")
    environment.see_this_one(hiding="rankbench-example", source=source)
    names = ["rankbench", "numpy", "rankbench_example", "example_kernels", "unrelated"]
    asked = (
        "import importlib, json\n"
        "def there(name):\n"
        "    try: return bool(importlib.import_module(name))\n"
        "    except ModuleNotFoundError as error: return error.name\n"
        f"print(json.dumps([there(name) for name in {names!r}]))"
    )
    done = environment.run("-c", asked)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [True, True, "rankbench_example", "example_kernels", True]


def test_a_distribution_that_is_installed_from_a_folder_stands_for_it(unchecked):
    pytest.importorskip("rankbench_example", reason="make install installs it")
    results = list(check_wheel("Rankbench_Example"))
    assert wrong(results) == {}
    assert {result.component for result in results} == {"plugin/rankbench-example"}


def test_a_wheel_is_checked_as_it_is(tmp_path):
    folder = write_plugin("rankbench-made-it", "claim", tmp_path)
    assert wheels._pip("wheel", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(folder)).returncode == 0
    (wheel,) = tmp_path.glob("*.whl")
    done = CliRunner().invoke(main, ["check", str(wheel), "--json"])
    results = json.loads(done.stdout)["results"]
    assert done.exit_code == 0, results
    assert {result["component"] for result in results} == {"plugin/rankbench-made-it", "claim/made-it"}
    assert "wheel-is-installed" in {result["check"] for result in results}
    for name, said in (("none.whl", "No such file"), ("text.whl", "not a zip file")):
        if name == "text.whl":
            (tmp_path / name).write_text("text")
        refused = CliRunner().invoke(main, ["check", str(tmp_path / name)])
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_what_cannot_be_built_says_why(tmp_path, monkeypatch):
    folder = write_plugin("rankbench-made-it", "model", tmp_path)
    with pytest.raises(SpecError, match=r"'no-such-thing' is neither a folder with a pyproject\.toml nor an installed"):
        list(check_wheel("no-such-thing"))
    project = folder / "pyproject.toml"
    edited(project, '"hatchling>=1.27"', '"hatchling>=1.27", "a-backend-of-nobody>=3; python_version > \'3\'"')
    with pytest.raises(SpecError, match=r"needs a-backend-of-nobody>=3.* -m pip install 'a-backend-of-nobody>=3"):
        list(check_wheel(str(folder)))
    edited(project, "a-backend-of-nobody>=3; python_version > '3'", "a-backend-of-nobody; python_version < '3'")
    edited(project, 'version = "0.1.0"', 'version = "not a version"')
    (result,) = check_wheel(str(folder))
    assert (result.check, result.status) == ("wheel-is-built", "failed")
    assert "not a version" in result.reason
    project.write_text("[build-system")
    with pytest.raises(InputError, match=r"pyproject\.toml"):
        list(check_wheel(str(folder)))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    project.write_text("[build-system]\nrequires = []\n")
    with pytest.raises(SpecError, match=r"needs pip, which is not installed here: .* -m ensurepip"):
        list(check_wheel(str(folder)))


@pytest.mark.long
def test_a_wheel_without_a_plugin_is_told_so(tmp_path):
    folder = write_plugin("rankbench-made-it", "model", tmp_path)
    edited(folder / "pyproject.toml", "[project.entry-points.rankbench]", "[project.entry-points.another]")
    assert "there is no plugin, component or suite 'rankbench-made-it'" in wrong(check_wheel(str(folder)))["loads"]
