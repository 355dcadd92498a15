"""Time and memory of a planned run, estimated from small blocks."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankbench.core.runtime import available_cores
from rankbench.core.system import peak_memory
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.runner.blocks import LostProcess, SentTask, jobs_of, run_block
from rankbench.runner.plan import Planned
from rankbench.runner.prepare import shared
from rankbench.runner.worker_pool import START, Worker, received

_LIMIT = 15.0
"""Seconds of one processor in which parts of blocks are measured, beside the smallest part of each."""

PATIENCE = 30.0
"""Seconds after which the measurement of a part is given up."""

_LEAST = 0.001
"""Seconds that a part takes at least, beside calls."""

_QUICK = 1.0
"""Seconds of a part to which the loading of code may add much."""

_NARROW = 3.0
"""Factor between most and least seconds of a run that needs no more measurements."""

_SHARES = (1 / 16, 1 / 64)
"""Share of a block that is measured first, or if it takes too long."""

_STEP = 4.0
"""Factor between the share of a part and that of the next one."""

_MOST = 0.75
"""Share of a block from which the whole block tells no more."""

_EXPONENT = 0.25
"""Error of the exponent by which time grows with the share of a block, and with the number of contenders."""

_NOISE = 4 / 3
"""Factor between two measurements of one block."""

_BORROWED = 1.5
"""Factor between blocks of one protocol and contenders on other data."""


@dataclass(frozen=True)
class Estimate:
    """Cost of a planned run.

    Attributes
    ----------
    seconds, low, high : float
        Seconds of one processor of all blocks, and the ends of the range that they are likely to take.
    data : int
        Bytes of the data that all workers share.
    worker : int
        Bytes that a worker takes for its largest block, about, with its program and beside the data; 0: unknown.
    program : int
        Bytes of the process that plans and collects results, beside the data.
    workers : int
        Number of workers; by default one for each processor.
    unknown : int
        Blocks without an estimate: measured contenders failed, or the smallest part of a block took too long.
    """

    seconds: float
    low: float
    high: float
    data: int
    worker: int
    program: int
    workers: int
    unknown: int

    @property
    def all(self) -> int:
        """Bytes of all processes, about."""
        return self.program + self.data + self.workers * self.worker


def estimate(made: Planned, workers: int | None = None) -> Estimate:
    """Estimate the cost of a planned run, from parts of blocks that worker processes compute in some seconds."""
    alike: dict[tuple[tuple[str, ...], object], list[BlockTask]] = {}
    for job in jobs_of(made.plan.tasks, made.sources):
        alike.setdefault((job.group, _alike(made.sources[job.task.source], job.task)), []).append(job.task)
    ladders = [_Ladder(group, tasks) for (group, _), tasks in alike.items()]
    arrays = {id(array): array.nbytes for prepared in made.sources for array in prepared.arrays.values()}
    program = max(peak_memory() - sum(arrays.values()), 0)
    with shared(list(made.sources)) as file, _Measuring(file) as measuring:
        for ladder in ladders:
            while not ladder.taken and ladder.parts:
                measuring.climb(ladder)
        measuring.left = _LIMIT
        while (ends := _sums(ladders))[2] > _NARROW * ends[0]:
            most = min(measuring.left, PATIENCE / _STEP)
            able = [ladder for ladder in ladders if ladder.parts and ladder.seconds <= most]
            if not able:
                break
            measuring.climb(max(able, key=lambda ladder: (ladder.ends[2] - ladder.ends[0]) / ladder.seconds))
    low, seconds, high = ends
    worker = max((ladder.memory for ladder in ladders), default=0)
    unknown = sum(len(ladder.tasks) for ladder in ladders if not ladder.taken)
    return Estimate(seconds, low, high, sum(arrays.values()), worker, program, workers or available_cores(), unknown)


def _sums(ladders: list[_Ladder]) -> list[float]:
    return [sum(ladder.ends[end] for ladder in ladders) for end in range(3)]


def _alike(prepared: Prepared, task: BlockTask) -> tuple[object, ...]:
    """Return a key of blocks whose time depends on n alone."""
    units = sum(map(len, prepared.units.values())).bit_length()
    return type(prepared.protocol), task.metrics, units, tuple(found.text for found in task.cells.values())


class Measured(NamedTuple):
    """Cost of a part of a block: its share of the block's work, the processor's seconds, peak of memory in bytes.

    The seconds are those of one or two computations: what the first one takes beyond the second is loading.
    """

    share: float
    taken: tuple[float, ...]
    memory: int


class _Part(NamedTuple):
    """A part of a block to be measured: some contenders, and a share of the judgments."""

    task: BlockTask
    share: float


class _Ladder:
    """Parts of a block, each larger than the last one, and their times, from which times of similar blocks follow.

    Contenders of a block share work, so that all of them are measured together: fewer only where these take too long.

    Parameters
    ----------
    group : tuple of str
        Plugins whose code the blocks run.
    tasks : list of BlockTask
        Blocks of the same contenders.
    """

    def __init__(self, group: tuple[str, ...], tasks: list[BlockTask]) -> None:
        self.group, self.tasks = group, tasks
        n = max(task.key.n for task in tasks)
        largest = [task for task in tasks if task.key.n == n]
        # Each of the folds by time learns from more than the last one: the middle one takes the mean, about.
        self.largest = largest[len(largest) // 2]
        self.taken: dict[float, float] = {}
        self.ends, self.memory = (0.0, 0.0, 0.0), 0
        self._points, self._loading = 1, 0.0
        cells, count = self.largest.cells, len(self.largest.cells)
        # From all over the list: neighbors are alike.
        some = [list(cells)[:: count // size][:size] for size in sorted({math.isqrt(count), 1}, reverse=True)]
        fewer = [replace(self.largest, cells={cell: _one_point(cells[cell]) for cell in chosen}) for chosen in some]
        small = [_Part(task, _SHARES[-1]) for task in fewer if _points(task) < _points(self.largest)]
        self.parts = [*(_Part(self.largest, share) for share in _SHARES), *small]

    @property
    def seconds(self) -> float:
        """Seconds of the largest part so far, a lower bound for the next one."""
        return self.taken[max(self.taken)]

    def add(self, cost: Measured | LostProcess | None) -> None:
        """Add the cost of the first of the parts; None: its contenders failed, perhaps as the block is too small."""
        task, share = self.parts.pop(0)
        if isinstance(cost, LostProcess):
            return
        if cost is not None:
            share, seconds, self._points = cost.share, cost.taken[-1], _points(task)
            # A smaller part that took longer has loaded code, too.
            self._loading = max(self._loading, *(then - seconds for then in (cost.taken[0], *self.taken.values())))
            self.taken = {each: min(then, seconds) for each, then in self.taken.items()} | {share: seconds}
            self.memory = cost.memory
            self.ends = self._ends()
        self.parts = [_Part(task, min(_STEP * share, 1.0))] if share < _MOST else []

    def _ends(self) -> tuple[float, float, float]:
        """Return least, likely and most seconds of all blocks."""
        more = _points(self.largest) / self._points
        loading = self._loading * min(available_cores(), len(self.tasks))
        low, likely, high = loading, loading * math.sqrt(more), loading * more
        for task in self.tasks:
            spread = 1.0 if task.source == self.largest.source else _BORROWED
            ends = self._of_share(task.key.n / self.largest.key.n)
            # Contenders share draws and factorizations: time grows with their number as it does, or less.
            low += ends[0] * more ** (1 - 2 * _EXPONENT) / spread
            likely += ends[1] * more ** (1 - _EXPONENT)
            high += ends[2] * more * spread
        return low / _NOISE, likely, high * _NOISE

    def _of_share(self, share: float) -> tuple[float, float, float]:
        """Return least, likely and most seconds of the measured contenders, for a share of the largest block."""
        shares, seconds = (np.array(column) for column in zip(*sorted(self.taken.items()), strict=True))
        if shares[0] <= share <= shares[-1]:
            inside = math.exp(np.interp(math.log(share), np.log(shares), np.log(seconds)))
            return inside, inside, inside
        end = 0 if share < shares[0] else -1
        then, ratio = float(seconds[end]), share / float(shares[end])
        exponents, slope = (0.0, 0.5, 1.0 + _EXPONENT), 0.0
        if end and len(shares) > 1:
            grown = seconds[-1] / seconds[-2]
            exponent = min(max(math.log(grown) / math.log(shares[-1] / shares[-2]), 0.0), 2.0)
            exponents = (max(exponent - _EXPONENT, 0.0), exponent, exponent + _EXPONENT)
            slope = max(seconds[-1] - seconds[-2], 0.0) / (shares[-1] - shares[-2])
        powers = [then * ratio**exponent for exponent in exponents]
        # Costs that do not grow hide how others do: a line shows it, unless time grows faster.
        line = then + slope * (share - float(shares[-1])) if ratio > 1 else powers[1]
        return min(*powers, line), max(line, powers[1]), max(*powers, line)


def _points(task: BlockTask) -> int:
    return sum(len(found.points) for found in task.cells.values())


def _one_point(contender: Contender) -> Contender:
    return Contender.single(contender.points[len(contender.points) // 2])


class _Measuring(ExitStack):
    """Measurements in worker processes, one for each group of code.

    Parameters
    ----------
    file : Path
        Data that blocks are drawn from.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.left = 0.0
        self._file = file
        self._workers: dict[tuple[str, ...], Worker] = {}

    def climb(self, ladder: _Ladder) -> None:
        """Measure the next part of a block."""
        if ladder.group not in self._workers:
            self._workers[ladder.group] = self.enter_context(Worker())
            self._workers[ladder.group].call(float, timeout=START)
        task, share = ladder.parts[0]
        sent, first = SentTask.from_task(task), not ladder.taken
        cost = self._workers[ladder.group].call(measure, self._file, sent, share, first, timeout=PATIENCE)
        if isinstance(cost, LostProcess):
            self._workers.pop(ladder.group).end()
        self.left -= sum(cost.taken) if isinstance(cost, Measured) else PATIENCE
        ladder.add(cost)


def measure(file: Path, sent: SentTask, share: float, first: bool) -> Measured | None:
    """Compute about a share of a block, in a worker process; None if every contender failed.

    Before the first part comes a small block, or the part itself if it is quick: they load code, and what a process
    computes once. To receive the first block loads code too.
    """
    begin = time.process_time()
    prepared, task, _ = received(file, sent)
    part = prepared.protocol.part(prepared, task, share)
    small = prepared.protocol.smaller(prepared, task) if first else None
    blocks, taken = [block for block in (small, part[:2]) if block], list[float]()
    while blocks:
        begin = time.process_time() if taken else begin
        found = run_block(*blocks.pop(0))
        taken.append(max(time.process_time() - begin, _LEAST))
        if first and not small and len(taken) == 1 and taken[0] < _QUICK:
            blocks.append(part[:2])
    if all(cell.status == "error" for cell in found.cells):
        return None
    drawn = prepared.protocol.draw_bytes
    rest = drawn(prepared, task) - drawn(part.prepared, part.task)
    return Measured(part.share, tuple(taken), peak_memory() + rest)
