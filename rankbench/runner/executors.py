"""Where blocks run: in this process, or in a pool of spawned workers.

Results arrive in any order; nothing that is kept depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rankbench.protocols.base import BlockTask, Prepared
from rankbench.results.schema import BlockResult
from rankbench.runner.blocks import run_block
from rankbench.runner.deaths import Dead, apart, failed
from rankbench.runner.isolation import guarded, reason
from rankbench.runner.share import open_shared, shared

__all__ = ["LIMIT", "available_cores", "run_here", "run_in_pool", "warm_up"]

LIMIT = 3600.0
"""Seconds after which a block is given up, unless a run says otherwise."""

_open: dict[tuple[str, int], Prepared] = {}


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(sources: Sequence[Prepared], tasks: Sequence[BlockTask]) -> Iterator[BlockResult]:
    """Run blocks one after the other in this process."""
    for task in tasks:
        yield run_block(sources[task.source], task)


def run_in_pool(
    sources: Sequence[Prepared], tasks: Sequence[BlockTask], workers: int, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks in spawned worker processes that share memory-mapped arrays.

    A worker that dies or hangs takes its block with it, not the run: the block is run
    again without the foreign contenders, and each of those alone, so that the guilty one
    is named; its cells become failures, which the next run tries again.
    """
    from pebble import ProcessPool

    for index in sorted({task.source for task in tasks}):
        warm_up(sources[index], next(task for task in tasks if task.source == index))
    kinds = [prepared.protocol.contender for prepared in sources]
    # Spawned, because Polars' threads do not survive a fork.
    with shared(sources) as folder:
        pool: Any = ProcessPool(max_workers=workers, context=get_context("spawn"), initializer=_start)

        def submit(task: BlockTask) -> Any:
            return pool.schedule(_execute, args=(folder, task), timeout=timeout)

        try:
            waiting: dict[Any, BlockTask] = {submit(task): task for task in tasks}
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    task = waiting.pop(future)
                    result = _result(future, timeout)
                    parts = apart(task, kinds[task.source]) if isinstance(result, Dead) else []
                    if parts:
                        waiting |= {submit(part): part for part in parts}
                    else:
                        yield failed(task, result) if isinstance(result, Dead) else result
            pool.close()
        finally:
            # Also on the way out of an interrupted run: queued blocks are dropped.
            pool.stop()
            pool.join()


def _result(future: Any, timeout: float) -> BlockResult | Dead:
    from pebble import ProcessExpired

    try:
        result: BlockResult = future.result()
    except TimeoutError:
        return Dead("timeout", f"no result within {timeout:g} s")
    except ProcessExpired as error:
        return Dead("error", f"worker process died with exit code {error.exitcode}")
    except Exception as error:
        return Dead("error", reason(error))
    return result


def warm_up(prepared: Prepared, task: BlockTask) -> None:
    """Compile what a block needs, on a smaller one: once here, not in every worker."""
    if not type(prepared.protocol).__module__.startswith("rankbench."):
        return  # foreign code could take this process down
    small = prepared.protocol.smaller(prepared, task)
    if small is not None:
        guarded(lambda: run_block(*small))


def _start() -> None:
    """Prepare a worker: one BLAS thread, numba's cache folder."""
    from rankbench.runtime import prepare

    prepare()


def _execute(folder: Path, task: BlockTask) -> BlockResult:
    key = (str(folder), task.source)
    if key not in _open:
        _open[key] = open_shared(folder, task.source)
    return run_block(_open[key], task)
