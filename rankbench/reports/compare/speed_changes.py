"""Changes between files of pytest-benchmark, as ratios to a reference that was timed in the same job.

Timings of two jobs differ by far more than those of one: other neighbors, another clock. So no time is compared with
one of another job: each is divided by the reference's of its own job first. Jobs differ in such ratios too, by
more than their rounds show: one file a side is described, and of several a side the job is the unit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, SpecError
from rankbench.kinds.figure import matches
from rankbench.reports.compare.comparison import Change, untested
from rankbench.reports.compare.timing_changes import TimeEstimate, judged_times, variance_of_mean
from rankbench.stats.contrasts import FEWEST
from rankbench.text import listed

__all__ = ["Job", "benchmark_files", "read_job", "speed_changes"]


class Job(NamedTuple):
    """The benchmarks of a job: its processor, and the times of each benchmark in seconds."""

    machine: str
    rounds: dict[str, NDArray[np.float64]]

    def reference(self, name: str, path: Path) -> str:
        """Return the full name of the benchmark that others are divided by.

        Raises
        ------
        InputError
            There is none of that name, or there are several.
        """
        found = [one for one in self.rounds if one == name] or [one for one in self.rounds if _named(one, [name])]
        if len(found) != 1:
            what = f"{len(found)} benchmarks are" if found else "no benchmark is"
            raise InputError(f"{path}: {what} named {name!r}; it has {_listed(found or self.rounds)}")
        return found[0]

    def log_times(self, name: str, reference: str) -> float:
        """Return the logarithm of a benchmark's median, or of its ratio to that of the reference."""
        below = math.log(float(np.median(self.rounds[reference]))) if reference else 0.0
        return math.log(float(np.median(self.rounds[name]))) - below


def benchmark_files(path: Path) -> list[Path]:
    """Return the JSON files of a side: the path itself, or those of a folder; empty where there are none."""
    if path.is_dir():
        return sorted(one for one in path.glob("*.json") if one.is_file())
    return [path] if path.suffix == ".json" and path.is_file() else []


def speed_changes(
    base: Path, head: Path, reference: str, slower_by: float, gate: Sequence[str], alpha: float
) -> tuple[list[Change], list[str]]:
    """Compare the benchmarks of two sides.

    Parameters
    ----------
    base, head : Path
        JSON of pytest-benchmark, or a folder with such a file of each job.
    reference : str
        Name of the benchmark that all others are divided by; empty: differences are described only.
    slower_by : float
        Share by which a ratio must have grown to matter, as .05.
    gate : sequence of str
        Patterns of what is compared: full names, or what stands after the file's; empty: everything.
    alpha : float
        Of the family.

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
    for pattern in gate:
        if not any(_named(name, [pattern]) for name in every):
            raise SpecError(f"no benchmark fits the gate {pattern!r}; there are {_listed(every)}")
    notes = [f"new: benchmark {name}" for name in sorted(of_head - of_base)]
    machines = list(dict.fromkeys(job.machine for jobs in sides for job in jobs))
    jobs = min(map(len, sides))
    if len(machines) > 1:
        notes.append(f"changed: the processors are {listed(machines)}: no ratio is called real")
    if not reference:
        notes.append("seconds of other jobs are not compared: name a benchmark that all are divided by, --reference")
    if jobs < FEWEST:
        notes.append(
            f"jobs differ by more than their rounds show: no ratio is called real with fewer than {FEWEST} jobs on a "
            f"side, and here is {jobs}; give folders with a JSON file of each job"
        )
    judged = reference and len(machines) == 1
    unit = f"ratio to {reference}" if reference else "seconds, of two jobs"
    rests = " and ".join(f"{len(side)} job{'s' if len(side) > 1 else ''}" for side in sides)
    found = []
    for name in sorted(compared):
        if gate and not _named(name, gate):
            continue
        was, now = (np.array([job.log_times(name, by[0]) for job in side]) for side in sides)
        variances = [variance_of_mean(side) if judged else math.nan for side in (was, now)]
        welch = sum(v**2 / (len(side) - 1) for v, side in zip(variances, (was, now), strict=True) if v > 0)
        df = sum(variances) ** 2 / welch if welch > 0 else 1.0
        change = float(now.mean() - was.mean())
        found.append(TimeEstimate(unit, name, float(np.exp(was.mean())), change, math.sqrt(sum(variances)), df, rests))
    gone = [
        untested(f"{unit}: {'some jobs do not have it' if name in of_head else 'it is gone'}", name, "speed")
        for name in sorted(of_base - compared)
        if not gate or _named(name, gate)
    ]
    return [*judged_times(found, slower_by, alpha), *gone], notes


def _listed(names: Iterable[str]) -> str:
    """Return names without those of their files, which say little."""
    return listed(sorted(name.partition("::")[2] or name for name in names))


def _named(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a benchmark is meant: by its full name, or by what stands after the name of its file."""
    return matches(name, [*patterns, *(f"*::{pattern}" for pattern in patterns)])


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
