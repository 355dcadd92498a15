"""What `rankbench run --log` costs on a long log: seconds, processor time, and the memory of all its processes.

    python tests/benchmarks/run_log.py [--votes N] [--workers N] [--reps N] [--folder DIR]

The log is that of `long_log.py`. The suite is own-log with the methods `METHODS` alone: their grids, all repetitions
and resamples, and every experiment whose baseline is among them. Memory is the sum of the proportional sets (PSS) of
the command's process and of all its descendants, so that what processes share counts once; it is looked at five times
a second. Exits with 1 if the run fails, or costs more than `LIMITS` says of a log of that length.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import polars as pl
from long_log import long_log

METHODS = ("win rate", "Bradley-Terry", "mean log-odds", "Borda")
"""Labels of own-log's contenders that are run."""

LIMITS = {1_000_000: (300, 1000), 10_000_000: (900, 2000)}
"""Seconds, and MB at most, by number of votes."""

INTERVAL = 0.2


@dataclass
class RunCost:
    """What a command took.

    Attributes
    ----------
    seconds, processor : float
        By the clock; of all processors.
    peak : float
        MB of all processes at once, at most.
    at : float
        Seconds after the start when that was.
    shares : list of (float, float, float)
        Of each process at that time: MB, and how many of these are its own memory, and of files.
    code : int
        The command's exit code.
    """

    seconds: float = 0.0
    processor: float = 0.0
    peak: float = 0.0
    at: float = 0.0
    shares: list[tuple[float, float, float]] = field(default_factory=list)
    code: int = 0


def chosen_suite(text: str) -> str:
    """Return own-log's TOML with the contenders `METHODS` alone; experiments without their baseline are left out."""
    head, *experiments = text.split("[[experiments]]")
    kept = [head]
    for experiment in experiments:
        baseline = re.search(r'^baseline = "(.*)"$', experiment, re.MULTILINE)
        if not baseline or baseline[1] in METHODS:
            others = rf'^  {{ label = "(?!({"|".join(METHODS)})").*\n'
            kept.append(re.sub(others, "", experiment, flags=re.MULTILINE))
    return "[[experiments]]".join(kept)


def measure_command(command: list[str]) -> RunCost:
    """Run a command, and look at the memory of its processes until it ends."""
    cost, begin = RunCost(), time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = subprocess.Popen(command)
    while running.poll() is None:
        shares = [share for pid in _family(running.pid) if (share := _share(pid))]
        if sum(of[0] for of in shares) > cost.peak:
            cost.peak, cost.at, cost.shares = sum(of[0] for of in shares), time.perf_counter() - begin, shares
        time.sleep(INTERVAL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost.seconds, cost.code = time.perf_counter() - begin, running.returncode
    cost.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cost


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return found
    for child in children:
        found += _family(child)
    return found


def _share(pid: int) -> tuple[float, float, float] | None:
    """Return the proportional set of a process in MB: all, its own memory, files; None if it has ended."""
    try:
        said = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    kb = {name: int(value) for name, value in re.findall(r"^(Pss\w*):\s+(\d+) kB$", said, re.MULTILINE)}
    return (kb["Pss"] / 1000, kb["Pss_Anon"] / 1000, kb["Pss_File"] / 1000) if "Pss" in kb else None


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure rankbench run --log.")
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--reps", type=int, help="Fewer repetitions than own-log's: no figure for LIMITS.")
    parser.add_argument("--folder", type=Path, help="Where log and results are kept; default: nowhere.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        log, suite = folder / f"votes-{given.votes}.parquet", folder / "four-methods.toml"
        if not log.exists():
            pl.concat([chunk.lazy() for chunk in long_log(given.votes)]).sink_parquet(log)
        suite.write_text(chosen_suite(files("rankbench.suites").joinpath("own-log.toml").read_text()))
        fewer = [f"--reps={given.reps}"] if given.reps else []
        rankbench = str(Path(sys.executable).with_name("rankbench"))
        command = [rankbench, "run", "--suite", str(suite), "--log", str(log), *fewer]
        cost = measure_command([*command, "--workers", str(given.workers), "--out", str(folder / f"run-{given.votes}")])
    print(f"{given.votes:,} votes: {cost.seconds:.0f} s, {cost.processor:.0f} s of processors, {cost.peak:.0f} MB")
    shares = "; ".join(f"{of:.0f} ({own:.0f} own, {mapped:.0f} of files)" for of, own, mapped in cost.shares)
    print(f"most memory after {cost.at:.0f} s, MB by process: {shares}")
    seconds, peak = LIMITS.get(given.votes, (float("inf"), float("inf")))
    kept = cost.code == 0 and (given.reps is not None or cost.seconds <= seconds) and cost.peak <= peak
    if not kept:
        print(f"exit code {cost.code}; at most {seconds:g} s and {peak:g} MB", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
