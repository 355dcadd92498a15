"""Threads and numba's cache folder, settled before numba starts."""

from __future__ import annotations

import errno
import itertools
import json
import os
import subprocess
import sys
import time

import pytest

from rankbench.core import runtime
from rankbench.core.code_digest import compiled_digest
from rankbench.core.runtime import available_cores, block_entropy, draw_entropy

SETTLED = ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES", *runtime.BLAS_THREADS)


@pytest.fixture
def clean(monkeypatch, tmp_path):
    for variable in SETTLED:
        monkeypatch.setenv(variable, "")  # so that it is restored afterwards
        monkeypatch.delenv(variable)
    monkeypatch.setenv("RANKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fresh_process(program: str, **environment: str) -> object:
    """Run a program in a process of its own; it prints JSON."""
    inherited = {key: value for key, value in os.environ.items() if key not in SETTLED}
    shown = subprocess.run(
        [sys.executable, "-c", program], env=inherited | environment, capture_output=True, text=True, check=True
    )
    return json.loads(shown.stdout)


def test_blocks_that_differ_in_anything_draw_other_numbers():
    """By seed, data, repetition or number of judgments; and a block's own draws are not its judgments."""
    blocks = list(itertools.product((1, 2), ("0a1b", "0a1c"), (0, 1, 2, 3), (100, 200)))
    of_blocks = {block_entropy(seed, data, n, repetition) for seed, data, repetition, n in blocks}
    judgments = {draw_entropy(seed, data, repetition) for seed, data, repetition, _ in blocks}
    assert (len(of_blocks), len(judgments)) == (len(blocks), len(blocks) / 2)
    assert not of_blocks & judgments


def test_prepare_settles_threads_and_folder_and_is_idempotent(clean):
    for _ in range(2):
        runtime.settle_runtime()
        assert [os.environ[variable] for variable in runtime.BLAS_THREADS] == ["1", "1", "1"]
        assert os.environ["NUMBA_CACHE_DIR"] == str(clean / "numba" / compiled_digest()[:16])
        assert os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] == ",".join(runtime.LOCATORS)
        assert os.listdir(clean / "numba") == [compiled_digest()[:16]]
        assert (clean / "numba" / compiled_digest()[:16]).stat().st_mode & 0o777 == 0o700


def test_what_the_user_set_stays(clean, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    runtime.settle_runtime()
    assert os.environ["NUMBA_CACHE_DIR"] == "/chosen"
    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert not clean.exists()


def test_a_folder_that_cannot_be_made_becomes_a_temporary_one_that_is_removed(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")  # permissions would not stop root
    folder, mode, there = fresh_process(
        "import json, os; from rankbench.core import runtime; runtime.settle_runtime(); folder = "
        "os.environ['NUMBA_CACHE_DIR']; "
        "print(json.dumps([folder, os.stat(folder).st_mode & 0o777, os.path.isdir(folder)]))",
        RANKBENCH_CACHE=str(blocked),
    )
    assert there
    assert mode == 0o700
    assert not os.path.exists(folder)


TWICE = "from rankbench.core import runtime; import os; runtime.settle_runtime(); runtime.settle_runtime()"


@pytest.mark.parametrize("cache", ["file/below", "file"])
def test_a_cache_that_cannot_be_written_is_said_once_with_the_variable_that_mends_it(tmp_path, cache):
    (tmp_path / "file").write_text("not a folder")  # permissions would not stop root
    inherited = {key: value for key, value in os.environ.items() if key not in SETTLED}
    for folder, lines in ((tmp_path / cache, 1), (tmp_path / "folder", 0)):
        environment = inherited | {"RANKBENCH_CACHE": str(folder)}
        shown = subprocess.run(
            [sys.executable, "-c", TWICE], env=environment, capture_output=True, text=True, check=True
        )
        said = shown.stderr.splitlines()
        assert len(said) == lines
        assert all(str(folder) in line and "Set RANKBENCH_CACHE to a folder" in line for line in said)


def test_a_full_disk_is_a_cache_that_cannot_be_written(clean, monkeypatch, capsys):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: Full())
    folder = runtime.numba_cache()
    assert folder is not None
    assert clean not in folder.parents
    assert "No space left on device" in capsys.readouterr().err


def test_folders_that_nobody_uses_go_and_young_ones_stay(clean):
    root = clean / "numba"
    old, young = root / "old", root / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "index.nbi").touch()
    weeks_ago = time.time() - (runtime.STALE_DAYS + 1) * 86400
    os.utime(old, (weeks_ago, weeks_ago))
    mine = runtime.numba_cache()
    assert sorted(root.iterdir()) == sorted([mine, young])
    os.utime(mine, (weeks_ago, weeks_ago))
    runtime.numba_cache()
    assert mine.stat().st_mtime > weeks_ago  # used again: young again


@pytest.mark.parametrize("first", ["", "import numba; "])
def test_numba_is_told_whether_or_not_it_was_there_first(tmp_path, first):
    configured = fresh_process(
        f"{first}import json, rankbench.kernels.signatures, numba; print(json.dumps(numba.config.CACHE_DIR))",
        RANKBENCH_CACHE=str(tmp_path),
    )
    assert configured == str(tmp_path / "numba" / compiled_digest()[:16])


BLOCK = """
import json, math, os
import numpy as np
from threadpoolctl import threadpool_info
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol
from rankbench.interfaces.cell import BlockKey, CellResult
from rankbench.interfaces.contender import Contender
from rankbench.runner.blocks import run_block

class Threads(Protocol):
    name, source, table, metrics, splits = "threads", "test", None, (Metric("threads"),), {"design": "One"}

    def prepare(self, dataset, seed):
        return Prepared(self, None, "", {"design": ("one",)})

    def execute(self, prepared, task):
        import scipy.linalg
        pools = [info for info in threadpool_info() if info["user_api"] == "blas"]
        most = max(info["num_threads"] for info in pools)
        found = np.array([float(most if len(pools) > 1 else math.nan)])
        return [CellResult("a", "done", "", math.nan, {("threads", "design"): found})]

prepared = Threads().prepare(None, 1)
task = BlockTask(BlockKey("threads", "", 0, 0, 1), 0, ("threads",), {"a": Contender("x", ())})
blocks = [run_block(prepared, task).cells[0].losses["threads", "design"][0] for _ in range(2)]
own = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
print(json.dumps([blocks, own, os.environ["OMP_NUM_THREADS"]]))
"""


@pytest.mark.full
@pytest.mark.skipif(available_cores() < 2, reason="one processor: BLAS has one thread anyway")
def test_blocks_compute_with_one_thread_whatever_the_user_set():
    """The first block, too, in which SciPy's BLAS is loaded; afterwards the user's setting is back."""
    blocks, own, environment = fresh_process(BLOCK, OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="4")
    assert blocks == [1.0, 1.0]
    assert min(own) > 1
    assert environment == "4"
