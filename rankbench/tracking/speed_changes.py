"""Changes of speed come from pytest-benchmark files and timings, changes of memory from timings.

Timings of two jobs differ by far more than those of one: other neighbors, another clock. So no time is compared with
one of another job: each is divided by the reference's of its own job first. Jobs differ in such ratios too, by
more than their rounds show: one file a side is described, and of several a side the job is the unit. Two jobs do
not tell how far jobs differ where nothing changed, so that none of their changes is tested. Memory depends on libraries
and allocators, and is tested in one job alone, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import count_text, listed
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.suite import matches
from rankbench.stats.contrasts import FEWEST
from rankbench.tracking.comparison import Change, ChangeEstimate, Family, Margin, untested
from rankbench.tracking.timings import TimedCell, Timings
from rankbench.tracking.turns import launch_log_ratios, share_of_look

LARGER_BY = 0.1
"""Share of base by which peak memory must grow to matter."""

LARGER_BYTES = 16 << 20
"""Bytes by which it must grow to matter: allocators take memory by the piece."""


def memory_margin(base: float) -> float:
    """Return the growth of a peak, in bytes, that matters: a tenth of base, and 16 MiB at least."""
    return max(LARGER_BY * base, LARGER_BYTES)


def timing_changes(base: Timings, head: Timings, family: Family) -> tuple[list[Change], list[str]]:
    """Compare the speed of contenders, and the memory that they take at their peak.

    Parameters
    ----------
    base, head : Timings
    family : Family
        Its margin is a share of a time, its gate names cells, its level is that of all looks, speed and memory.

    Returns
    -------
    changes : list of Change
        Of logarithms of times, above 0 where head is slower; then of bytes, above 0 where head takes more. No memory
        if the system does not report it.
    notes : list of str

    Raises
    ------
    InputError
        Two sides of a job that were not written together.
    """
    gone = [
        untested(f"{cell.experiment}, n = {cell.n:,}: it is gone", cell.contender, "speed")
        for cell in base.seconds
        if cell not in head.seconds and family.has_cell(cell.experiment, cell.contender)
    ]
    notes = [f"new: {cell} is timed" for cell in head.seconds if cell not in base.seconds]
    notes += [f"not timed: {cell}: {why}" for cell, why in sorted({**base.facts.failed, **head.facts.failed}.items())]
    together = base.facts.job == head.facts.job
    if together and base.reference.shape != head.reference.shape:
        raise InputError(
            f"one side of job {base.facts.job} has {base.launches} launches and the other one {head.launches}: they "
            "were not written together; time again"
        )
    if not together:
        notes.append("they are of two jobs: two jobs do not show how far jobs differ, so rankbench tests no time")
        for what, was, now in (
            ("the class of processor", base.facts.machine, head.facts.machine),
            ("the reference that times are divided by", base.facts.reference, head.facts.reference),
        ):
            if was != now:
                notes.append(f"changed: {what} was {was}, is {now}")
    cells = [cell for cell in head.seconds if cell in base.seconds and family.has_cell(cell.experiment, cell.contender)]
    share = share_of_look(base.facts.declared, base.launches, last=base.facts.last)
    estimate = _in_turns if together else _by_reference
    found = [estimate(base, head, cell, family.margin) for cell in cells]
    found += [larger for cell in cells if (larger := _larger(base, head, cell, together)) is not None]
    return [*family.judged([one.with_interval(share) for one in found], share), *gone], notes


def _in_turns(base: Timings, head: Timings, cell: TimedCell, margin: Margin) -> ChangeEstimate:
    """Return the change over launches in which both were timed in turns."""
    ratios = launch_log_ratios(head.seconds[cell], base.seconds[cell])
    before = float(np.median(base.seconds[cell].min(axis=-1)))
    rests = f"{count_text(len(ratios), 'launch')} of {count_text(head.rounds, 'round')}, in turns"
    where, se = f"{cell.experiment}, n = {cell.n:,}, seconds", math.sqrt(variance_of_mean(ratios))
    return _slower(where, cell.contender, before, float(ratios.mean()), rests, margin, se, len(ratios) - 1.0)


def _by_reference(base: Timings, head: Timings, cell: TimedCell, margin: Margin) -> ChangeEstimate:
    """Return the change of ratios to the reference, of two jobs: without a standard error, as jobs differ too."""
    before, after = (launch_log_ratios(side.seconds[cell], side.reference) for side in (base, head))
    rests = f"{len(before)} and {len(after)} launches of two jobs, as ratios to the reference"
    where, was = f"{cell.experiment}, n = {cell.n:,}, ratio to the reference", float(np.exp(before.mean()))
    return _slower(where, cell.contender, was, float(after.mean() - before.mean()), rests, margin)


def _slower(
    where: str, what: str, base: float, change: float, rests: str, margin: Margin, se: float = math.nan, df: float = 1.0
) -> ChangeEstimate:
    """Return a change of a logarithm; head is base times its exponential, not the median of head."""
    told = Change(where, what, base, base * math.exp(change), change, "described", rests, about="speed")
    return ChangeEstimate(told, se, 1.0, (df, df), math.log1p(margin.size))


def _larger(base: Timings, head: Timings, cell: TimedCell, together: bool) -> ChangeEstimate | None:
    """Return the change of the bytes at the peak, paired by launch where both were timed together."""
    before, after = (side.memory[cell] for side in (base, head))
    if together:
        known = np.isfinite(before) & np.isfinite(after)
        before, after = before[known], after[known]
        grown, rests = after - before, f"{count_text(len(before), 'launch')} of both"
        se = math.sqrt(variance_of_mean(grown))
    else:
        before, after = before[np.isfinite(before)], after[np.isfinite(after)]
        rests, se = f"{len(before)} and {len(after)} launches of two jobs", math.nan
    if not len(before) or not len(after):
        return None
    was, now = float(before.mean()), float(after.mean())
    where = f"{cell.experiment}, n = {cell.n:,}, peak memory"
    told = Change(where, cell.contender, was, now, now - was, "described", rests, about="memory")
    df = max(len(before) - 1.0, 1.0)
    return ChangeEstimate(told, se, 1.0, (df, df), memory_margin(was))


def variance_of_mean(values: NDArray[np.float64]) -> float:
    """Return the variance of a mean over launches, or jobs; nan with fewer than four."""
    return float(values.var(ddof=1) / len(values)) if len(values) >= FEWEST else math.nan


class Job(NamedTuple):
    """The benchmarks of a job: its processor, and the times of each benchmark in seconds."""

    machine: str
    rounds: dict[str, NDArray[np.float64]]

    def reference(self, name: str, path: Path) -> str:
        """Return the full name of the benchmark that divides others.

        Raises
        ------
        InputError
            There is none of that name, or there are several.
        """
        named = [one for one in self.rounds if matches(one, [name, f"*::{name}"])]
        found = [name] if name in self.rounds else named
        if len(found) != 1:
            what = f"{len(found)} benchmarks are" if found else "no benchmark is"
            raise InputError(f"{path}: {what} named {name!r}; it has {_listed(found or self.rounds)}")
        return found[0]

    def log_times(self, name: str, reference: str) -> float:
        """Return the logarithm of a benchmark's median, or of its ratio to that of the reference."""
        below = math.log(float(np.median(self.rounds[reference]))) if reference else 0.0
        return math.log(float(np.median(self.rounds[name]))) - below


