"""Seconds and memory of counting and fitting one log, in a fresh process; and their figure."""

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
    from rankbench.ranking.count_log import count_log

    frame = pl.scan_parquet(path)
    rows = frame.select(pl.len()).collect().item()
    # Both ways once: with a ridge, and with the libraries that find what is strongly connected.
    few = count_log(frame.head(10_000))
    fit_bradley_terry(few, ridge=1.0)
    fit_bradley_terry(few)
    log = frame.head(n) if n <= rows else pl.concat([frame] * (n // rows))
    start = time.perf_counter()
    counts = count_log(log)
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


def draw_costs(costs: list[Cost]) -> bytes:
    """Return a PNG: seconds and peak memory against n, a line for each m, on logarithmic axes."""
    from matplotlib.figure import Figure

    from rankbench.core.code_digest import cpu_class
    from rankbench.drawing.looks import look, render, styled

    with styled():
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        for index, m in enumerate(sorted({cost.m for cost in costs})):
            line, style = [cost for cost in costs if cost.m == m], look(index)
            looks = {"color": style.color, "marker": style.marker, "linestyle": style.dashes, "label": f"{m:,} items"}
            left.plot([cost.n for cost in line], [cost.counting + cost.fitting for cost in line], **looks)
            right.plot([cost.n for cost in line], [cost.peak for cost in line], **looks)
        for axes, label in ((left, "seconds to count and fit"), (right, "peak memory in MB")):
            words = f"{label} (less is better)"
            axes.set(xscale="log", yscale="log", xlabel="number of comparisons", ylabel=words)
        right.set_ylim(bottom=50)
        left.legend()
        figure.suptitle(
            "Bradley-Terry scores from a log in Parquet, by rankbench alone, one run each\n"
            f"machine: {cpu_class()}; against peers: the table of the page",
            fontsize=9,
        )
        return render(figure)["png"]


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
