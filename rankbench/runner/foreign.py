"""Blocks with foreign code: each in a process of its own, which can change nothing that another one is given."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from rankbench.interfaces.cell import BlockResult
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.runner.blocks import vetted
from rankbench.runner.prepare import write_shared
from rankbench.runner.remote import Remote
from rankbench.runner.sealed_files import file_for_processes
from rankbench.runner.wire import task_to_json
from rankbench.runner.worker_pool import LostProcess, begun, ended, failed_block, isolate_foreign

PAUSE = 0.02
"""Seconds between two looks at the processes."""


def run_foreign(
    sources: Sequence[Prepared], tasks: Sequence[BlockTask], workers: int, timeout: float
) -> Iterator[BlockResult]:
    """Run blocks in processes of their own, at most `workers` at a time.

    A process that dies or hangs fails the contenders in it: one by one, if they are several.

    Parameters
    ----------
    sources : sequence of Prepared
    tasks : sequence of BlockTask
    workers : int
    timeout : float
        Seconds for each block.
    """
    held_file = file_for_processes(partial(write_shared, sources))
    queue = deque(tasks)
    running: list[tuple[Remote, BlockTask]] = []
    try:
        while queue or running:
            while queue and len(running) < workers:
                task = queue.popleft()
                running.append((Remote(held_file, task_to_json(task), timeout), task))
                begun(task)
            done = [(process, task) for process, task in running if process.ended()]
            for process, task in done:
                running.remove((process, task))
                ended(task)
                outcome = process.outcome()
                parts = isolate_foreign(task) if isinstance(outcome, LostProcess) else []
                queue.extendleft(reversed(parts))
                if isinstance(outcome, LostProcess) and not parts:
                    yield failed_block(task, outcome)
                elif not isinstance(outcome, LostProcess):
                    yield vetted(outcome, task, sources[task.source])
            if not done:
                time.sleep(PAUSE)
    finally:
        for process, task in running:
            ended(task)
            process.give_up()
