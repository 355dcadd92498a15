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
from rankbench.runner.blocks import SentTask, jobs_of, run_block
from rankbench.runner.plan import Planned
from rankbench.runner.prepare import shared
from rankbench.runner.worker_pool import START, Worker, received

_LIMIT = 12.0
"""Seconds of one processor in which the blocks of a plan are measured."""

PATIENCE = 30.0
"""Seconds after which the measurement of a block is given up."""

_LEAST = 0.001
"""Seconds that a part takes at least, beside calls."""

_COLD = 2.0
"""Factor between the expected seconds of a part and those that need a second look."""

_NARROW = 3.0
"""Factor between most and least seconds of a run that needs no more measurements."""

_SMALLEST = 1 / 64
"""Share of a block that is measured first; the next one is four times as large."""

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
        Number of workers, one for each processor.
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


def estimate(made: Planned) -> Estimate:
    """Estimate the cost of a planned run, from parts of blocks that worker processes compute in some seconds."""
    alike: dict[tuple[tuple[str, ...], object], list[BlockTask]] = {}
    for job in jobs_of(made.plan.tasks, made.sources):
        alike.setdefault((job.group, _alike(made.sources[job.task.source], job.task)), []).append(job.task)
    ladders = [_Ladder(group, tasks) for (group, _), tasks in alike.items()]
    arrays = {id(array): array.nbytes for prepared in made.sources for array in prepared.arrays.values()}
    program = max(peak_memory() - sum(arrays.values()), 0)
    with shared(list(made.sources)) as file, _Measuring(file) as measuring:
        for ladder in ladders:
            while not ladder.taken and (part := ladder.next_part(math.inf)):
                measuring.climb(ladder, part)
        while (ends := _sums(ladders))[2] > _NARROW * ends[0]:
            parts = {ladder: part for ladder in ladders if (part := ladder.next_part(measuring.left))}
            if not parts:
                break
            ladder = max(
                parts, key=lambda each: (each.ends[2] - each.ends[0]) / max(each.expected(parts[each]), _LEAST)
            )
            measuring.climb(ladder, parts[ladder])
    low, seconds, high = ends
    worker = max((ladder.memory for ladder in ladders), default=0)
    unknown = sum(len(ladder.tasks) for ladder in ladders if not ladder.taken)
    return Estimate(seconds, low, high, sum(arrays.values()), worker, program, available_cores(), unknown)


def _sums(ladders: list[_Ladder]) -> list[float]:
    return [sum(ladder.ends[end] for ladder in ladders) for end in range(3)]


def _alike(prepared: Prepared, task: BlockTask) -> tuple[object, ...]:
    """Return what blocks have in common whose time their n tells."""
    units = sum(map(len, prepared.units.values())).bit_length()
    return type(prepared.protocol), task.metrics, units, tuple(found.text for found in task.cells.values())


class Measured(NamedTuple):
    """Cost of a part of a block: its share of the block's work, the processor's seconds, peak of memory in bytes.

    The seconds are those of one or two computations: the first one may load code.
    """

    share: float
    taken: tuple[float, ...]
    memory: int


class _Part(NamedTuple):
    """A part of a block to be measured: whose contenders, what share of the judgments."""

    rung: int
    share: float


