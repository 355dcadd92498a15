"""Seconds and memory of counting and fitting one log, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What a log of n comparisons of m items costs: seconds, and the peak of the whole process in MB."""

    n: int
    m: int
    counting: float
    fitting: float
    peak: float


def measure_costs(jobs: list[tuple[Path, int, int, bool]]) -> list[Cost]:
    """Return the cost of each (file, n, m, fit): a log of the file's first n rows, repeated if it has fewer."""
    costs = []
    for path, n, m, fit in jobs:
        command = [sys.executable, __file__, json.dumps([str(path), n, fit])]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        costs.append(Cost(n, m, *json.loads(done.stdout)))
    return costs


def measure(path: str, n: int, fit: bool) -> tuple[float, float, float]:
    """Return seconds of counting, seconds of fitting and the peak in MB, after a small log that warms up."""
    import time

    import polars as pl

    from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
    from rankbench.logs.count_log import count_frame

    frame = pl.scan_parquet(path)
    rows = frame.select(pl.len()).collect().item()
    # Both ways once: with a ridge, and with the libraries that find what is strongly connected.
    few = count_frame(frame.head(10_000)).counts
    fit_bradley_terry(few, ridge=1.0)
    fit_bradley_terry(few)
    log = frame.head(n) if n <= rows else pl.concat([frame] * (n // rows))
    start = time.perf_counter()
    counts = count_frame(log).counts
    counted = time.perf_counter()
    if fit:
        fit_bradley_terry(counts)
    end = time.perf_counter()
    return counted - start, end - counted, peak_memory()


def peak_memory() -> float:
    """Return this process's peak of resident memory in MB.

    On Linux not by `getrusage`: its number outlives `exec`, so that a child starts with
    the peak of the process that it was forked from.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
