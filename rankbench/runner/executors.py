"""Where blocks run: here, in the pool, on a Dask cluster.

Results arrive in any order; nothing that is kept depends on it.

Dask cannot stop a task that hangs, so its workers run each block in a plain process. What
blocks are drawn from is sent once to every worker, which lends it to them. A worker that is
lost costs time, not numbers: Dask gives its blocks to another one, and a block is a
function of its inputs alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

from rankbench.core.system import connected_client
from rankbench.errors import ExecutorError
from rankbench.interfaces.cell import BlockResult, guarded
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.plugin.foreign_code import is_ours
from rankbench.runner.blocks import run_block, vetted
from rankbench.runner.foreign import PAUSE, run_foreign
from rankbench.runner.prepare import shared, write_shared
from rankbench.runner.remote import Remote
from rankbench.runner.sealed_files import FileForProcesses, file_for_processes
from rankbench.runner.wire import result_from_bytes, result_to_bytes, task_to_json
from rankbench.runner.worker_pool import Crew, LostProcess, begun, ended, failed_block, isolate_foreign, place_tasks

LIMIT = 3600.0
"""Seconds after which a block is given up, unless a run says otherwise."""


def run_here(sources: Sequence[Prepared], tasks: Sequence[BlockTask], timeout: float = LIMIT) -> Iterator[BlockResult]:
    """Run blocks one after the other in this process; those with foreign code after them, in processes of their own.

    See `run_in_pool` for these.
    """
    places = place_tasks(tasks, sources)
    yield from places.nowhere
    for task in (*places.here, *places.ours):
        yield _run_here(sources, task)
    if places.foreign:
        warm_up_all(sources, places.foreign)
        yield from run_foreign(sources, places.foreign, 1, timeout)


def run_in_pool(
    sources: list[Prepared], tasks: Sequence[BlockTask], workers: int, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks in spawned worker processes that share memory-mapped arrays; `sources` share them afterwards too.

    Built-in contenders come first. Those of each plugin then run in processes of their own,
    a new one for every block: what they change in it is gone with it, and what they are given
    nobody can change for others (`rankbench.runner.sealed_files`). A block's result so comes in
    parts, one for each plugin.

    A worker that dies or hangs takes its block with it, not the run: the block is run
    again without the foreign contenders, and each of those alone, so that the guilty one
    is named; its cells become failures, which the next run tries again. Built-in contenders
    whose worker died are tried once more in this run: it may have been killed from outside.

    Blocks of a population that is an object of this process run here.
    """
    places = place_tasks(tasks, sources)
    yield from places.nowhere
    for task in places.here:
        yield _run_here(sources, task)
    if not (places.ours or places.foreign):
        return
    warm_up_all(sources, (*places.ours, *places.foreign))
    if places.ours:
        with shared(sources) as file:
            yield from _pooled(file, places.ours, min(workers, len(places.ours)), timeout)
    if places.foreign:
        yield from run_foreign(sources, places.foreign, workers, timeout)


def _run_here(sources: Sequence[Prepared], task: BlockTask) -> BlockResult:
    begun(task)
    try:
        return run_block(sources[task.source], task)
    finally:
        ended(task)


def _pooled(file: Path, tasks: Sequence[BlockTask], workers: int, timeout: float) -> Iterator[BlockResult]:
    """Run blocks without foreign code in worker processes."""
    crew, again = Crew(file, workers, timeout), set[tuple[str, ...]]()
    for task, result in crew.outcomes(tasks):
        if not isinstance(result, LostProcess):
            yield result
            continue
        parts = isolate_foreign(task)
        if result.died and not parts and tuple(task.cells) not in again:
            again.add(tuple(task.cells))
            parts = [task]
        crew.queue.extend(parts)
        if not parts:
            yield failed_block(task, result)


def warm_up_all(sources: Sequence[Prepared], tasks: Sequence[BlockTask]) -> None:
    """Compile what blocks need, on a smaller one of each source: once here, not in every worker."""
    first = {task.source: task for task in reversed(tasks)}
    for index, task in sorted(first.items()):
        _warm_up(sources[index], task)


