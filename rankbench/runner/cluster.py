"""Blocks on a Dask cluster that the user already has (the extra ``rankbench[dask]``).

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
from threading import Lock
from typing import Any, cast

from rankbench.dask import connected_client
from rankbench.errors import ExecutorError
from rankbench.kinds.cell import BlockResult
from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.runner.blocks import run_block, vetted
from rankbench.runner.executors import LIMIT, warm_up_all
from rankbench.runner.foreign import PAUSE
from rankbench.runner.processes import LostProcess, failed_block, isolate_foreign, place_tasks
from rankbench.runner.remote import Remote
from rankbench.runner.sealed_files import FileForProcesses, file_for_processes
from rankbench.runner.share import write_shared
from rankbench.runner.wire import result_from_bytes, result_to_bytes, task_to_json

__all__ = ["run_on_cluster"]


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
