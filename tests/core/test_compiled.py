"""What numba keeps: where, for how long, and that functions are compiled where it can keep nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of
from forked import run_program
from installed import install_plugin

import rankbench.kernels.signatures  # noqa: F401  (which has numba told)
from rankbench.core.code_digest import compiled_digest

MODULE = """
from numba import njit, types
import rankbench.kernels.signatures
from rankbench.kernels.declared import declared

@njit("f8(f8)", cache=True)
def double(x):
    return 2 * x

@declared(types.float64(types.float64))
def thrice(x):
    return 3 * x
"""

PROGRAM = """
import json, os, compiled_here
found = [compiled_here.double(1.5), compiled_here.thrice(1.5)]
hits = [sum(f.stats.cache_hits.values()) for f in (compiled_here.double, compiled_here.thrice)]
print(json.dumps([found, hits, os.environ["NUMBA_CACHE_DIR"]]))
"""


def with_module(folder: Path) -> Path:
    """Return a new folder with a module that compiles two functions."""
    folder.mkdir()
    (folder / "compiled_here.py").write_text(MODULE)
    return folder


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return with_module(tmp_path / "modules")


Called = tuple[list[float], list[int], str, str]


def called(module: Path, cache: Path, **more: str) -> Called:
    """Call both functions in a new process; return what they gave, cache hits, the folder and what was said."""
    shown = run_program(code=PROGRAM, environment=variables(module, cache) | more)
    assert shown.returncode == 0, shown.stderr
    found, hits, folder = json.loads(shown.stdout)
    return found, hits, folder, shown.stderr


def variables(module: Path, cache: Path) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    return environment | {"RANKBENCH_CACHE": str(cache), "PYTHONPATH": str(module)}


def kept(cache: Path) -> list[Path]:
    return sorted(cache.rglob("compiled_here*.nb?"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the module's folder, and a cache folder that was empty before the functions were called."""
    folder = tmp_path_factory.mktemp("filled")
    module, cache = with_module(folder / "modules"), folder / "cache"
    assert called(module, cache)[:2] == ([3.0, 4.5], [0, 0])
    assert len(kept(cache)) == 4
    return module, cache


def test_what_is_kept_is_loaded_again(filled: tuple[Path, Path]) -> None:
    _, cache = filled
    assert called(*filled) == ([3.0, 4.5], [1, 1], str(cache / "numba" / compiled_digest()[:16]), "")


@pytest.mark.full
def test_an_edit_of_a_plugin_compiles_the_plugin_again_and_nothing_of_ours(module: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (module / "factor.py").write_text("FACTOR = 2\n")
    compiled_here = module / "compiled_here.py"
    text = MODULE.replace("from numba", "import factor\nfrom rankbench.kernels import random\nfrom numba", 1)
    compiled_here.write_text(text.replace("return 2 * x", "return factor.FACTOR * x"))
    info = install_plugin(module, "some-plugin", "some = compiled_here")
    (info / "RECORD").write_text("compiled_here.py,,\nfactor.py,,\n")
    assert called(module, cache)[:2] == ([3.0, 4.5], [0, 0])
    ours = {path: path.stat().st_mtime_ns for path in cache.rglob("random.*.nb?")}
    assert ours
    # numba itself would take the machine code of the old factor: the file of the function is as it was.
    (module / "factor.py").write_text("FACTOR = 10\n")
    for hits in ([0, 0], [1, 1]):
        assert called(module, cache)[:2] == ([15.0, 4.5], hits)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("random.*.nb?")} == ours


@pytest.mark.full
@pytest.mark.parametrize(("size", "suffix"), part_of([(0, ".nbi"), (40, ".nbi"), (0, ".nbc"), (40, ".nbc")], 3))
def test_a_declared_function_whose_files_are_cut_off_is_compiled_anew(
    filled: tuple[Path, Path], tmp_path: Path, size: int, suffix: str
) -> None:
    module, whole = filled
    cache = shutil.copytree(whole, tmp_path / "cache")
    (cut,) = (path for path in kept(cache) if "thrice" in path.name and path.suffix == suffix)
    os.truncate(cut, size)
    assert called(module, cache) == ([3.0, 4.5], [1, 0], str(cache / "numba" / compiled_digest()[:16]), "")
    assert kept(cache)


def without_files_kept(module: Path, cache: Path, program: str) -> None:
    """Assert that `thrice` is compiled after a program, and that nothing is kept of it but a note that says so."""
    (module / "compiled_here.py").write_text(MODULE.replace('"f8(f8)", cache=True', '"f8(f8)"'))
    code = f"{program}import compiled_here\nprint(compiled_here.thrice(1.5))\n"
    shown = run_program(code=code, environment=variables(module, cache))
    assert (shown.returncode, shown.stdout) == (0, "4.5\n")
    assert all(line.startswith("note: the cache folder ") for line in shown.stderr.splitlines())
    assert not list(module.rglob("*.nb?"))


@pytest.mark.full
def test_without_any_folder_functions_are_compiled_all_the_same(module: Path, tmp_path: Path) -> None:
    """Neither the cache folder nor the one for temporary files is a folder: nothing is kept, nor beside the sources."""
    (tmp_path / "file").write_text("")
    without_files_kept(module, tmp_path / "file", f"import tempfile\ntempfile.tempdir = {str(tmp_path / 'file')!r}\n")


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_keeps_nothing_and_breaks_nothing(module: Path, tmp_path: Path) -> None:
    program = (
        "import builtins, errno\n"
        "import rankbench.kernels.signatures, numba.core.caching as caching\n"
        "real = open\n"
        "def full(path, mode='r', *rest):\n"
        "    if 'w' in mode: raise OSError(errno.ENOSPC, 'No space left on device', path)\n"
        "    return real(path, mode, *rest)\n"
        "caching.open = full\n"
    )
    without_files_kept(module, tmp_path / "cache", program)
    assert not kept(tmp_path / "cache")


@pytest.mark.full
def test_locators_that_the_user_names_stay(module: Path, tmp_path: Path) -> None:
    environment = variables(module, tmp_path / "cache") | {"NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
    assert not kept(tmp_path / "cache")
    assert len(kept(module)) == 4
