"""Jobs are blocks, or parts of them; a block is computed, timed, and turned into cells or their reason."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread
from rankbench.core.text import duration_text, first_of
from rankbench.errors import options_as
from rankbench.interfaces.cell import (
    BlockKey,
    BlockResult,
    CellResult,
    ContenderFailed,
    Curve,
    Split,
    cell_problem,
    guarded,
    printable,
    reason,
    trace_of,
)
from rankbench.interfaces.click_aggregator import ClickPopulation
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.plugin.third_party import third_party_distributions
from rankbench.runner.prepare import spec_of

_LONG = 20.0
"""Seconds from which a block is one that takes long."""

_NAMED = 3
"""Contenders of such a block that are named."""

_running: dict[int, tuple[float, BlockTask]] = {}


def mark_started(task: BlockTask) -> None:
    """Mark a block, or a part of it, as started."""
    _running[id(task)] = time.monotonic(), task


def mark_finished(task: BlockTask) -> None:
    """Mark the block as finished."""
    _running.pop(id(task), None)


def running_blocks() -> list[tuple[float, BlockTask]]:
    """Return the blocks, or parts of blocks, that are being computed, each with its seconds so far."""
    now = time.monotonic()
    return [(now - since, task) for since, task in _running.copy().values()]


def longest_running() -> str:
    """Return a text on the contenders whose block has been running longest; empty if that is not long."""
    seconds, task = max(running_blocks(), key=lambda each: each[0], default=(0.0, None))
    if task is None or seconds < _LONG:
        return ""
    names = first_of([contender.text for contender in task.cells.values()], _NAMED)
    return f"running for {duration_text(seconds)}: {names} (n = {task.key.n:,}, repetition {task.key.repetition + 1})"


def run_block(prepared: Prepared, task: BlockTask) -> BlockResult:
    """Compute all cells of one block, one BLAS thread.

    A cell without a result, or with a result that the store would refuse,
    is a failure that says so.
    """
    started = time.perf_counter()
    # Results are the same, whichever process computes them and however it was asked.
    with one_blas_thread(), options_as():
        mark_started(task)
        found = guarded(partial(_executed, prepared, task))
        mark_finished(task)
    sizes = {split: len(names) for split, names in prepared.units.items()}
    cells = []
    for cell in task.cells:
        result = found if isinstance(found, Exception) else guarded(partial(_checked, found, cell, task.metrics, sizes))
        if isinstance(result, Exception):
            result = CellResult(cell, "error", reason(result), trace=trace_of(result))
        cells.append(result)
    return BlockResult(task.key, cells, time.perf_counter() - started)


def _executed(prepared: Prepared, task: BlockTask) -> dict[str, CellResult]:
    """Return the results of the protocol, which may be third-party code, by cell."""
    return {cell.cell: cell for cell in prepared.protocol.execute(prepared, replace(task, cells=dict(task.cells)))}


def _checked(
    found: Mapping[str, CellResult], cell: str, metrics: tuple[str, ...], sizes: Mapping[Split, int]
) -> CellResult:
    """Return one cell's result in plain types for the store, or raise an error on it."""
    if cell not in found:
        raise ContenderFailed("the protocol gave no result")
    said = found[cell]
    losses = {place: _real(values) for place, values in said.losses.items()}
    curves = {
        name: Curve(np.asarray(curve.steps).astype(np.int64, casting="safe"), _real(curve.values))
        for name, curve in said.curves.items()
    }
    info = {printable(name): float(value) for name, value in said.info.items()}
    words, optimality = printable(said.reason), float(said.optimality)
    plain = CellResult(cell, said.status, words, optimality, losses, curves, info, said.trace)
    if trouble := cell_problem(plain, sizes, metrics):
        raise ContenderFailed(trouble)
    return plain


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as floats; a `TypeError` unless they are real."""
    return np.asarray(values).astype(np.float64, casting="safe", copy=False)


@dataclass(frozen=True)
class LostProcess:
    """A worker process that sent no result.

    Attributes
    ----------
    status : {"error", "timeout"}
    reason : str
    exit_code : int, optional
        Of a process that ended by itself, or was killed from outside.
    """

    status: Literal["error", "timeout"]
    reason: str
    exit_code: int | None = None


@dataclass(frozen=True)
class BlockJob:
    """A block, or a part of one, for a worker.

    Attributes
    ----------
    task : BlockTask
    group : tuple of str
        The plugins whose code it runs; empty: rankbench's own code alone.
    again : bool
        Whether a worker that ran it has died.
    """

    task: BlockTask
    group: tuple[str, ...] = ()
    again: bool = False

    def after(self, lost: LostProcess) -> list[BlockJob]:
        """Return the jobs to run instead of this one, after its worker was lost.

        Contenders of plugins are run one by one, so that the guilty one is named. Built-in contenders
        whose worker died are run once more: it may have been killed from outside.
        """
        task = self.task
        if not self.group:
            return [] if self.again or lost.exit_code is None else [replace(self, again=True)]
        if len(task.cells) == 1:
            return []
        return [replace(self, task=replace(task, cells={cell: found})) for cell, found in task.cells.items()]


def jobs_of(tasks: Iterable[BlockTask], sources: Sequence[Prepared]) -> list[BlockJob]:
    """Return tasks in parts: each of one group of code; of one contender where its protocol goes one by one."""
    known: dict[tuple[str, str], set[str]] = {}

    def whose(contender: Contender) -> set[str]:
        key = (contender.points[0].kind, contender.text)
        if key not in known:
            known[key] = {each for point in contender.points for each in third_party_distributions(point)}
        return known[key]

    jobs = []
    for task in tasks:
        dataset = sources[task.source].dataset
        # A plugin's protocol, registered population or loss runs with any contender. A population is asked in
        # every block, other data sets only at first.
        protocol = sources[task.source].protocol
        shared = third_party_distributions(protocol).union(*map(third_party_distributions, task.losses))
        if isinstance(dataset, ClickPopulation) and spec_of(dataset):
            shared |= third_party_distributions(dataset)
        parts: dict[tuple[tuple[str, ...], str], dict[str, Contender]] = {}
        for cell, found in task.cells.items():
            group = tuple(sorted(shared | whose(found)))
            parts.setdefault((group, cell if protocol.one_by_one else ""), {})[cell] = found
        jobs += [BlockJob(replace(task, cells=cells), group) for (group, _), cells in parts.items()]
    return jobs


def place_tasks(
    tasks: Iterable[BlockTask], sources: Sequence[Prepared]
) -> tuple[list[BlockTask], list[BlockJob], list[BlockResult]]:
    """Divide tasks into this process's, workers' and refused ones, the same for any number of workers.

    Returns
    -------
    here : list of BlockTask
        They ask a population that is an object of this process alone.
    jobs : list of BlockJob
        For workers, those without code of plugins first; these may run here too.
    nowhere : list of BlockResult
        They would need a worker and this process, and are failures.
    """
    here, jobs, nowhere = list[BlockTask](), list[BlockJob](), list[BlockResult]()
    bound = [isinstance(p.dataset, ClickPopulation) and not spec_of(p.dataset) for p in sources]
    for job in jobs_of(tasks, sources):
        if not bound[job.task.source]:
            jobs.append(job)
        elif not job.group:
            here.append(job.task)
        else:
            why = (
                "a plugin's contender runs in a process of its own, and the population "
                f"{sources[job.task.source].dataset!s} is an object of this one. Register it, so that another process "
                "can make it again"
            )
            nowhere.append(failed_block(job.task, LostProcess("error", why)))
    return here, sorted(jobs, key=lambda job: bool(job.group)), nowhere


def failed_block(task: BlockTask, lost: LostProcess) -> BlockResult:
    """Return the block with every cell a failure."""
    return BlockResult(task.key, [CellResult(cell, lost.status, lost.reason) for cell in task.cells], 0.0)


@dataclass(frozen=True)
class SentTask:
    """A `rankbench.interfaces.protocol.BlockTask` whose components are texts, which any process can make."""

    key: BlockKey
    source: int
    metrics: tuple[str, ...]
    cells: dict[str, tuple[str, str]]
    losses: tuple[str, ...]

    @classmethod
    def from_task(cls, task: BlockTask) -> SentTask:
        """Return a task to be sent."""
        cells = {cell: (found.points[0].kind, found.text) for cell, found in task.cells.items()}
        return cls(task.key, task.source, task.metrics, cells, tuple(map(str, task.losses)))