def _warm_up(prepared: Prepared, task: BlockTask) -> None:
    if not is_ours(prepared.protocol):
        return  # foreign code could take this process down
    small = prepared.protocol.smaller(prepared, task)
    if small is not None:
        guarded(lambda: run_block(*small))


def run_on_cluster(
    sources: Sequence[Prepared], tasks: Sequence[BlockTask], address: str, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks on the Dask cluster whose scheduler is at `address`.

    Each process there runs built-in contenders, or those of one plugin. Deaths and timeouts of
    blocks are treated as in `rankbench.runner.executors.run_in_pool`.

    Raises
    ------
    ExecutorError
        See `connected_client`; also if the cluster is lost on the way: what was done is kept.
    """
    # Before anything that takes long: most of what can go wrong goes wrong here.
    with contextlib.closing(connected_client(address)) as client:
        from distributed import as_completed

        places = place_tasks(tasks, sources)
        yield from places.nowhere
        for task in places.here:
            yield run_block(sources[task.source], task)
        warm_up_all(sources, (*places.ours, *places.foreign))
        written = io.BytesIO()
        write_shared(sources, written)
        parcel = written.getvalue()
        del written
        name = f"rankbench-{hashlib.blake2b(parcel, digest_size=12).hexdigest()}"
        try:
            sent = client.scatter(parcel, broadcast=True, hash=False)

            def submit(task: BlockTask) -> Any:
                return client.submit(_run, sent, name, task_to_json(task), timeout, pure=False, retries=3)

            waiting: dict[Any, BlockTask] = {submit(task): task for task in (*places.ours, *places.foreign)}
            # Built-in contenders whose process died are tried once more: it may have been killed from outside.
            once = {tuple(task.cells) for task in places.ours}
            queue = cast(Any, as_completed)(list(waiting), loop=client.loop)
            for future in queue:
                task = waiting.pop(future)
                result = _result(future)
                parts = isolate_foreign(task) if isinstance(result, LostProcess) else []
                if isinstance(result, LostProcess) and result.died and tuple(task.cells) in once:
                    once.remove(tuple(task.cells))
                    parts = [task]
                for part in parts:
                    again = submit(part)
                    waiting[again] = part
                    queue.add(again)
                if not parts:
                    prepared = sources[task.source]
                    yield (
                        failed_block(task, result)
                        if isinstance(result, LostProcess)
                        else vetted(result, task, prepared)
                    )
        finally:
            with contextlib.suppress(Exception):  # a worker that is gone has nothing to forget
                client.run(_forget, name, on_error="ignore")


def _result(future: Any) -> BlockResult | LostProcess:
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        status, said = future.result()
    except KilledWorker as error:
        return LostProcess("error", f"every worker that ran the block was lost ({type(error).__name__})")
    except (CancelledError, CommClosedError) as error:  # before, or while, the result was on its way
        raise ExecutorError("the Dask cluster was lost; run again to go on where it stopped") from error
    if status != "done":
        return LostProcess("error", said, died=True) if status == "died" else LostProcess(status, said)
    return result_from_bytes(said)


# What follows runs on the cluster's machines.


_files: dict[str, FileForProcesses] = {}
_unpacking = Lock()


def _file_of(parcel: bytes, name: str) -> FileForProcesses:
    """Return this worker's file of a parcel, made once."""
    with _unpacking:
        if name not in _files:
            _files[name] = file_for_processes(lambda file: file.write(parcel))
        return _files[name]


def _run(parcel: bytes, name: str, task: str, timeout: float) -> tuple[str, Any]:
    """Run a block in a process of its own; return its result as bytes, or how it ended."""
    process = Remote(_file_of(parcel, name), task, timeout, quiet=True)
    while not process.ended():
        time.sleep(PAUSE)
    outcome = process.outcome()
    if isinstance(outcome, LostProcess):
        return "died" if outcome.died else outcome.status, outcome.reason
    return "done", result_to_bytes(outcome)


def _forget(name: str) -> None:
    """Give back the memory of a parcel."""
    with _unpacking:
        _files.pop(name, None)
