"""Where blocks run: in this process, or in a pool of spawned workers.

Results arrive in any order; nothing that is kept depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankbench.data.queries import Queries
from rankbench.methods.erm import ERM
from rankbench.results.schema import BlockResult, CellResult
from rankbench.runner.isolation import is_ours, reason
from rankbench.runner.plan import BlockTask
from rankbench.runner.prepare import Prepared, open_shared, shared
from rankbench.spec import Spec, parse

__all__ = ["available_cores", "run_here", "run_in_pool", "warm_up"]

LIMIT = 3600
"""Seconds after which a block is given up."""

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

    A worker that dies or hangs takes its block with it, not the run: the block is run
    again without the foreign contenders, and each of those alone, so that the guilty one
    is named; its cells become failures, which the next run tries again.
    """
    from pebble import ProcessPool

    warm_up(prepared, tasks[0])
    # Spawned, because Polars' threads do not survive a fork.
    with shared(prepared) as folder:
        pool: Any = ProcessPool(max_workers=workers, context=get_context("spawn"), initializer=_start)

        def submit(task: BlockTask) -> Any:
            return pool.schedule(_execute, args=(folder, task), timeout=LIMIT)

        try:
            waiting: dict[Any, BlockTask] = {submit(task): task for task in tasks}
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    task = waiting.pop(future)
                    result = _result(future, task)
                    parts = _apart(task) if isinstance(result, _Dead) else []
                    if parts:
                        waiting |= {submit(part): part for part in parts}
                    else:
                        yield _failed(task, result) if isinstance(result, _Dead) else result
            pool.close()
        finally:
            # Also on the way out of an interrupted run: queued blocks are dropped.
            pool.stop()
            pool.join()


@dataclass(frozen=True)
class _Dead:
    """A block whose worker did not come back."""

    status: Literal["error", "timeout"]
    reason: str


def _result(future: Any, task: BlockTask) -> BlockResult | _Dead:
    from pebble import ProcessExpired

    try:
        result: BlockResult = future.result()
    except TimeoutError:
        return _Dead("timeout", f"no result within {LIMIT} s")
    except ProcessExpired as error:
        return _Dead("error", f"worker process died with exit code {error.exitcode}")
    except Exception as error:
        return _Dead("error", reason(error))
    return result


def _apart(task: BlockTask) -> list[BlockTask]:
    """Return the task's built-in contenders as one task and each foreign one as its own."""
    from rankbench.plugin.manager import get

    foreign = {cell: spec for cell, spec in task.cells.items() if not is_ours(get("method", spec))}
    if not foreign or len(task.cells) == 1:
        return []
    ours = {cell: spec for cell, spec in task.cells.items() if cell not in foreign}
    return [replace(task, cells=cells) for cells in (ours, *({c: s} for c, s in foreign.items())) if cells]


def warm_up(prepared: Prepared, task: BlockTask) -> None:
    """Compile what a block needs, on three of its queries: once here, not in every worker."""
    from rankbench.plugin.manager import get
    from rankbench.runner.execute import execute

    # Foreign code could take this process down.
    cells = {cell: spec for cell, spec in task.cells.items() if is_ours(get("method", spec))}
    if not cells or not all(is_ours(get("loss", loss)) for loss in task.losses):
        return
    few = np.arange(min(3, len(prepared.design)))
    small = prepared.design.take(few)
    cells = {cell: str(_shortened(spec)) for cell, spec in cells.items()}
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


def _failed(task: BlockTask, dead: _Dead) -> BlockResult:
    return BlockResult(task.key, [CellResult(cell, dead.status, dead.reason) for cell in task.cells], 0.0)
