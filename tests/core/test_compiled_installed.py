"""Machine code that was compiled when the package was installed: copied to the cache folder, and loaded from there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from amounts import part_of
from forked import run_program

from rankbench.core import runtime
from rankbench.core.code_digest import PACKAGE

pytestmark = pytest.mark.full

OURS = """
import json
from rankbench.kernels import random
functions = [one for one in vars(random).values() if hasattr(one, "stats")]
print(json.dumps([sum(sum(f.stats.cache_hits.values()) for f in functions), len(functions), random.__file__]))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package in which kernels of one module were compiled by an installation."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, site / "rankbench", ignore=shutil.ignore_patterns("__pycache__"))
    made = site / "made"
    assert ours(site, made)[0] == 0
    shutil.copytree(made / "numba", site / "rankbench" / runtime.INSTALLED)
    shutil.rmtree(made)
    return site


@pytest.fixture
def site(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of it that may be damaged."""
    return Path(shutil.copytree(filled, tmp_path / "site"))


def ours(site: Path, cache: Path, **more: str) -> tuple[int, int, str]:
    """Import kernels of a copy of the package; return hits, the number of functions and what was said."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"RANKBENCH_CACHE": str(cache), "PYTHONPATH": str(site), **more}
    shown = run_program(code=OURS, folder=site, environment=environment)
    assert shown.returncode == 0, shown.stderr
    hits, functions, file = json.loads(shown.stdout)
    assert Path(file).is_relative_to(site)
    return hits, functions, shown.stderr


def installed_files(site: Path) -> list[Path]:
    return sorted((site / "rankbench" / runtime.INSTALLED).rglob("*.nb?"))


def test_what_was_installed_is_loaded_and_nothing_is_written(site: Path, tmp_path: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in installed_files(site)}
    hits, functions, said = ours(site, tmp_path / "cache")
    assert (hits, said) == (functions, "")
    assert functions >= 2
    (folder,) = (tmp_path / "cache" / "numba").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert contents(folder) == contents(site / "rankbench" / runtime.INSTALLED / folder.name)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in installed_files(site)} == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_a_cache_folder_what_was_installed_is_loaded_all_the_same(site: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    hits, functions, said = ours(site, tmp_path / "file")
    assert (hits, said) == (functions, "")


def test_damage_among_what_was_installed_is_compiled_by_each_process(site: Path, tmp_path: Path) -> None:
    """Numba keeps the name of a damaged file: docs/explanation/reliability.md says to remove the cache."""
    broken = next(path for path in installed_files(site) if path.suffix == ".nbc")
    os.truncate(broken, broken.stat().st_size // 2)
    before = broken.read_bytes()
    for _ in range(2):
        hits, functions, said = ours(site, tmp_path / "cache")
        assert (hits, said) == (functions - 1, "")
    assert broken.read_bytes() == before


@pytest.mark.parametrize(
    "change", part_of([{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}, {}], 3), ids=str
)
def test_machine_code_for_something_else_is_left_alone(site: Path, tmp_path: Path, change: dict[str, str]) -> None:
    """For another processor, another setting of numba, or other sources."""
    if not change:
        edited = site / "rankbench" / "kernels" / "gains.py"
        edited.write_text(edited.read_text() + "\n# edited\n")
    assert ours(site, tmp_path / "cache", **change)[0::2] == (0, "")
    assert any((tmp_path / "cache").rglob("*.nb?"))
