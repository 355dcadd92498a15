"""Worker processes for blocks without foreign code: each with a pipe of its own, so that any may be killed at any time.

Pools whose workers share a queue share its lock too: whoever is killed with it in hand takes the run with it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path

from rankbench.kinds.cell import BlockResult
from rankbench.kinds.guard import guarded, leave_interrupts_to_parent, reason
from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.runner.blocks import run_block
from rankbench.runner.processes import LostProcess, begun, ended
from rankbench.runner.share import open_shared

__all__ = ["Crew"]

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
        What blocks are drawn from, see `rankbench.runner.share.shared`.
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

    from rankbench.runtime import settle_runtime
    from rankbench.system import collect_seldom, die_with

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
