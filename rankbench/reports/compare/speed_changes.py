"""Changes between two files of pytest-benchmark, as ratios to a reference that was timed in the same job.

Timings of two jobs differ by far more than those of one: other neighbors, another clock. So no time is compared with
one of another job: each is divided by the reference's of its own job first.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.reports.compare.comparison import Change, ChangeVerdict
from rankbench.stats.holm import holm

__all__ = ["Job", "is_benchmark", "read_job", "speed_changes"]

RESAMPLES = 2000

FEWEST = 5
"""Rounds of a benchmark, below which no interval is given."""


class Job(NamedTuple):
    """The benchmarks of a job: its processor, and the times of each benchmark in seconds."""

    machine: str
    rounds: dict[str, NDArray[np.float64]]


def is_benchmark(path: Path) -> bool:
    """Return whether a path is that of a JSON file."""
    return path.suffix == ".json" and path.is_file()


def speed_changes(
    base: Path, head: Path, reference: str, slower_by: float, alpha: float
) -> tuple[list[Change], list[str]]:
    """Compare the benchmarks of two jobs.

    Parameters
    ----------
    base, head : Path
        JSON of pytest-benchmark, written with ``--benchmark-save-data``, which keeps every round.
    reference : str
        Name of the benchmark that all others are divided by; empty: differences are described only.
    slower_by : float
        Share by which a ratio must have grown to matter, as .05.
    alpha : float
        Of the family.

    Returns
    -------
    changes : list of Change
        Of logarithms of ratios: above 0 where head is slower.
    notes : list of str

    Raises
    ------
    InputError
        A file that pytest-benchmark did not write, or without the reference.
    """
    before, after = read_job(base), read_job(head)
    notes = [f"gone: benchmark {name}" for name in sorted(before.rounds.keys() - after.rounds.keys())]
    notes += [f"new: benchmark {name}" for name in sorted(after.rounds.keys() - before.rounds.keys())]
    same = before.machine == after.machine
    if not same:
        notes.append(f"changed: the processor was {before.machine}, is {after.machine}: no ratio is called real")
    if reference:
        notes.append("intervals are of the rounds of each job: jobs may differ by more, even in ratios to a reference")
    for job, path in ((before, base), (after, head)):
        if reference and reference not in job.rounds:
            raise InputError(f"{path}: there is no benchmark {reference!r}, which the others are divided by")
    changes: list[Change] = []
    p_worse, p_better = [], []
    for number, name in enumerate(sorted(before.rounds.keys() & after.rounds.keys())):
        if name == reference:
            continue
        sides = [(job.rounds[name], job.rounds[reference] if reference else None) for job in (before, after)]
        ratios = [float(np.median(one)) / (1.0 if other is None else float(np.median(other))) for one, other in sides]
        was, now = ratios
        change = math.log(now / was)
        rounds = [len(times) for side in sides for times in side if times is not None]
        unit = f"ratio to {reference}" if reference else "seconds, of two jobs"
        if not reference or not same or min(rounds) < FEWEST:
            rests = f"{min(rounds)} rounds"
            changes.append(Change(unit, name, was, now, change, "described", rests, about="speed"))
            p_worse.append(math.nan)
            p_better.append(math.nan)
            continue
        resampled = _resampled(sides, number)
        se = float(resampled.std(ddof=1))
        lower, upper = (float(edge) for edge in np.quantile(resampled, [0.025, 0.975]))
        rests = f"{min(rounds)} rounds or more"
        told = Change(unit, name, was, now, change, "not shown", rests, lower=lower, upper=upper, about="speed")
        changes.append(told)
        p_worse.append(_p(change - math.log1p(slower_by), se))
        p_better.append(_p(-change - math.log1p(slower_by), se))
    return [
        _judged(change, float(w), float(b), alpha)
        for change, w, b in zip(changes, holm(np.array(p_worse)), holm(np.array(p_better)), strict=True)
    ], notes


def _judged(change: Change, worse: float, better: float, alpha: float) -> Change:
    if math.isnan(worse):
        return change
    verdict: ChangeVerdict = "worse" if worse <= alpha else "better" if better <= alpha else "not shown"
    return replace(change, p=worse if change.change > 0 else better, verdict=verdict)


def _p(beyond: float, se: float) -> float:
    if se == 0:
        return 0.0 if beyond > 0 else 1.0
    return 0.5 * math.erfc(beyond / se / math.sqrt(2))


def _resampled(sides: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]], number: int) -> NDArray[np.float64]:
    """Return bootstrapped changes of the log ratio of medians, rounds resampled by themselves."""
    rng = np.random.default_rng([20130501, number])
    found = np.zeros(RESAMPLES)
    for sign, side in zip((-1.0, 1.0), sides, strict=True):
        for power, times in zip((1.0, -1.0), side, strict=True):
            if times is not None:
                picked = rng.integers(len(times), size=(RESAMPLES, len(times)))
                found += sign * power * np.log(np.median(times[picked], axis=1))
    return found


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