class _Ladder:
    """Parts of a block, each larger than the last one, and what they took: they tell the time of blocks like it.

    Parameters
    ----------
    group : tuple of str
        Plugins whose code the blocks run.
    tasks : list of BlockTask
        Blocks of the same contenders.
    """

    def __init__(self, group: tuple[str, ...], tasks: list[BlockTask]) -> None:
        self.group, self.tasks = group, tasks
        self.largest = max(tasks, key=lambda task: task.key.n)
        self.taken: dict[float, float] = {}
        self.ends, self.memory, self.lost = (0.0, 0.0, 0.0), 0, False
        self._last, self._share, self._points, self._loading = _Part(-1, _SMALLEST), _SMALLEST, 1, 0.0
        cells, count = self.largest.cells, len(self.largest.cells)
        # From all over the list: neighbors are alike.
        some = [list(cells)[:: count // size][:size] for size in sorted({1, math.isqrt(count), count})]
        small = [replace(self.largest, cells={cell: _one_point(cells[cell]) for cell in chosen}) for chosen in some]
        self.rungs = [*(task for task in small if _points(task) < _points(self.largest)), self.largest]

    def next_part(self, left: float) -> _Part | None:
        """Return the next part that some seconds are likely to be enough for: of more contenders, or else larger."""
        if self.lost:
            return None
        rung, asked = self._last
        wider = _Part(rung + 1, asked)
        if wider.rung < len(self.rungs) and self.expected(wider) + self._loading <= left:
            return wider
        share = max(asked, self._share)
        affordable = share * left / max(self.expected(self._last), _LEAST)
        larger = _Part(rung, min(4 * share, affordable, 1.0))
        return larger if larger.share > 1.5 * share else None

    def expected(self, part: _Part) -> float:
        """Return likely seconds of a part, no less than in proportion to judgments; 0: they are not known."""
        growth = (_points(self.rungs[part.rung]) / self._points) ** (1 - _EXPONENT)
        return float(self.taken.get(self._share, 0.0) * growth * max(part.share / self._share, 1.0))

    def add(self, part: _Part, cost: Measured | None) -> None:
        """Take the cost of a part; None: its contenders failed, and some take no block as small as that."""
        wider, self._last = part.rung > self._last.rung, part
        if cost is None:
            return
        seconds, self._share, self._points = cost.taken[-1], cost.share, _points(self.rungs[part.rung])
        if wider:
            # Time grows with the judgments as that of fewer contenders did.
            growth = seconds / self.taken[self._share] if self._share in self.taken else 0.0
            self.taken = {share: growth * then for share, then in self.taken.items() if growth}
        self.taken[self._share] = seconds
        self._loading += max(cost.taken[0] - seconds, 0.0)
        self.memory = max(self.memory, cost.memory)
        self.ends = self._ends()

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
        exponents, slope = (0.0, 0.5, 1.0), 0.0
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
    """Measurements in worker processes, one for each group of code, in `_LIMIT` seconds.

    Parameters
    ----------
    file : Path
        Data that blocks are drawn from.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.left = _LIMIT
        self._file = file
        self._workers: dict[tuple[str, ...], Worker] = {}

    def climb(self, ladder: _Ladder, part: _Part) -> None:
        """Measure a part of a block."""
        if ladder.group not in self._workers:
            self._workers[ladder.group] = self.enter_context(Worker())
            self._workers[ladder.group].call(float, timeout=START)
        sent = SentTask.from_task(ladder.rungs[part.rung])
        expected = ladder.expected(part)
        cost = self._workers[ladder.group].call(measure, self._file, sent, part.share, expected, timeout=PATIENCE)
        if cost is None or isinstance(cost, Measured):
            ladder.add(part, cost)
            self.left -= sum(cost.taken) if cost else 0.0
        else:
            ladder.lost = True
            self._workers.pop(ladder.group).end()


def measure(file: Path, sent: SentTask, share: float, expected: float) -> Measured | None:
    """Compute about a share of a block, in a worker process; None if every contender failed.

    A part that takes much longer than expected is computed again: it may have loaded code.
    """
    prepared, task, _ = received(file, sent)
    part = prepared.protocol.part(prepared, task, share)
    taken = list[float]()
    while len(taken) < 1 or (len(taken) < 2 and taken[0] > _COLD * expected):
        begin = time.process_time()
        block = run_block(part.prepared, part.task)
        taken.append(max(time.process_time() - begin, _LEAST))
        if all(cell.status == "error" for cell in block.cells):
            return None
    drawn = prepared.protocol.draw_bytes
    rest = drawn(prepared, task) - drawn(part.prepared, part.task)
    return Measured(part.share, tuple(taken), peak_memory() + rest)
