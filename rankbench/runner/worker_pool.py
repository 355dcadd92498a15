"""The pool holds worker processes, each for one group of code.

A group is rankbench's own code, or the code of one plugin: what a plugin changes in its process reaches
the plugin's own contenders alone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

from rankbench.core.runtime import settle_runtime
from rankbench.core.spec import parse
from rankbench.core.system import collect_seldom, exit_with_parent
from rankbench.interfaces.cell import BlockResult, CellResult, failed, guarded, leave_interrupts_to_parent, reason
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared, untold
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import contender, get
from rankbench.plugin.registry import base_of
from rankbench.runner.blocks import (
    BlockJob,
    LostProcess,
    SentTask,
    failed_block,
    mark_finished,
    mark_started,
    run_block,
)
from rankbench.runner.prepare import open_shared

START = 300.0
"""Seconds in which a worker process must have imported rankbench."""

_EXIT = 1.0
"""Seconds in which a process that closed its connection ends by itself."""

_LOOK = 0.5
"""Seconds between two looks at processes that send nothing."""

_COMMAND = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rankbench.runner.worker_pool import serve
serve(int(sys.argv[2]))
"""


class Worker:
    """A process that calls one function after the other.

    The process leads a session: an interrupt of the terminal does not reach it, and what it
    starts is ended with it. A new interpreter is started, as Polars' threads do not survive a fork; and not by
    `multiprocessing`, which a daemonic process (a worker of Dask) may not use.

    Attributes
    ----------
    connection : Connection
        Readable when there is something to look at, see `done`.
    ready : bool
        Whether it has imported rankbench, and was there when a function was sent.
    result : object
        Return value of the last function, or a `LostProcess`; once `done` says so.
    """

    def __init__(self) -> None:
        settle_runtime()  # here, so that all workers share one folder of compiled code
        mine, other = socket.socketpair()
        with mine, other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, json.dumps(sys.path), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=[other.fileno()],
            )
            self.connection = Connection(mine.detach())
        self.ready = False
        self.result: Any = None
        self._timeout = self._deadline = math.inf
        self._advance: Callable[[str, float], None] | None = None
        self._end = weakref.finalize(self, _end_session, self._process)

    def send(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        timeout: float,
        advance: Callable[[str, float], None] | None = None,
    ) -> None:
        """Send a function to call; function, arguments and result are pickled.

        Parameters
        ----------
        function : callable
        *arguments
        timeout : float
            Seconds that the call may take.
        advance : callable, optional
            As `rankbench.interfaces.protocol.BlockTask.advance`: the function has another one as its last argument,
            and what that is told there is told here.
        """
        self._timeout, self._advance = timeout, advance
        self._deadline = time.monotonic() + (timeout if self.ready else START)
        try:
            self.connection.send((function, arguments, advance is not None))
        except OSError:  # it is dead, as `done` finds, and has not begun
            self.ready = False

    def done(self) -> bool:
        """Check whether the function has returned, or the process was lost; return whether `result` is known."""
        dead = self._process.poll() is not None
        try:
            while self.connection.poll():
                found = self.connection.recv()
                if isinstance(found, _Shares):
                    for cell, share in found.items():
                        if self._advance:
                            self._advance(cell, share)
                    continue
                if self.ready:
                    self.result = found
                    return True
                self.ready = True
                self._deadline = time.monotonic() + self._timeout
        except (EOFError, OSError):
            dead = True
        if dead:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT)
            code = self.end()
            self.result = LostProcess("error", f"worker process died with exit code {code}, without a result", code)
        elif time.monotonic() > self._deadline:
            self.end()
            self.result = LostProcess("timeout", f"no result within {self._timeout if self.ready else START:g} s")
        else:
            return False
        return True

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        """Call a function in the worker, and return its result or a `LostProcess`; see `send`."""
        self.send(function, *arguments, timeout=timeout)
        while not self.done():
            wait([self.connection], _LOOK)
        return self.result

    def end(self) -> int:
        """End the process and its children; return its exit code."""
        self._end()
        self.connection.close()
        return self._process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()


def _end_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def serve(descriptor: int) -> NoReturn:
    """Call functions sent by the parent process, as a worker, until the connection closes."""
    exit_with_parent(os.getppid())
    os.set_inheritable(descriptor, False)
    collect_seldom()
    leave_interrupts_to_parent()
    settle_runtime()
    with contextlib.suppress(EOFError, OSError), Connection(descriptor) as parent:
        parent.send(True)
        while True:
            function, arguments, tells = parent.recv()
            if tells:
                arguments = (*arguments, _Telling(parent).advance)
            found = guarded(partial(function, *arguments))
            parent.send(LostProcess("error", reason(found)) if isinstance(found, Exception) else found)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of plugins have nothing to say any more


