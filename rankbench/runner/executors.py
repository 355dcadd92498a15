"""Where blocks run: in this process, or in a pool of spawned workers.

Results arrive in any order; nothing that is kept depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rankbench.kinds.cell import BlockResult
from rankbench.kinds.guard import guarded
from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.protocols.isolation import is_ours
from rankbench.runner.blocks import run_block
from rankbench.runner.crew import Crew
from rankbench.runner.foreign import run_foreign
from rankbench.runner.processes import LostProcess, begun, ended, failed_block, isolate_foreign, place_tasks
from rankbench.runner.share import shared

__all__ = ["LIMIT", "run_here", "run_in_pool", "warm_up_all"]

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
