"""Time and memory of a planned run, estimated from small blocks."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankbench.core.runtime import one_blas_thread
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.plugin.third_party import is_ours, own_block
from rankbench.runner.blocks import run_block
from rankbench.runner.plan import Planned

_ENOUGH = 0.5
"""Seconds of a block that show how long larger ones take."""

_SMALLEST = 64
"""The first block that is measured has this part of the judgments; the next ones have four times as many each."""

_EXPONENT = 0.25
"""Error of the exponent by which time grows with n."""

_NOISE = 4 / 3
"""Factor between two measurements of one block."""


@dataclass(frozen=True)
class Estimate:
    """Cost of a planned run.

    Attributes
    ----------
    cells : dict of str to float
        Seconds of one processor by cell, of protocols that tell cells apart.
    seconds, low, high : float
        Seconds of one processor of all other blocks, and the ends of the range that they are likely to take.
    data : int
        Bytes of the data that all workers share.
    worker : int
        Bytes that a worker takes for its largest block, about, beside the data.
    unknown : int
        Blocks without an estimate: only plugins have a part in them, or measured contenders failed.
    """

    cells: dict[str, float]
    seconds: float
    low: float
    high: float
    data: int
    worker: int
    unknown: int


def estimate(made: Planned) -> Estimate:
    """Estimate the cost of a planned run; blocks that are measured take some seconds in all."""
    cells = estimated_seconds(made)
    groups: dict[tuple[int, tuple[str, ...]], list[BlockTask]] = {}
    for task in made.plan.tasks:
        if not cells.keys() & task.cells.keys():
            groups.setdefault((task.source, task.metrics), []).append(task)
    low = seconds = high = 0.0
    worker, unknown = 0, 0
    for (source, _), tasks in groups.items():
        curve = _measured(made.sources[source], tasks)
        if curve is None:
            unknown += len(tasks)
            continue
        worker = max(worker, curve.memory)
        for task in tasks:
            ends = curve.seconds(task.key.n)
            low, seconds, high = low + ends[0], seconds + ends[1], high + ends[2]
    arrays = {id(array): array.nbytes for prepared in made.sources for array in prepared.arrays.values()}
    return Estimate(cells, seconds, low, high, sum(arrays.values()), worker, unknown)


@dataclass(frozen=True)
class _Curve:
    """Seconds of a block at n judgments, ``then * (n / self.n)^exponent``, and bytes of the largest block.

    The error of `then` is a factor of `noise`, that of the exponent is `off`.
    """

    n: int
    then: float
    exponent: float
    memory: int
    off: float = _EXPONENT
    noise: float = _NOISE

    def seconds(self, n: int) -> tuple[float, float, float]:
        """Return least, likely and most seconds of a block."""
        ratio = n / self.n
        ends = (max(self.exponent - self.off, 0.0), self.exponent, self.exponent + self.off)
        by_end = [self.then * ratio**power for power in ends]
        return min(by_end) / self.noise, by_end[1], max(by_end) * self.noise


def _measured(prepared: Prepared, tasks: Sequence[BlockTask]) -> _Curve | None:
    """Measure small blocks of a source; None where no built-in contender competes, or one of them failed."""
    largest = own_block(max(tasks, key=lambda task: task.key.n))
    if largest is None or not is_ours(prepared.protocol):
        return None
    most = largest.key.n
    if most == 1:
        return _one_by_one(prepared, largest)
    n = max(1, most // _SMALLEST)
    drawn = prepared.protocol.draw_bytes
    memory = _traced(prepared, largest.of_size(n)) + drawn(prepared, largest) - drawn(prepared, largest.of_size(n))
    found: list[tuple[int, float]] = []
    while True:
        taken = _seconds(prepared, largest.of_size(n))
        if taken is None:
            break
        found.append((n, taken))
        if n == most or (taken >= _ENOUGH and len(found) > 1):
            break
        n = min(4 * n, most)
    if not found:
        return None
    n, taken = found[-1]
    exponent = 1.0
    if len(found) > 1:
        before, earlier = found[-2]
        exponent = min(max(math.log(taken / earlier) / math.log(n / before), 0.0), 1.5)
    return _Curve(n, taken, exponent, memory, 0.0 if n == most else _EXPONENT)


def _one_by_one(prepared: Prepared, task: BlockTask) -> _Curve | None:
    """Measure contenders of a block that cannot be smaller, until these took long enough; the others cost as much."""
    memory, found = 0, list[float]()
    for cell, contender in task.cells.items():
        alone = replace(task, cells={cell: contender})
        if not found:
            memory = _traced(prepared, alone)
        if (taken := _seconds(prepared, alone)) is not None:
            found.append(taken)
        if sum(found) >= _ENOUGH:
            break
    if not found:
        return None
    count = len(task.cells)
    spread = _NOISE if len(found) == count else 2.0
    return _Curve(1, count * sum(found) / len(found), 1.0, memory, 0.0, spread)


def _traced(prepared: Prepared, task: BlockTask) -> int:
    """Run a block and return the largest number of bytes that it took at once; it compiles what later runs need."""
    tracemalloc.start()
    try:
        run_block(prepared, task)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _seconds(prepared: Prepared, task: BlockTask) -> float | None:
    """Return the processor's seconds of a block; None if a contender failed in it."""
    begin = time.process_time()
    block = run_block(prepared, task)
    taken = time.process_time() - begin
    return None if any(cell.status == "error" for cell in block.cells) else max(taken, 1e-6)


def estimated_seconds(made: Planned) -> dict[str, float]:
    """Return estimated seconds on one processor, by cell; cells without an estimate are absent.

    Of the repetitions of a block one in the middle is asked for (folds by time grow from one to the
    next), and stands for all; see `rankbench.interfaces.protocol.Protocol.seconds`.
    """
    alike: dict[tuple[int, int, tuple[str, ...]], list[BlockTask]] = {}
    for task in made.plan.tasks:
        alike.setdefault((task.source, task.key.n, task.metrics), []).append(task)
    known: dict[str, float] = {}
    with one_blas_thread():
        for tasks in alike.values():
            middle, prepared = tasks[len(tasks) // 2], made.sources[tasks[0].source]
            if not is_ours(prepared.protocol):
                continue
            of_cell = prepared.protocol.seconds(prepared, middle)
            of_text = {found.text: of_cell[cell] for cell, found in middle.cells.items() if cell in of_cell}
            for task in tasks:
                known |= {cell: of_text[found.text] for cell, found in task.cells.items() if found.text in of_text}
    return known
