"""Executors run blocks in this process, in the pool, or on a Dask cluster.

Results arrive in any order; nothing that is kept depends on it.

Dask cannot stop a task that hangs, so its workers run each block in a worker process. Every Dask
worker gets the data that blocks are drawn from once, and writes them to a file. A Dask worker that is
lost costs time, not numbers: Dask gives its blocks to another one, and a block is a
function of its inputs alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any, cast

from rankbench.core.system import connected_client
from rankbench.errors import ExecutorError
from rankbench.interfaces.cell import BlockResult, guarded
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.plugin.third_party import is_ours, without_third_party
from rankbench.runner.blocks import BlockJob, LostProcess, SentTask, failed_block, place_tasks, run_block
from rankbench.runner.prepare import shared, write_shared
from rankbench.runner.worker_pool import Worker, WorkerPool, run_sent

LIMIT = 3600.0
"""Seconds after which a block is given up, unless a run says otherwise."""


def run_in_pool(
    sources: list[Prepared], tasks: Sequence[BlockTask], workers: int, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks in worker processes that share memory-mapped arrays; `sources` share them afterwards too.

    Built-in contenders and those of each plugin have workers of their own; built-in ones come first.
    A block's result so comes in parts, one for each plugin. Without workers built-in contenders run in
    this process, and those of plugins in one worker.

    A worker that dies or hangs takes its block with it, not the run (see `rankbench.runner.blocks.BlockJob.after`).
    The cells of the guilty contender become failures, which the next run tries again.

    Blocks of a population that is an object of this process run here.
    """
    here, jobs, nowhere = place_tasks(tasks, sources)
    yield from nowhere
    if not workers:
        here, jobs = [*here, *(job.task for job in jobs if not job.group)], [job for job in jobs if job.group]
    for task in here:
        yield run_block(sources[task.source], task)
    if jobs:
        warm_up_all(sources, [job.task for job in jobs])
        with shared(sources) as file:
            yield from WorkerPool(file, max(workers, 1), timeout).results(jobs)


def warm_up_all(sources: Sequence[Prepared], tasks: Sequence[BlockTask]) -> None:
    """Compile all that blocks need on a smaller block of each source, here and not in every worker."""
    for index, task in sorted({task.source: task for task in reversed(tasks)}.items()):
        # Third-party code could take this process down.
        protocol, own = sources[index].protocol, without_third_party(task)
        if is_ours(protocol) and own and (small := protocol.smaller(sources[index], own)):
            guarded(partial(run_block, *small))


def run_on_cluster(
    sources: Sequence[Prepared], tasks: Sequence[BlockTask], address: str, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks on the Dask cluster whose scheduler is at `address`.

    Each block, or its part with one plugin's code, has a process there. Deaths and timeouts of
    blocks are treated as in `rankbench.runner.executors.run_in_pool`.

    Raises
    ------
    ExecutorError
        See `connected_client`; also if the cluster is lost on the way: finished blocks are kept.
    """
    # Before anything that takes long: most errors occur here.
    with contextlib.closing(connected_client(address)) as client:
        from distributed import as_completed

        here, jobs, nowhere = place_tasks(tasks, sources)
        yield from nowhere
        for task in here:
            yield run_block(sources[task.source], task)
        warm_up_all(sources, [job.task for job in jobs])
        written = io.BytesIO()
        write_shared(sources, written)
        parcel = written.getvalue()
        del written
        name = f"rankbench-{hashlib.blake2b(parcel, digest_size=12).hexdigest()}"
        try:
            sent = client.scatter(parcel, broadcast=True, hash=False)

            def submit(job: BlockJob) -> Any:
                return client.submit(_run, sent, name, SentTask.from_task(job.task), timeout, pure=False, retries=3)

            waiting = {submit(job): job for job in jobs}
            queue = cast(Any, as_completed)(list(waiting), loop=client.loop)
            for future in queue:
                job = waiting.pop(future)
                result = _result(future)
                if isinstance(result, BlockResult):
                    yield result
                    continue
                parts = job.after(result)
                for part in parts:
                    again = submit(part)
                    waiting[again] = part
                    queue.add(again)
                if not parts:
                    yield failed_block(job.task, result)
        finally:
            with contextlib.suppress(Exception):  # a worker that is gone has nothing to forget
                client.run(_forget, name, on_error="ignore")


def _result(future: Any) -> BlockResult | LostProcess:
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return cast(BlockResult | LostProcess, future.result())
    except KilledWorker as error:
        return LostProcess("error", f"every worker that ran the block was lost ({type(error).__name__})")
    except (CancelledError, CommClosedError) as error:  # before, or while, the result was on its way
        raise ExecutorError("the Dask cluster was lost; run again to go on where it stopped") from error


# The functions below run on the cluster's machines.


_files: dict[str, Any] = {}
_unpacking = Lock()


def _file_of(parcel: bytes, name: str) -> Path:
    """Return this worker's file of a parcel, made once."""
    with _unpacking:
        if name not in _files:
            _files[name] = file = NamedTemporaryFile(prefix="rankbench-")  # noqa: SIM115 (`_forget` closes it)
            file.write(parcel)
            file.flush()
        return Path(_files[name].name)


def _run(parcel: bytes, name: str, sent: SentTask, timeout: float) -> BlockResult | LostProcess:
    """Run a block in a process of its own."""
    with Worker() as worker:
        return cast(BlockResult | LostProcess, worker.call(run_sent, _file_of(parcel, name), sent, timeout=timeout))


def _forget(name: str) -> None:
    """Remove the file of a parcel."""
    with _unpacking:
        if (file := _files.pop(name, None)) is not None:
            file.close()
