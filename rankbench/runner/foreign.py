"""Blocks with foreign code: each in a process of its own, which can change nothing that another one is given."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from rankbench.kinds.cell import BlockResult
from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.runner.blocks import vetted
from rankbench.runner.processes import LostProcess, failed_block, isolate_foreign
from rankbench.runner.remote import Remote
from rankbench.runner.sealed_files import file_for_processes
from rankbench.runner.share import write_shared

__all__ = ["PAUSE", "run_foreign"]

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
    running: list[Remote] = []
    try:
        while queue or running:
            while queue and len(running) < workers:
                running.append(Remote(held_file, queue.popleft(), timeout))
            ended = [process for process in running if process.ended()]
            for process in ended:
                running.remove(process)
                outcome, task = process.outcome(), process.task
                prepared = sources[task.source]
                parts = isolate_foreign(task, prepared.protocol.contender) if isinstance(outcome, LostProcess) else []
                queue.extendleft(reversed(parts))
                if not parts:
                    yield (
                        failed_block(task, outcome)
                        if isinstance(outcome, LostProcess)
                        else vetted(outcome, task, prepared)
                    )
            if not ended:
                time.sleep(PAUSE)
    finally:
        for process in running:
            process.give_up()
