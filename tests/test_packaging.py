"""Pins, entry points, what git tracks, and what the wheel and the sdist hold."""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ASSETS = Path("rankbench/html/assets")
VENDORED = {ASSETS / name for name in json.loads((ROOT / ASSETS / "versions.json").read_text(encoding="utf-8"))}
PINS = sorted((ROOT / "requirements").glob("*.txt"))


def pinned(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Parse a requirements file strictly: anything but comments and hashed pins is an error."""
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    pins = {}
    for line in filter(None, (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())):
        match = re.fullmatch(r"([a-z0-9-]+)==([0-9][\w.]*)( ; [^#]+?)?((?: +--hash=sha256:[0-9a-f]{64})+)", line)
        assert match, f"{path.name}: not a hashed pin: {line[:100]}"
        assert match[1] not in pins, f"{path.name}: {match[1]} is pinned twice"
        pins[match[1]] = (match[2], match[4].split())
    return pins


def tracked() -> list[Path]:
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [Path(name) for name in listing.decode().split("\0") if name and (ROOT / name).exists()]


@pytest.mark.parametrize("path", PINS, ids=lambda p: p.name)
def test_every_requirement_is_one_version_with_hashes(path: Path) -> None:
    pins = pinned(path)
    assert pins
    assert all(len(set(hashes)) == len(hashes) for _, hashes in pins.values())


def test_pins_satisfy_what_pyproject_asks_for() -> None:
    runtime = pinned(ROOT / "requirements" / "runtime.txt")
    wanted = [Requirement(text) for text in PYPROJECT["project"]["dependencies"]]
    wanted += [Requirement(text) for text in PYPROJECT["build-system"]["requires"]]
    dev = pinned(ROOT / "requirements" / "dev.txt")
    for requirement in wanted:
        version, _ = dev[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is pinned to {version}"
    assert set(runtime) < set(dev)
    assert {name: dev[name] for name in runtime} == runtime


def test_pins_of_development_cover_dev_in() -> None:
    dev = pinned(ROOT / "requirements" / "dev.txt")
    lines = (ROOT / "requirements" / "dev.in").read_text(encoding="utf-8").splitlines()
    names = {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("#")}
    assert names <= set(dev)
    assert {"pytest", "hatchling", "editables"} <= names


def test_what_the_package_imports_is_declared() -> None:
    declared = {canonicalize_name(Requirement(text).name) for text in PYPROJECT["project"]["dependencies"]}
    brought = {
        "llvmlite": "numba",
        "markdown_it": "markdown-it-py",
        "mpl_toolkits": "matplotlib",
        "pydantic_core": "pydantic",
        **dict.fromkeys(("backports", "compression"), "backports-zstd"),  # the standard library's, from 3.14 on
    }
    # What is called from a test only: who tests a plugin with pytest has it. And what an extra brings.
    theirs = {("rankbench/testing/pytest_mark.py", "pytest")}
    dask = PYPROJECT["project"]["optional-dependencies"]["dask"]
    extras = {
        "rankbench/core/system.py": dask,
        "rankbench/runner/executors.py": dask,
        "rankbench/logs/count_log.py": dask,
    }
    extras["rankbench/data/readers/excel.py"] = PYPROJECT["project"]["optional-dependencies"]["xlsx"]
    theirs.add(("rankbench/methods/ranker.py", "sklearn"))  # the extra scikit-learn
    extras["rankbench/data/ir_collections.py"] = PYPROJECT["project"]["optional-dependencies"]["ir-datasets"]
    theirs |= {(path, Requirement(text).name.replace("-", "_")) for path, texts in extras.items() for text in texts}
    missing = {}
    for path in (ROOT / "rankbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names}:
                where = path.relative_to(ROOT).as_posix()
                known = top in sys.stdlib_module_names | {"rankbench"} or (where, top) in theirs
                if not known and brought.get(top, top) not in declared:
                    missing[top] = where
    assert not missing, "imported, but not in pyproject.toml"


ENTRY_POINTS = [
    pytest.param(EntryPoint(name, value, group), id=f"{group}:{name}")
    for group, entries in {
        "scripts": PYPROJECT["project"]["scripts"],
        **PYPROJECT["project"]["entry-points"],
    }.items()
    for name, value in entries.items()
]


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_entry_points_can_be_loaded(entry_point: EntryPoint) -> None:
    loaded = entry_point.load()
    if entry_point.group in ("scripts", "rankbench.commands"):
        assert callable(loaded)


def test_no_tracked_file_names_a_machine_or_an_index() -> None:
    own = Path("tests/test_packaging.py")
    machine = re.compile(
        rb"(?<![\w.~-])/(?:home|root|Users|opt|work|mnt|srv)/\w|[A-Z]:\\Users\\|file://|pythonhosted|pypi\.org"
    )
    found = []
    for path in tracked():
        content = (ROOT / path).read_bytes()
        if path != own and path not in VENDORED and b"\0" not in content:
            found += [f"{path}: {match[0].decode()}" for match in machine.finditer(content)]
    assert not found


def test_scripts_of_others_are_those_of_their_releases_with_their_licences() -> None:
    versions = json.loads((ROOT / ASSETS / "versions.json").read_text(encoding="utf-8"))
    scripts = {path.name: path.read_bytes() for path in (ROOT / ASSETS).glob("*.min.js")}
    assert {name: one["sha256"] for name, one in versions.items()} == {
        name: hashlib.sha256(data).hexdigest() for name, data in scripts.items()
    }
    for name, one in versions.items():
        assert one["version"].encode() in scripts[name]
        assert "Copyright" in (ROOT / ASSETS / one["licence"]).read_text(encoding="utf-8")


def test_pins_are_the_only_lock() -> None:
    names = {path.name for path in tracked()}
    assert not names & {"uv.lock", "poetry.lock", "Pipfile.lock", "pylock.toml"}
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]


def test_versions_agree() -> None:
    version = PYPROJECT["project"]["version"]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert version in headings[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build sdist and wheel as a release does, without a network."""
    pytest.importorskip("hatchling", reason="the build backend is part of requirements/dev.txt")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    environment = os.environ | {"RANKBENCH_PURE_WHEEL": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return folder


def test_wheel_holds_the_package_the_suites_and_the_data_cards(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert wheel.name == f"rankbench-{PYPROJECT['project']['version']}-py3-none-any.whl"
    package = {path.as_posix() for path in tracked() if path.parts[0] == "rankbench"}
    cards = {f"rankbench/data/cards/{p.relative_to('datasets')}" for p in tracked() if p.parts[0] == "datasets"}
    assert package | cards <= names
    assert {"rankbench/py.typed", "rankbench/suites/paper.toml"} <= names
    assert any(name.startswith("rankbench/data/cards/") and name.endswith(".toml") for name in names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    stray = [name for name in names if not name.startswith("rankbench") or "__pycache__" in name]
    assert not stray


def test_what_installing_compiles_is_all_there_before_the_first_answer(tmp_path: Path) -> None:
    """The wheel that pip would build, in an environment with an empty cache folder: nothing is compiled."""
    pytest.importorskip("hatchling", reason="the build backend is part of requirements/dev.txt")
    folder, site, cache = tmp_path / "dist", tmp_path / "site", tmp_path / "cache"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", str(folder)]
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "RANKBENCH_PURE_WHEEL")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    this_python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.split("-")[2] == this_python
    assert wheel.name.split("-")[4] != "any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    plugins = ",".join({found.dist.name for found in entry_points(group="rankbench") if found.dist})
    environment |= {"PYTHONPATH": str(site), "RANKBENCH_CACHE": str(cache), "RANKBENCH_BLOCK_PLUGINS": plugins}
    counting = (
        "import numba.core.event as event\n"
        "compiled = event.RecordingListener()\n"
        "event.register('numba:compile', compiled)\n"
        "import rankbench\n"
        "table = rankbench.aggregate('llmfao', intervals='auto').table\n"
        "print(rankbench.__file__, len(table), len(compiled.buffer))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", counting], cwd=site, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(site / "rankbench" / "__init__.py"), "59", "0"]
    assert done.stderr == ""
    (kept,), (installed,) = (cache / "numba").iterdir(), (site / "rankbench" / "machine_code").iterdir()
    names = [sorted(path.relative_to(folder) for path in folder.rglob("*.nb[ci]")) for folder in (kept, installed)]
    assert names[0] == names[1]


def test_sdist_holds_what_the_wheel_and_the_tests_are_made_of(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "Makefile", "scripts/install.sh", "requirements/dev.txt"}
    wanted |= {"hatch_build.py"}
    assert wanted <= names
    assert {p.as_posix() for p in tracked() if p.parts[0] in ("rankbench", "datasets", "tests")} <= names
    assert not [name for name in names if name.startswith((".venv", "runs/"))]
