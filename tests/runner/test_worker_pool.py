"""A worker calls functions; what is sent to it comes out the same, and a worker that is lost says how."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path

import competing
import pytest

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Method
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import get
from rankbench.runner import worker_pool
from rankbench.runner.blocks import BlockJob, LostProcess, SentTask, run_block
from rankbench.runner.prepare import shared
from rankbench.runner.worker_pool import Worker, WorkerPool, run_sent

KEY = BlockKey("btl", "data\n\u2028é", 5, 2, 2**62)
DEAD = LostProcess("error", "worker process died", 1)
LATE = LostProcess("timeout", "no result within 1 s")


def test_one_process_calls_one_function_after_the_other() -> None:
    with Worker() as worker:
        first, second = (worker.call(os.getpid, timeout=60) for _ in range(2))
        assert first == second != os.getpid()
        assert os.getsid(first) == first
        assert worker.call(time.sleep, 0.0, timeout=60) is None
        raised = worker.call(math.sqrt, -1.0, timeout=60)
        assert (raised.status, raised.exit_code) == ("error", None)
        assert "ValueError: math domain error" in raised.reason
        assert worker.call(os.getpid, timeout=60) == first
    assert not os.path.exists(f"/proc/{first}")


def test_a_process_that_ends_says_how() -> None:
    with Worker() as worker:
        assert worker.call(os._exit, 3, timeout=60) == LostProcess(
            "error", "worker process died with exit code 3, without a result", 3
        )


def test_a_process_that_was_dead_before_has_lost_no_call() -> None:
    """So that the pool does not charge its next block with it."""
    with Worker() as worker:
        os.kill(worker.call(os.getpid, timeout=60), signal.SIGKILL)
        assert wait([worker.connection], 60) == [worker.connection]
        assert (worker.call(os.getpid, timeout=60).exit_code, worker.ready) == (-signal.SIGKILL, False)


def test_a_call_that_takes_too_long_is_ended() -> None:
    with Worker() as worker:
        pid = worker.call(os.getpid, timeout=60)
        assert worker.call(time.sleep, 600, timeout=0.1) == LostProcess("timeout", "no result within 0.1 s")
        assert not os.path.exists(f"/proc/{pid}")


def test_a_sent_task_is_computed_as_the_task(tmp_path: Path) -> None:
    """A contender that cannot be made in the worker is a failure, and the others are computed."""
    data = get(Dataset, "web10k-like:queries=24,features=8")
    protocol = get(Protocol, "btl:design=10,heldout=10")
    sources: list[Prepared] = [protocol.prepare(data, 1)]
    losses = tuple(get(Loss, text) for text in ("ndcg", "err"))
    cells = competing.cells(Method, {"a": "erm:aggregator=mean-log-odds(smoothing=2),k=[1,inf]", "b": "random-scores"})
    task = BlockTask(BlockKey("btl", str(data), 50, 0, 1), 0, ("ndcg", "err"), cells, losses)
    plain = run_block(sources[0], task)
    sent = SentTask.from_task(task)
    sent = replace(sent, cells=sent.cells | {"c": ("method", "nowhere")})
    with shared(sources) as file:
        again = run_sent(file, sent)
    assert again.key == plain.key
    for mine, theirs in zip(plain.cells, again.cells[:2], strict=True):
        assert mine.losses.keys() == theirs.losses.keys()
        assert all(mine.losses[name].tobytes() == theirs.losses[name].tobytes() for name in mine.losses)
    assert (again.cells[2].cell, again.cells[2].status) == ("c", "skipped")
    assert "nowhere" in again.cells[2].reason


def task_of(*texts: str) -> BlockTask:
    return BlockTask(KEY, 0, (), competing.cells(Aggregator, {text: text for text in texts}))


@pytest.mark.parametrize("lost", [DEAD, LATE])
def test_contenders_of_a_plugin_are_run_one_by_one_after_their_worker_is_lost(lost: LostProcess) -> None:
    job = BlockJob(task_of("borda", "elo"), ("them",))
    parts = job.after(lost)
    assert [(list(each.task.cells), each.group) for each in parts] == [(["borda"], ("them",)), (["elo"], ("them",))]
    assert parts[0].after(lost) == []


def test_built_in_contenders_are_run_once_more_after_a_death_alone() -> None:
    job = BlockJob(task_of("borda", "elo"))
    assert job.after(LATE) == []
    (again,) = job.after(DEAD)
    assert again.task is job.task
    assert again.after(DEAD) == []


def test_workers_that_never_get_ready_fail_the_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(worker_pool, "_COMMAND", "raise SystemExit(9)")
    jobs = [BlockJob(task_of("borda")), BlockJob(task_of("elo"), ("them",))]
    results = list(WorkerPool(tmp_path / "none", 2, 60).results(jobs))
    assert sorted((cell.cell, cell.status) for result in results for cell in result.cells) == [
        ("borda", "error"),
        ("elo", "error"),
    ]
    assert all("died with exit code 9" in cell.reason for result in results for cell in result.cells)


def works(pieces: int, advance: Callable[[str, float], None]) -> str:
    for _ in range(pieces):
        advance("cell", 1 / pieces)
        time.sleep(0.3)
    return "done"


def test_a_worker_says_how_far_it_is_before_it_is_done() -> None:
    told = list[tuple[str, float]]()
    with Worker() as worker:
        worker.send(works, 5, timeout=60, advance=lambda cell, share: told.append((cell, share)))
        while not worker.done():
            time.sleep(0.05)
        assert worker.result == "done"
        assert worker.call(os.getpid, timeout=60) > 0  # which is told nothing
    assert {cell for cell, _ in told} == {"cell"}
    assert 0 < sum(share for _, share in told) < 1 + 1e-9
