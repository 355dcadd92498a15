"""Time and memory of a planned run, estimated from small blocks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rankbench.core.runtime import available_cores
from rankbench.core.system import peak_memory
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.runner.blocks import run_block
from rankbench.runner.jobs import BlockJob, SentTask, jobs_of
from rankbench.runner.plan import Planned
from rankbench.runner.prepare import shared
from rankbench.runner.worker_pool import START, Worker, received

_LIMIT = 8.0
"""Seconds of one processor in which the blocks of a plan are measured."""

PATIENCE = 30.0
"""Seconds after which the measurement of a block is given up."""

_ENOUGH = 0.5
"""Seconds of a block that show how long larger ones take."""

_SMALLEST = 1 / 64
"""Share of a block that is measured first; the next one is four times as large."""

_EXPONENT = 0.25
"""Error of the exponent by which time grows with the share of a block, and with the number of contenders."""

_NOISE = 4 / 3
"""Factor between two measurements of one block."""

_WARM = 4.0
"""Factor by which the first block may take longer than the next one: it loads compiled code."""

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
    groups: dict[tuple[int, tuple[str, ...], tuple[str, ...]], list[BlockTask]] = {}
    for job in jobs_of(made.plan.tasks, made.sources):
        groups.setdefault((job.task.source, job.task.metrics, job.group), []).append(job.task)
    largest = {key: max(tasks, key=lambda task: (task.key.n, len(task.cells))) for key, tasks in groups.items()}
    arrays = {id(array): array.nbytes for prepared in made.sources for array in prepared.arrays.values()}
    program = max(peak_memory() - sum(arrays.values()), 0)
    low = seconds = high = 0.0
    worker, unknown = 0, 0
    curves: dict[tuple[object, ...], _Curve | None] = {}
    alike = {key: _alike(made.sources[key[0]], task, key[2]) for key, task in largest.items()}
    with shared(list(made.sources)) as file, _Measuring(file, len({*alike.values()})) as measuring:
        # Jobs of one group of code follow one another: a worker serves them all.
        for key in sorted(groups, key=lambda key: key[2]):
            borrowed = alike[key] in curves
            if not borrowed:
                curves[alike[key]] = measuring.curve(BlockJob(largest[key], key[2]))
            if (curve := curves[alike[key]]) is None:
                unknown += len(groups[key])
                continue
            worker = max(worker, curve.memory)
            spread = _BORROWED if borrowed else 1.0
            for task in groups[key]:
                ends = curve.seconds(task)
                low, seconds, high = low + ends[0] / spread, seconds + ends[1], high + ends[2] * spread
    return Estimate(seconds, low, high, sum(arrays.values()), worker, program, available_cores(), unknown)


def _alike(prepared: Prepared, task: BlockTask, group: tuple[str, ...]) -> tuple[object, ...]:
    """Return what blocks have in common that take about as long."""
    units = sum(map(len, prepared.units.values())).bit_length()
    texts = tuple(found.text for found in task.cells.values())
    return type(prepared.protocol), group, task.metrics, task.key.n, units, texts


class Measured(NamedTuple):
    """Cost of a part of a block: its share of the block's work, the processor's seconds, peak of memory in bytes."""

    share: float
    seconds: float
    memory: int


@dataclass(frozen=True)
class _Curve:
    """Seconds of a block by n and contenders, and bytes of the largest one.

    A part with `points` of the contenders' points, at n judgments, took `then`.

    The error of `then` is a factor of `_NOISE`, and it may be too large by a factor of `cold`; that of the exponent
    is `off`.
    """

    n: float
    points: int
    then: float
    exponent: float
    slope: float
    memory: int
    off: float
    cold: float

    def seconds(self, task: BlockTask) -> tuple[float, float, float]:
        """Return least, likely and most seconds of a block."""
        ratio, more = task.key.n / self.n, _points(task) / self.points
        exponents = (max(self.exponent - self.off, 0.0), self.exponent, self.exponent + self.off)
        powers = [self.then * ratio**power for power in exponents]
        # Costs that do not grow hide how others do: a line shows it, unless time grows faster.
        line = max(self.then + self.slope * (task.key.n - self.n), powers[1])
        # Contenders share draws and factorizations: time grows with their number as it does, or less.
        shared = more ** (1 - _EXPONENT) if more > 1 else more
        apart = max(more, 1.0) ** _EXPONENT
        low, likely, high = min(*powers, line), line / math.sqrt(self.cold), max(*powers, line)
        return shared * low / _NOISE / self.cold / apart, shared * likely, shared * high * _NOISE * apart


def _points(task: BlockTask) -> int:
    return sum(len(found.points) for found in task.cells.values())


class _Measuring:
    """Measurements in worker processes, one for each group of code, in `_LIMIT` seconds.

    Parameters
    ----------
    file : Path
        Data that blocks are drawn from.
    curves : int
        Number of curves to come.
    """

    def __init__(self, file: Path, curves: int) -> None:
        self._file, self._curves, self._left = file, curves, _LIMIT
        self._worker: tuple[tuple[str, ...], Worker] | None = None

    def __enter__(self) -> _Measuring:
        return self

    def __exit__(self, *error: object) -> None:
        if self._worker is not None:
            self._worker[1].end()
            self._worker = None

    def curve(self, job: BlockJob) -> _Curve | None:
        """Measure parts of a block, each larger than the last one, while time is left; None: there is no estimate."""
        found = list[_Part]()
        least = self._left * (1 - 1 / self._curves)
        self._curves -= 1
        for task, share, warm in _levels(job.task):
            points = _points(task)
            if found:
                last = found[-1]
                if last.warm and share <= last.cost.share:
                    continue
                growth = max(share / last.cost.share, 1.0) * points / last.points
                known = last.warm and len(found) > 2 and last.cost.seconds >= _ENOUGH
                # The first part loads code. Whatever was used before, all contenders get a second.
                predicted = last.cost.seconds * growth / (_WARM if len(found) == 1 else 1.0)
                if known or self._left - predicted < (least if last.warm else min(least, self._left - 1.0)):
                    break
            worker = self._worker_of(job.group)
            cost = worker.call(measure, self._file, SentTask.from_task(task), share, timeout=PATIENCE)
            if cost is None:
                continue  # some contenders take no block as small as that
            if not isinstance(cost, Measured):
                self.__exit__()
                break
            found.append(_Part(points, warm, cost))
            self._left -= cost.seconds
        return _fitted(job.task, found) if found else None

    def _worker_of(self, group: tuple[str, ...]) -> Worker:
        """Return the worker of a group of code; one that was lost, or that served another group, has a successor."""
        if self._worker is None or self._worker[0] != group:
            self.__exit__()
            self._worker = group, Worker()
            self._worker[1].call(float, timeout=START)
        return self._worker[1]


class _Part(NamedTuple):
    """A part of a block that was measured: points of its contenders, whether all code was loaded before, its cost."""

    points: int
    warm: bool
    cost: Measured


def _levels(task: BlockTask) -> Iterator[tuple[BlockTask, float, bool]]:
    """Yield parts of a block, from small to large: some contenders with one point each, all of them, more judgments."""
    count = len(task.cells)
    for some in sorted({1, math.isqrt(count), count}):
        # From all over the list: neighbors are alike.
        chosen = list(task.cells)[:: count // some][:some]
        yield replace(task, cells={cell: _one_point(task.cells[cell]) for cell in chosen}), _SMALLEST, False
    share = _SMALLEST
    while share <= 1:
        yield task, share, True
        share *= 4


def _one_point(contender: Contender) -> Contender:
    return Contender.single(contender.points[len(contender.points) // 2])


def _fitted(task: BlockTask, found: list[_Part]) -> _Curve:
    """Return the curve through the last two parts; from one alone, time may grow as n or not at all."""
    last = found[-1]
    exponent, off, slope, whole = 0.5, 0.5, 0.0, task.key.n
    if len(found) > 1 and (before := found[-2]).points == last.points and before.cost.share < last.cost.share:
        grown = math.log(last.cost.seconds / before.cost.seconds)
        off = _EXPONENT
        exponent = min(max(grown / math.log(last.cost.share / before.cost.share), 0.0), 2.0)
        more = (last.cost.share - before.cost.share) * whole
        slope = max(last.cost.seconds - before.cost.seconds, 0.0) / more
    if last.cost.share == 1:
        off = 0.0
    cold = 1.0 if last.warm else _WARM
    then, memory = last.cost.seconds, last.cost.memory
    return _Curve(whole * last.cost.share, last.points, then, exponent, slope, memory, off, cold)


def measure(file: Path, sent: SentTask, share: float) -> Measured | None:
    """Compute about a share of a block, in a worker process; None if every contender failed."""
    prepared, task, _ = received(file, sent)
    part = prepared.protocol.part(prepared, task, share)
    begin = time.process_time()
    block = run_block(part.prepared, part.task)
    taken = max(time.process_time() - begin, 1e-6)
    if all(cell.status == "error" for cell in block.cells):
        return None
    drawn = prepared.protocol.draw_bytes
    rest = drawn(prepared, task) - drawn(part.prepared, part.task)
    return Measured(part.share, taken, peak_memory() + rest)
