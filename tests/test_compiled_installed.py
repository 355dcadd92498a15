"""Machine code that was compiled when the package was installed: loaded if it is whole and as safe as the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from damaged_code import DAMAGE, posix, root_alone
from forked import run_program

from rankbench import compiled

OURS = """
import json
from rankbench.kernels import declared, random
declared.load_declared()
functions = [one for one in vars(random).values() if hasattr(one, "stats")]
print(json.dumps([sum(sum(f.stats.cache_hits.values()) for f in functions), len(functions), random.__file__]))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package in which kernels of one module were compiled by an installation."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(compiled.PACKAGE, site / "rankbench", ignore=shutil.ignore_patterns("__pycache__"))
    made = site / "made"
    assert ours(site, made)[0] == 0
    shutil.copytree(made / "numba", site / "rankbench" / compiled.INSTALLED)
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
    shown = subprocess.run(
        [sys.executable, "-c", OURS],
        cwd=site,  # which comes before everything
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    return told(site, shown.stdout, shown.stderr)


def told(site: Path, out: str, said: str) -> tuple[int, int, str]:
    hits, functions, file = json.loads(out)
    assert Path(file).is_relative_to(site)
    return hits, functions, said


def loaded(site: Path, cache: Path) -> tuple[int, int, str]:
    """Do as `ours` does, in a process that is forked from one that has imported numba."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | {"RANKBENCH_CACHE": str(cache)}
    shown = run_program(code=OURS, environment=environment, folder=site, imported="numba")
    assert shown.returncode == 0, shown.stderr
    return told(site, shown.stdout, shown.stderr)


def installed_files(site: Path) -> list[Path]:
    return sorted((site / "rankbench" / compiled.INSTALLED).rglob("*.nb?"))


def test_what_was_installed_is_loaded_and_nothing_is_written(site: Path, tmp_path: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in installed_files(site)}
    hits, functions, said = ours(site, tmp_path / "cache")
    assert (hits, said) == (functions, "")
    assert functions >= 2
    assert not kept_anything(tmp_path / "cache")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in installed_files(site)} == before


def kept_anything(cache: Path) -> bool:
    return any(cache.rglob("*.nb?"))


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["bit", "cut", "folder"])
def test_damage_among_what_was_installed_is_compiled_into_the_users_folder(
    site: Path, tmp_path: Path, damage: str, suffix: str
) -> None:
    broken = next(path for path in installed_files(site) if path.suffix == suffix)
    DAMAGE[damage](broken)
    hits, functions, said = loaded(site, tmp_path / "cache")
    assert (hits, said) == (functions - 1, "")
    assert broken.exists()  # which is not ours to remove
    assert kept_anything(tmp_path / "cache")


@pytest.mark.parametrize(
    "change", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}], ids=str
)
def test_machine_code_for_something_else_is_left_alone(site: Path, tmp_path: Path, change: dict[str, str]) -> None:
    """Another processor, or another setting of numba."""
    assert ours(site, tmp_path / "cache", **change)[0::2] == (0, "")
    assert kept_anything(tmp_path / "cache")


def test_machine_code_of_other_sources_is_left_alone(site: Path, tmp_path: Path) -> None:
    sorting = site / "rankbench" / "kernels" / "sorting.py"
    sorting.write_text(sorting.read_text() + "\n# edited\n")
    assert ours(site, tmp_path / "cache")[0::2] == (0, "")


def above(site: Path, place: str) -> Path:
    root = site / "rankbench" / compiled.INSTALLED
    (folder,) = root.iterdir()
    return {"root": root, "folder": folder, "room": folder / "rankbench.kernels"}[place]


@posix
@pytest.mark.parametrize("place", ["root", "folder", "room"])
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_what_others_may_write_to_is_not_loaded(site: Path, tmp_path: Path, place: str, mode: int) -> None:
    (site / "rankbench").chmod(0o755)
    above(site, place).chmod(mode)
    hits, _, said = loaded(site, tmp_path / "cache")
    assert hits == 0
    assert (f"{above(site, place)} is not used" in said) == (place != "room")


@posix
def test_a_file_that_others_may_write_to_is_not_loaded(site: Path, tmp_path: Path) -> None:
    (site / "rankbench").chmod(0o755)
    installed_files(site)[0].chmod(0o666)
    hits, functions, _ = loaded(site, tmp_path / "cache")
    assert hits == functions - 1


@posix
def test_where_a_group_may_write_to_the_package_it_may_to_the_machine_code(site: Path, tmp_path: Path) -> None:
    """As with umask 002: who can edit the code needs no machine code to run something."""
    for path in (site / "rankbench", *(site / "rankbench").rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    hits, functions, said = loaded(site, tmp_path / "cache")
    assert (hits, said) == (functions, "")


@posix
@pytest.mark.parametrize("place", ["root", "folder", "room"])
def test_a_link_to_elsewhere_is_not_followed(site: Path, tmp_path: Path, place: str) -> None:
    linked = above(site, place)
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    assert loaded(site, tmp_path / "cache")[0] == 0


@root_alone
@pytest.mark.parametrize("place", ["root", "folder", "room"])
def test_what_another_user_has_put_there_is_not_loaded(site: Path, tmp_path: Path, place: str) -> None:
    os.chown(above(site, place), 1234, 1234)
    assert loaded(site, tmp_path / "cache")[0] == 0
