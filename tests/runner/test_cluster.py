"""Blocks on a real Dask scheduler with two worker processes on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from small_suites import suite_text

import rankbench
from rankbench.errors import ExecutorError, SpecError

if TYPE_CHECKING:
    from dask_cluster import Cluster

    from rankbench.interfaces.cell import BlockResult

pytest.importorskip("distributed")
pytestmark = pytest.mark.alone

SUITE = suite_text(
    'label = "k={k}", use = "erm:k=[1,5,inf],draws=400"',
    'label = "logistic", use = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton"',
    protocol="btl:design=20,heldout=20", dataset="web10k-like:queries=44,features=8", n="[400]", repetitions=3,
)  # fmt: skip
REPORTS = ("leaderboard.md", "leaderboard.csv", "results.parquet")


@pytest.fixture
def suite(tmp_path: Path) -> str:
    (tmp_path / "small.toml").write_text(SUITE)
    return str(tmp_path / "small.toml")


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in REPORTS]


@pytest.mark.full
def test_the_same_bytes_as_locally_though_a_worker_is_killed(cluster: Cluster, suite: str, tmp_path: Path) -> None:
    cluster.replace()
    rankbench.run(suite, out=tmp_path / "here")

    class Killer(rankbench.runner.progress.Progress):
        """Kills a worker after the first block."""

        def done(self, block: BlockResult) -> None:
            cluster.kill(0)

    rankbench.run(suite, out=tmp_path / "there", executor="dask", address=cluster.address, progress=Killer())
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.long
def test_the_same_bytes_on_workers_with_a_nanny(suite: str, tmp_path: Path) -> None:
    """A nanny, which Dask starts by default, makes its worker a daemonic process."""
    from dask_cluster import Cluster

    def daemonic() -> bool:
        from multiprocessing import current_process

        return bool(current_process().daemon)

    rankbench.run(suite, reps=1, out=tmp_path / "here")
    found = Cluster(tmp_path, 1, nanny=True)
    try:
        assert set(found.client.run(daemonic).values()) == {True}
        rankbench.run(suite, reps=1, out=tmp_path / "there", executor="dask", address=found.address)
    finally:
        found.close()
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.full
def test_a_block_that_takes_too_long_is_a_row_that_says_so(cluster: Cluster, suite: str, tmp_path: Path) -> None:
    results = rankbench.run(suite, reps=1, out=tmp_path, executor="dask", address=cluster.address, timeout=1e-6)
    assert results.failures == {"no result within 1e-06 s": 4}
    results = rankbench.run(suite, reps=1, out=tmp_path, executor="dask", address=cluster.address)
    assert results.failures == {}


def test_nothing_stays_behind_on_the_workers(cluster: Cluster) -> None:
    def left() -> list[str]:
        from rankbench.runner.executors import _files

        return list(_files)

    assert all(not names for names in cluster.client.run(left).values())


def test_workers_with_other_code_are_refused(
    cluster: Cluster, suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rankbench.core.system

    monkeypatch.setattr(rankbench.core.system, "code_digest", lambda: "other")
    with pytest.raises(ExecutorError, match="other code"):
        rankbench.run(suite, out=tmp_path / "out", executor="dask", address=cluster.address)


LOSES = """
import os, signal, sys, time
import rankbench.core.system
rankbench.core.system.PATIENCE = 1  # so long it looks for a scheduler that is gone
client = rankbench.core.system.connected_client(sys.argv[1])
os.killpg(int(sys.argv[2]), signal.SIGKILL)
until = time.monotonic() + 60
while client.status != "closed" and time.monotonic() < until:
    time.sleep(0.05)
print(client.status)
"""


@pytest.mark.full
def test_dask_writes_no_tracebacks_when_the_scheduler_dies(tmp_path: Path) -> None:
    """What became of the cluster is a sentence of ours; see `tests/faults/test_disturbances.py` for whole runs."""
    from dask_cluster import Cluster

    found = Cluster(tmp_path, 1)
    try:
        program = subprocess.run(
            [sys.executable, "-c", LOSES, found.address, str(found.scheduler.pid)],
            env=os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        found.close()
    assert (program.returncode, program.stdout, program.stderr) == (0, "closed\n", "")


def test_nobody_answers(suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known before anything is compiled or written for the workers."""
    import rankbench.core.system
    import rankbench.runner.executors

    monkeypatch.setattr(rankbench.core.system, "PATIENCE", 1)
    for name in ("warm_up_all", "write_shared"):
        monkeypatch.setattr(rankbench.runner.executors, name, lambda *args: pytest.fail("too early"))
    with pytest.raises(ExecutorError, match="no Dask scheduler answers"):
        rankbench.run(suite, out=tmp_path / "out", executor="dask", address="tcp://127.0.0.1:9")
    with pytest.raises(SpecError, match="address="):
        rankbench.run(suite, out=tmp_path / "out", executor="dask")