class _Shares(dict[str, float]):
    """Shares of cells' work that a worker process has done since its last message."""


class _Telling:
    """Sends shares of work to the parent process, at most so many times a second."""

    def __init__(self, parent: Connection) -> None:
        self._parent, self._shares, self._last = parent, _Shares(), time.monotonic()

    def advance(self, cell: str, share: float) -> None:
        """Add up a share, and send all shares unless some were sent just before."""
        self._shares[cell] = self._shares.get(cell, 0.0) + share
        if (now := time.monotonic()) - self._last > _LOOK:
            self._parent.send(self._shares)
            self._shares, self._last = _Shares(), now


def run_sent(file: Path, sent: SentTask, advance: Callable[[str, float], None] = untold) -> BlockResult:
    """Compute a block in a worker process; a contender that cannot be made there is a failed cell.

    Parameters
    ----------
    file : Path
        Written by `rankbench.runner.prepare.write_shared`.
    sent : SentTask
    advance : callable
        See `rankbench.interfaces.protocol.BlockTask`.
    """
    prepared, task, lost = received(file, sent)
    task = replace(task, advance=advance)
    if not task.cells:
        return BlockResult(sent.key, lost, 0.0)
    result = run_block(prepared, task)
    return replace(result, cells=[*result.cells, *lost])


def received(file: Path, sent: SentTask) -> tuple[Prepared, BlockTask, list[CellResult]]:
    """Return a block's source, its task, and results of contenders that cannot be made; see `run_sent`."""
    made = {cell: guarded(partial(contender, base_of(kind), parse(text))) for cell, (kind, text) in sent.cells.items()}
    cells = {cell: found for cell, found in made.items() if isinstance(found, Contender)}
    lost = [failed(cell, found) for cell, found in made.items() if isinstance(found, Exception)]
    losses = tuple(get(Loss, text) for text in sent.losses)
    return _opened(file, sent.source), BlockTask(sent.key, sent.source, sent.metrics, cells, losses), lost


_opened = cache(open_shared)


_STARTS = 5
"""Workers in a row that may be lost before they are ready."""


class WorkerPool:
    """A number of workers, and the blocks that wait for one.

    Parameters
    ----------
    file : Path
        Data that blocks are drawn from, see `rankbench.runner.prepare.shared`.
    workers : int
    timeout : float
        Seconds for each block.
    """

    def __init__(self, file: Path, workers: int, timeout: float) -> None:
        self._file, self._workers, self._timeout = file, workers, timeout
        self._waiting: deque[BlockJob] = deque()
        self._busy: dict[Worker, BlockJob] = {}
        self._unready = 0

    def results(self, jobs: Iterable[BlockJob]) -> Iterator[BlockResult]:
        """Yield the result of each job, in any order; of a job that is run in parts, one for each part."""
        self._waiting.extend(jobs)
        try:
            while self._waiting or self._busy:
                while self._waiting and len(self._busy) < self._workers:
                    self._give(Worker(), self._waiting.popleft())
                wait([worker.connection for worker in self._busy], _LOOK)
                for worker in list(self._busy):
                    if worker.done():
                        yield from self._taken(worker)
        finally:
            for worker, job in self._busy.items():
                mark_finished(job.task)
                worker.end()

    def _give(self, worker: Worker, job: BlockJob) -> None:
        self._busy[worker] = job
        mark_started(job.task)
        sent = SentTask.from_task(job.task)
        worker.send(run_sent, self._file, sent, timeout=self._timeout, advance=job.task.advance)

    def _taken(self, worker: Worker) -> Iterator[BlockResult]:
        """Yield the results of a worker's job, and give the worker another job."""
        job, found = self._busy.pop(worker), worker.result
        mark_finished(job.task)
        if isinstance(found, BlockResult):
            self._unready = 0
            if (next_job := next((each for each in self._waiting if each.group == job.group), None)) is None:
                worker.end()
            else:
                self._waiting.remove(next_job)
                self._give(worker, next_job)
            yield found
            return
        worker.end()
        if not worker.ready:
            self._unready += 1
            self._waiting.appendleft(job)
            if self._unready >= _STARTS:
                while self._waiting:
                    yield failed_block(self._waiting.popleft().task, found)
        elif parts := job.after(found):
            self._waiting.extendleft(reversed(parts))
        else:
            yield failed_block(job.task, found)
