"""Where blocks run: in this process, or in a pool of spawned workers.

Results arrive in any order; nothing that is kept depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from rankbench.data.queries import Queries
from rankbench.methods.erm import ERM
from rankbench.results.schema import BlockResult, CellResult
from rankbench.runner.plan import BlockTask
from rankbench.runner.prepare import Prepared, open_shared, shared
from rankbench.spec import Spec, parse

__all__ = ["available_cores", "run_here", "run_in_pool", "warm_up"]

_shared: dict[str, tuple[Queries, Queries]] = {}


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(prepared: Prepared, tasks: Sequence[BlockTask]) -> Iterator[BlockResult]:
    """Run blocks one after the other in this process, one BLAS thread."""
    from threadpoolctl import threadpool_limits

    from rankbench.runner.execute import execute

    for task in tasks:
        with threadpool_limits(limits=1, user_api="blas"):
            result = execute(prepared.design, prepared.heldout, task)
        yield result


def run_in_pool(prepared: Prepared, tasks: Sequence[BlockTask], workers: int) -> Iterator[BlockResult]:
    """Run blocks in spawned worker processes that share one memory-mapped feature table.

    A worker that dies takes its block with it, not the run: the block's cells become
    errors, which the next run tries again.
    """
    from pebble import ProcessExpired, ProcessPool

    # Spawned, because Polars' threads do not survive a fork.
    warm_up(prepared, tasks[0])
    with shared(prepared) as folder:
        pool: Any = ProcessPool(max_workers=workers, context=get_context("spawn"), initializer=_start)
        try:
            futures: dict[Any, BlockTask] = {pool.schedule(_execute, args=(folder, task)): task for task in tasks}
            for future in as_completed(futures):
                task = futures[future]
                try:
                    yield future.result()
                except ProcessExpired as error:
                    yield _failed(task, f"worker process died with exit code {error.exitcode}")
                except Exception as error:
                    yield _failed(task, f"{type(error).__name__}: {error}")
            pool.close()
        finally:
            # Also on the way out of an interrupted run: queued blocks are dropped.
            pool.stop()
            pool.join()


def warm_up(prepared: Prepared, task: BlockTask) -> None:
    """Compile what a block needs, on three of its queries: once here, not in every worker."""
    from rankbench.runner.execute import execute

    few = np.arange(min(3, len(prepared.design)))
    small = prepared.design.take(few)
    cells = {cell: str(_shortened(spec)) for cell, spec in task.cells.items()}
    execute(small, small, replace(task, key=replace(task.key, n=50 * len(few)), cells=cells))


def _shortened(spec: str) -> Spec:
    read = parse(spec)
    return replace(read, params=read.params | {"draws": 50, "curve": 3}) if read.name == ERM.name else read


def _start() -> None:
    """Prepare a worker: one BLAS thread, numba's cache folder."""
    from rankbench.runtime import prepare

    prepare()


def _execute(folder: Path, task: BlockTask) -> BlockResult:
    from threadpoolctl import threadpool_limits

    from rankbench.runner.execute import execute

    if str(folder) not in _shared:
        _shared[str(folder)] = open_shared(folder)
    with threadpool_limits(limits=1, user_api="blas"):
        return execute(*_shared[str(folder)], task)


def _failed(task: BlockTask, reason: str) -> BlockResult:
    return BlockResult(task.key, [CellResult(cell, "error", reason) for cell in task.cells], 0.0)
