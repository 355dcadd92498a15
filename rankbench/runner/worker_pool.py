"""Worker processes, one group of code each.

Foreign code may change what its process has imported. So built-in contenders share theirs
with none of it, and the plugins' contenders with those of the same plugin alone.

Pools whose workers share a queue share its lock too: whoever is killed with it in hand takes the run with it.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Literal

from rankbench.core.text import duration_text, first_of
from rankbench.interfaces.cell import BlockResult, CellResult, guarded, leave_interrupts_to_parent, reason
from rankbench.interfaces.click_aggregator import ClickPopulation
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask, Contender, Prepared, Protocol
from rankbench.plugin.foreign_code import own_cells, strangers
from rankbench.runner.blocks import run_block
from rankbench.runner.prepare import open_shared

_LONG = 20.0
"""Seconds from which a block is one that takes long."""

_NAMED = 3
"""Contenders of such a block that are named."""

_running: dict[int, tuple[float, BlockTask]] = {}


def begun(task: BlockTask) -> None:
    """Say that a block, or a part of it, is being computed."""
    _running[id(task)] = time.monotonic(), task


def ended(task: BlockTask) -> None:
    """Say that it is not any more."""
    _running.pop(id(task), None)


def longest_running() -> str:
    """Name the contenders of the block that has been computed for longest; empty if that is not long."""
    since, task = min(_running.copy().values(), key=lambda each: each[0], default=(math.inf, None))
    seconds = time.monotonic() - since
    if task is None or seconds < _LONG:
        return ""
    names = first_of([contender.text for contender in task.cells.values()], _NAMED)
    return f"for {duration_text(seconds)}: {names} (n = {task.key.n:,}, repetition {task.key.repetition + 1})"


@dataclass(frozen=True)
class LostProcess:
    """A block whose process did not come back."""

    status: Literal["error", "timeout"]
    reason: str
    died: bool = False
    """Whether its process ended, perhaps by no fault of the block."""


def isolate_foreign(task: BlockTask) -> list[BlockTask]:
    """Return the task's built-in contenders as one task and each foreign one as its own."""
    ours = own_cells(task)
    foreign = {cell: found for cell, found in task.cells.items() if cell not in ours}
    if not foreign or len(task.cells) == 1:
        return []
    return [
        replace(task, cells=cells) for cells in (ours, *({cell: found} for cell, found in foreign.items())) if cells
    ]


def split_foreign(
    tasks: Iterable[BlockTask], protocols: Sequence[Protocol], datasets: Sequence[Dataset | None] = ()
) -> tuple[list[BlockTask], list[BlockTask]]:
    """Split tasks by whose contenders they have: those without foreign code, and the others.

    Parameters
    ----------
    tasks : iterable of BlockTask
    protocols : sequence of Protocol
        Of each source.
    datasets : sequence of Dataset or None, optional
        Of each source. A population is asked in every block; other data sets only at first.

    Returns
    -------
    ours, foreign : list of BlockTask
        In the order of `tasks`. Each foreign one has the contenders of one plugin.
    """
    from rankbench.runner.prepare import spec_of

    ours: list[BlockTask] = []
    foreign: list[BlockTask] = []
    known: dict[tuple[str, str], tuple[str, ...]] = {}

    def whose(contender: Contender) -> tuple[str, ...]:
        key = (contender.points[0].kind, contender.text)
        if key not in known:
            known[key] = tuple(sorted({each for point in contender.points for each in strangers(point)}))
        return known[key]

    for task in tasks:
        protocol = protocols[task.source]
        # A foreign protocol, registered population or loss runs with whatever contender.
        dataset = datasets[task.source] if datasets else None
        asked = bool(_asked(dataset)) and bool(spec_of(dataset))
        shared = asked or bool(strangers(protocol)) or any(map(strangers, task.losses))
        groups: dict[tuple[str, ...], dict[str, Contender]] = {}
        for cell, contender in task.cells.items():
            groups.setdefault(whose(contender), {})[cell] = contender
        for them, cells in groups.items():
            (foreign if shared or them else ours).append(replace(task, cells=cells))
    return ours, foreign


def _asked(dataset: Dataset | None) -> set[str]:
    """Return whose a population is, which is asked in every block; of other data sets nothing runs there."""
    return strangers(dataset) if isinstance(dataset, ClickPopulation) else set()


@dataclass(frozen=True)
class Places:
    """Where tasks may run.

    Attributes
    ----------
    here : list of BlockTask
        They ask a population that is an object of this process alone.
    ours : list of BlockTask
        Without foreign code: here, or in any worker.
    foreign : list of BlockTask
        With foreign code: each in a process of its own.
    nowhere : list of BlockResult
        They would need both, and are failures.
    """

    here: list[BlockTask]
    ours: list[BlockTask]
    foreign: list[BlockTask]
    nowhere: list[BlockResult]


def place_tasks(tasks: Iterable[BlockTask], sources: Sequence[Prepared]) -> Places:
    """Say where tasks may run: the same place whatever the number of workers."""
    from rankbench.runner.prepare import spec_of

    ours, foreign = split_foreign(tasks, [prepared.protocol for prepared in sources], [p.dataset for p in sources])
    places = Places([], [], [], [])
    bound = [isinstance(p.dataset, ClickPopulation) and not spec_of(p.dataset) for p in sources]
    for task in ours:
        (places.here if bound[task.source] else places.ours).append(task)
    for task in foreign:
        if bound[task.source]:
            population = sources[task.source].dataset
            why = (
                f"a plugin's contender runs in a process of its own, and the population {population!s} is an object of "
                "this one: register it, so that another process can make it again"
            )
            places.nowhere.append(failed_block(task, LostProcess("error", why)))
        else:
            places.foreign.append(task)
    return places