def benchmark_files(path: Path) -> list[Path]:
    """Return the JSON files of a side: the path itself, or a folder's; empty without any."""
    if path.is_dir():
        return sorted(one for one in path.glob("*.json") if one.is_file())
    return [path] if path.suffix == ".json" and path.is_file() else []


def speed_changes(base: Path, head: Path, reference: str, family: Family) -> tuple[list[Change], list[str]]:
    """Compare the benchmarks of two sides.

    Parameters
    ----------
    base, head : Path
        JSON of pytest-benchmark, or a folder with such a file of each job.
    reference : str
        Name of the benchmark that all others are divided by; empty: differences are described only.
    family : Family
        Its margin is a share of a ratio, its gate names benchmarks: in full, or what stands after the file's name.

    Returns
    -------
    changes : list of Change
        Of logarithms of ratios, means over jobs: above 0 where head is slower. With fewer than four jobs on a side,
        with jobs of several classes of processor, or without a reference they are described.
    notes : list of str

    Raises
    ------
    InputError
        A file that pytest-benchmark did not write, or without the reference.
    SpecError
        A gate that fits no benchmark of either side.
    """
    sides = [[read_job(path) for path in benchmark_files(side)] for side in (base, head)]
    by = [job.reference(reference, side) if reference else "" for side, jobs in zip((base, head), sides, strict=True)
          for job in jobs]  # fmt: skip
    if len(set(by)) > 1:
        raise InputError(f"{reference!r} names other benchmarks in other jobs: {_listed(set(by))}; name one in full")
    names = [set.intersection(*(set(job.rounds) for job in jobs)) - set(by) for jobs in sides]
    of_base, of_head = ({name for job in jobs for name in job.rounds} - set(by) for jobs in sides)
    every, compared = of_base | of_head, names[0] & names[1]
    for pattern in family.gate:
        if not any(family._replace(gate=[pattern]).has_benchmark(name) for name in every):
            raise SpecError(f"no benchmark fits the gate {pattern!r}; there are {_listed(every)}")
    notes = [f"new: benchmark {name}" for name in sorted(of_head - of_base)]
    machines = list(dict.fromkeys(job.machine for jobs in sides for job in jobs))
    jobs = min(map(len, sides))
    if len(machines) > 1:
        notes.append(f"changed: the processors are {listed(machines)}: rankbench tests no ratio")
    if not reference:
        notes.append(
            f"seconds of two jobs are not compared: add {option('reference', 'NAME')}, one of "
            f"{_listed(compared or every)}"
        )
    if jobs < FEWEST:
        notes.append(
            f"jobs vary more than rounds within a job: rankbench tests ratios only with {FEWEST} jobs or more on each "
            f"side, not with {jobs}. Give folders with a JSON file of each job"
        )
    judged = reference and len(machines) == 1
    unit = f"ratio to {reference}" if reference else "seconds, of two jobs"
    rests = " and ".join(count_text(len(side), "job") for side in sides)
    found = []
    for name in sorted(compared):
        if not family.has_benchmark(name):
            continue
        was, now = (np.array([job.log_times(name, by[0]) for job in side]) for side in sides)
        variances = [variance_of_mean(side) if judged else math.nan for side in (was, now)]
        welch = sum(v**2 / (len(side) - 1) for v, side in zip(variances, (was, now), strict=True) if v > 0)
        df = sum(variances) ** 2 / welch if welch > 0 else 1.0
        change = float(now.mean() - was.mean())
        was_mean, se = float(np.exp(was.mean())), math.sqrt(sum(variances))
        found.append(_slower(unit, name, was_mean, change, rests, family.margin, se, df).with_interval())
    gone = [
        untested(f"{unit}: {'some jobs do not have it' if name in of_head else 'it is gone'}", name, "speed")
        for name in sorted(of_base - compared)
        if family.has_benchmark(name)
    ]
    return [*family.judged(found), *gone], notes


def _listed(names: Iterable[str]) -> str:
    """List the names of tests without the names of their files."""
    return listed(sorted(name.partition("::")[2] or name for name in names))


def read_job(path: Path) -> Job:
    """Read JSON of pytest-benchmark.

    Raises
    ------
    InputError
        It is none.
    """
    try:
        content: Any = json.loads(path.read_bytes())
        rounds = {}
        for benchmark in content["benchmarks"]:
            stats = benchmark["stats"]
            times = np.asarray(stats.get("data") or [stats["median"]], dtype=np.float64)
            if times.ndim != 1 or not (np.isfinite(times) & (times > 0)).all():
                raise ValueError(f"benchmark {benchmark['fullname']!r} has times that are none")
            rounds[str(benchmark["fullname"])] = times
        machine = str(content["machine_info"]["cpu"].get("brand_raw", content["machine_info"]["machine"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: it is no JSON of pytest-benchmark ({type(error).__name__}: {error})") from error
    return Job(machine, rounds)
