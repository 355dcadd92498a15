"""Blocks with foreign code: each in a process of its own, whose traces are looked for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence

from rankbench.protocols.base import BlockTask, Prepared
from rankbench.results.schema import BlockResult
from rankbench.runner.deaths import Dead, apart, failed, plugins_of
from rankbench.runner.remote import Remote
from rankbench.runner.share import Shared

__all__ = ["PAUSE", "run_foreign"]

PAUSE = 0.02
"""Seconds between two looks at the processes."""


def run_foreign(
    files: Shared, sources: Sequence[Prepared], tasks: Sequence[BlockTask], workers: int, timeout: float
) -> Iterator[BlockResult]:
    """Run blocks in processes of their own, at most `workers` at a time.

    A result is given only after the shared files were found as they were written, and this after its
    process ended. Where they are not, whatever was computed since they last were is thrown away, and
    computed again one by one on new files: so the plugin at fault is known, whose cells become
    failures that name it.

    A process that dies or hangs fails the contenders in it: one by one, if they are several.

    Parameters
    ----------
    files : Shared
    sources : sequence of Prepared
    tasks : sequence of BlockTask
    workers : int
    timeout : float
        Seconds for each block.
    """
    yield from _Foreign(files, sources, timeout).results(tasks, workers)


class _Foreign:
    def __init__(self, files: Shared, sources: Sequence[Prepared], timeout: float) -> None:
        self.files, self.timeout = files, timeout
        self.sources = sources
        self.guilty: set[str] = set()
        self.running: list[Remote] = []

    def results(self, tasks: Sequence[BlockTask], workers: int) -> Iterator[BlockResult]:
        """Yield the results of all tasks."""
        queue, alone, held = deque(tasks), deque[BlockTask](), list[BlockResult]()
        taken: list[BlockTask] = []  # whose results are held
        try:
            while queue or self.running or held:
                while queue and len(self.running) < workers:
                    task = queue.popleft()
                    if self._whose(task) & self.guilty:
                        alone.append(task)
                    else:
                        self.running.append(Remote(self.files.folder, task, self.timeout))
                for process in [process for process in self.running if process.ended()]:
                    self.running.remove(process)
                    outcome, task = process.outcome(), process.task
                    parts = self._parts(task) if isinstance(outcome, Dead) else []
                    queue.extendleft(reversed(parts))
                    if not parts:
                        held.append(failed(task, outcome) if isinstance(outcome, Dead) else outcome)
                        taken.append(task)
                if held and (self.files.due() or not (queue or self.running)):
                    if self.files.altered():
                        suspects = taken + [process.task for process in self.running]
                        self._stop()
                        self.files.write()
                        for task in suspects:
                            yield from self._alone(task)
                    else:
                        yield from held
                    held, taken = [], []
                elif self.running:
                    time.sleep(PAUSE)
            for task in alone:
                yield from self._alone(task)
        finally:
            self._stop()

    def _alone(self, task: BlockTask) -> Iterator[BlockResult]:
        """Yield the results of a task while nothing else runs: what has changed afterwards, it has changed."""
        process = Remote(self.files.folder, task, self.timeout)
        self.running.append(process)
        while not process.ended():
            time.sleep(PAUSE)
        self.running.remove(process)
        outcome = process.outcome()
        changed = self.files.altered()
        if changed:
            self.files.write()
            whose = self._whose(task)
            self.guilty |= whose
            outcome = Dead(
                "error",
                f"plugin {', '.join(sorted(whose))} changed what all contenders are given ({', '.join(changed)}): it "
                "was written again, and all that it may have fed was computed again",
            )
        parts = self._parts(task) if isinstance(outcome, Dead) else []
        for part in parts:
            yield from self._alone(part)
        if not parts:
            yield failed(task, outcome) if isinstance(outcome, Dead) else outcome

    def _parts(self, task: BlockTask) -> list[BlockTask]:
        return apart(task, self.sources[task.source].protocol.contender)

    def _whose(self, task: BlockTask) -> set[str]:
        return plugins_of(task, self.sources[task.source])

    def _stop(self) -> None:
        for process in self.running:
            process.give_up()
        self.running.clear()