def failed_block(task: BlockTask, dead: LostProcess) -> BlockResult:
    """Return the block with every cell a failure."""
    return BlockResult(task.key, [CellResult(cell, dead.status, dead.reason) for cell in task.cells], 0.0)


_STARTS = 5
"""Workers in a row that may die before they are ready."""

_open: dict[tuple[str, int], Prepared] = {}


class _Worker:
    """A spawned process: Polars' threads do not survive a fork."""

    def __init__(self, file: Path) -> None:
        self.task: BlockTask | None = None
        self.ready = False
        self.deadline = 0.0
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        try:
            self.process = context.Process(target=_serve, args=(file, other), daemon=True)
            with _interrupts_blocked(), contextlib.suppress(BrokenPipeError):  # killed before it read what it is to do
                self.process.start()
        finally:
            other.close()

    def take(self, task: BlockTask, timeout: float) -> None:
        """Give it a block."""
        self.task, self.deadline = task, time.monotonic() + timeout
        begun(task)
        with contextlib.suppress(OSError):  # it is dead, which is found when it is waited for
            self.pipe.send(task)

    def outcome(self) -> BlockResult | LostProcess | None:
        """Return what it has sent: a result, or None, which says that it is ready.

        Raises
        ------
        EOFError
            It is dead.
        """
        try:
            found: BlockResult | LostProcess | None = self.pipe.recv()
        except OSError as error:
            raise EOFError from error
        self.ready = True
        return found

    def end(self) -> int | None:
        """End it; return its exit code."""
        if self.task is not None:
            ended(self.task)
        self.pipe.close()
        if self.process.pid is None:
            return None
        self.process.kill()
        self.process.join()
        return self.process.exitcode


class Crew:
    """A number of workers, and the blocks that wait for one.

    Parameters
    ----------
    file : Path
        What blocks are drawn from, see `rankbench.runner.prepare.shared`.
    workers : int
    timeout : float
        Seconds for each block.
    """

    def __init__(self, file: Path, workers: int, timeout: float) -> None:
        self.file, self.workers, self.timeout = file, workers, timeout
        self.queue: deque[BlockTask] = deque()
        self._crew: list[_Worker] = []
        self._stillborn = 0

    def outcomes(self, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, BlockResult | LostProcess]]:
        """Yield each block with its result, or with how its process ended; more may be put into `queue` meanwhile."""
        self.queue.extend(tasks)
        try:
            while self.queue or any(worker.task for worker in self._crew):
                yield from self._stride()
        finally:
            # Also on the way out of an interrupted run: queued blocks are dropped.
            for worker in self._crew:
                worker.end()

    def _stride(self) -> Iterator[tuple[BlockTask, BlockResult | LostProcess]]:
        busy = sum(worker.task is not None for worker in self._crew)
        while len(self._crew) < min(self.workers, busy + len(self.queue)):
            self._crew.append(_Worker(self.file))
        for worker in self._crew:
            if self.queue and worker.ready and worker.task is None:
                worker.take(self.queue.popleft(), self.timeout)
        left = [worker.deadline - time.monotonic() for worker in self._crew if worker.task is not None]
        heard = wait([worker.pipe for worker in self._crew], max(0.0, min(left, default=60.0)))
        for worker in list(self._crew):
            task = worker.task
            if worker.pipe in heard:
                try:
                    found = worker.outcome()
                except EOFError:
                    yield from self._lost(worker)
                    continue
                self._stillborn = 0
                if task is not None and found is not None:
                    worker.task = None
                    ended(task)
                    yield task, found
            elif task is not None and time.monotonic() > worker.deadline:
                self._crew.remove(worker)
                worker.end()
                yield task, LostProcess("timeout", f"no result within {self.timeout:g} s")

    def _lost(self, worker: _Worker) -> Iterator[tuple[BlockTask, BlockResult | LostProcess]]:
        """Take account of a worker that is dead."""
        self._crew.remove(worker)
        died = LostProcess("error", f"worker process died with exit code {worker.end()}", died=True)
        if worker.task is not None:
            yield worker.task, died
        elif not worker.ready:
            self._stillborn += 1
            if self._stillborn >= _STARTS:
                while self.queue:
                    yield (
                        self.queue.popleft(),
                        LostProcess("error", f"{died.reason}, before it took a block, as those before it"),
                    )


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that an interrupt of the terminal does not reach, not even while they start.

    They have the mask of the thread that starts them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would lift the mask
    held: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    # Another thread may take an interrupt, and Python then raises it here: a process would lack what it is to do.
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
        if held:
            signal.raise_signal(signal.SIGINT)


# What follows runs in the workers.


def _serve(file: Path, pipe: Connection) -> None:
    """Run blocks until the pipe is closed."""
    from multiprocessing import parent_process

    from rankbench.core.runtime import settle_runtime
    from rankbench.core.system import collect_seldom, die_with

    collect_seldom()
    parent = parent_process()
    if parent is not None and parent.pid is not None:
        die_with(parent.pid)
    leave_interrupts_to_parent()  # interrupts are left to the main process
    settle_runtime()  # one BLAS thread, numba's cache folder
    with contextlib.suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            task = pipe.recv()
            found = guarded(partial(_run, file, task))
            pipe.send(LostProcess("error", reason(found)) if isinstance(found, Exception) else found)


def _run(file: Path, task: BlockTask) -> BlockResult:
    key = (str(file), task.source)
    if key not in _open:
        _open[key] = open_shared(file, task.source)
    return run_block(_open[key], task)
