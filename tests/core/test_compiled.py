"""What numba keeps: checked before it is loaded, and done without if it must be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from damaged_code import DAMAGE, one_bit
from forked import run_program
from numba.core import caching

import rankbench.kernels.signatures  # noqa: F401  (which has numba told)
from rankbench.core.code_digest import compiled_digest

MODULE = """
from numba import njit
import rankbench.kernels.signatures

@njit("f8(f8)", cache=True)
def double(x):
    return 2 * x

@njit("f8(f8)", cache=True)
def thrice(x):
    return 3 * x
"""

FUNCTIONS = ("double", "thrice")

PROGRAM = """
import json, os, compiled_here
found = [compiled_here.double(1.5), compiled_here.thrice(1.5)]
hits = [sum(f.stats.cache_hits.values()) for f in (compiled_here.double, compiled_here.thrice)]
print(json.dumps([found, hits, os.environ["NUMBA_CACHE_DIR"]]))
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Return a folder with a module that compiles two functions."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "compiled_here.py").write_text(MODULE)
    return tmp_path / "modules"


Called = tuple[list[float], list[int], str, str]


def called(module: Path, cache: Path, **more: str) -> Called:
    """Call both functions in a new process; return what they gave, cache hits, the folder and what was said.

    It is forked from one that has imported numba.
    """
    return told(run_program(code=PROGRAM, environment=variables(module, cache) | more, imported="numba"))


def called_afresh(module: Path, cache: Path) -> Called:
    """Do as `called` does in a process that was not forked."""
    command = [sys.executable, "-c", PROGRAM]
    shown = subprocess.run(command, env=variables(module, cache), capture_output=True, text=True, check=False)
    return told(shown)


def variables(module: Path, cache: Path) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    return environment | {"RANKBENCH_CACHE": str(cache), "PYTHONPATH": str(module)}


def told(shown: subprocess.CompletedProcess[str]) -> Called:
    assert shown.returncode == 0, shown.stderr
    found, hits, folder = json.loads(shown.stdout)
    return found, hits, folder, shown.stderr


def kept(cache: Path) -> list[Path]:
    return sorted(cache.rglob("compiled_here*.nb?"))


def test_what_is_kept_is_loaded_again(module: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert called_afresh(module, cache)[:2] == ([3.0, 4.5], [0, 0])
    assert len(kept(cache)) == 4
    for call in (called_afresh, called):
        assert call(module, cache) == ([3.0, 4.5], [1, 1], str(cache / "numba" / compiled_digest()[:16]), "")


def test_an_edit_of_a_plugin_compiles_the_plugin_again_and_nothing_of_ours(module: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (module / "factor.py").write_text("FACTOR = 2\n")
    compiled_here = module / "compiled_here.py"
    text = MODULE.replace("from numba", "import factor\nfrom rankbench.kernels import random\nfrom numba", 1)
    compiled_here.write_text(text.replace("return 2 * x", "return factor.FACTOR * x") + "random.uniform.load()\n")
    info = module / "some_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankbench]\nsome = compiled_here\n")
    (info / "RECORD").write_text("compiled_here.py,,\nfactor.py,,\n")
    for hits in ([0, 0], [1, 1]):
        assert called(module, cache)[:2] == ([3.0, 4.5], hits)
    ours = {path: path.stat().st_mtime_ns for path in cache.rglob("random.*.nb?")}
    assert ours
    # numba itself would take the machine code of the old factor: the file of the function is as it was.
    (module / "factor.py").write_text("FACTOR = 10\n")
    for hits in ([0, 0], [1, 1]):
        assert called(module, cache)[:2] == ([15.0, 4.5], hits)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("random.*.nb?")} == ours


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_thrown_away_and_made_anew(tmp_path: Path, damage: str, suffix: str) -> None:
    """Files as numba writes them, of two functions; whole ones are read again."""
    files = {name: caching.IndexDataCacheFile(str(tmp_path), f"compiled_here.{name}-1", "stamp") for name in FUNCTIONS}
    for name, file in files.items():
        file.save("key", f"code of {name}")
    first = next(path for path in kept(tmp_path) if path.suffix == suffix)
    assert "double" in first.name
    DAMAGE[damage](first)
    assert files["double"].load("key") is None  # which is compiled, then
    assert files["thrice"].load("key") == "code of thrice"
    if damage != "folder":
        files["double"].save("key", "code of double")
        assert files["double"].load("key") == "code of double"


def test_damage_that_would_end_the_process(module: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    called(module, cache)
    one_bit(next(path for path in kept(cache) if path.suffix == ".nbc"))
    found, hits, _, said = called(module, cache)
    assert (found, sorted(hits), said) == ([3.0, 4.5], [0, 1], "")
    assert called(module, cache)[1] == [1, 1]


def test_without_any_folder_functions_are_compiled_all_the_same(module: Path, tmp_path: Path) -> None:
    """The cache folder and TMPDIR are no folders, or full: nothing is kept, and nothing beside the sources."""
    (tmp_path / "file").write_text("")
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        "import os, shutil, rankbench.kernels.signatures\n"
        f"shutil.rmtree({str(gone)!r}); open({str(gone)!r}, 'w').close()\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"NUMBA_CACHE_DIR": str(gone), "PYTHONPATH": str(module)}
    shown = subprocess.run(
        [sys.executable, "-c", program + PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)[:2] == [[3.0, 4.5], [0, 0]]
    assert not list(module.rglob("*.nb?"))


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
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"RANKBENCH_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(module)}
    shown = subprocess.run(
        [sys.executable, "-c", program + PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)[0] == [3.0, 4.5]
    assert not kept(tmp_path / "cache")


def test_every_kernel_that_was_compiled_is_loaded_without_numbas_registries() -> None:
    """They take half a second, and only compiling needs them: so says a process that loads all kernels without."""
    program = (
        "import importlib\n"
        "from rankbench.core.code_digest import PACKAGE, compiled_sources\n"
        "import rankbench.kernels.signatures\n"
        "import numba.core.event as event\n"
        "compiled = event.RecordingListener()\n"
        "event.register('numba:compile', compiled)\n"
        "for path in compiled_sources(PACKAGE):\n"
        "    name = '.'.join(path.relative_to(PACKAGE.parent).with_suffix('').parts)\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "importlib.import_module('rankbench.kernels.declared').load_declared()\n"
    )
    # What numba imports for its registries, and nobody else.
    loaded = program + "import sys\nprint(len(compiled.buffer), 'numba.misc.gdb_hook' in sys.modules)\n"
    subprocess.run([sys.executable, "-c", program], check=True)
    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "False"]


def test_numba_is_built_as_we_know_it() -> None:
    """Of another one nothing would be checked: a new release of numba is looked at here."""
    assert caching.Cache.__init__.__globals__["IndexDataCacheFile"] is caching.IndexDataCacheFile
    assert {"save", "load"} <= vars(caching.IndexDataCacheFile).keys()
    assert issubclass(caching.CacheImpl._locator_classes[0], caching.UserProvidedCacheLocator)
    assert callable(caching.Cache._load_overload)
