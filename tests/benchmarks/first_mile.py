"""What the first ranking of a large file costs: a million rows of clicks, a score table of 500 systems on 1,000 tasks.

    python tests/benchmarks/first_mile.py [--only clicks|scores]

Each command runs twice, since kernels are compiled the first time, and the second time counts: by the clock, with the
largest resident set of its process. Exits with 1 if one fails, or costs more than `LIMITS` says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

__all__ = ["LIMITS", "command_cost", "write_clicks", "write_scores"]

LIMITS = {"clicks": (10.0, 500.0), "scores": (20.0, 1000.0)}
"""Seconds, and MB at most."""

ROWS, SYSTEMS, TASKS = 1_000_000, 500, 1000


def write_clicks(path: Path) -> None:
    """Write impressions, ten a session, in no order: 1,000 items, of which the better ones are clicked more often."""
    rng = np.random.default_rng(1)
    session, position = np.divmod(np.arange(ROWS), 10)
    # Neighbors of a first item, so that none is twice in a session.
    item = (rng.integers(1000, size=ROWS // 10)[session] + 7 * position) % 1000
    clicked = rng.random(ROWS) < 0.5 * (0.2 + item / 1250) / (1 + position)
    table = {"session": session, "query": session % 500, "position": position + 1, "doc": item, "clicked": clicked}
    frame = pl.DataFrame(table).with_columns(pl.col("clicked").cast(pl.Int8))
    frame.sample(fraction=1, shuffle=True, seed=1).write_csv(path)


def write_scores(path: Path) -> None:
    """Write a row a system, a column a task."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(SYSTEMS, TASKS)) + 0.3 * rng.normal(size=(SYSTEMS, 1)) + rng.normal(size=(1, TASKS))
    frame = pl.DataFrame(values.round(4), schema=[f"t{task}" for task in range(TASKS)])
    frame.insert_column(0, pl.Series("model", [f"s{system}" for system in range(SYSTEMS)])).write_csv(path)


def command_cost(arguments: Sequence[str]) -> tuple[float, float]:
    """Return seconds and MB of ``rankbench ARGUMENTS``, its second run."""
    command = [sys.executable, "-c", "from rankbench.cli import main; main()", *arguments]
    seconds = peak = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds, peak = time.perf_counter() - begin, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        if status:
            raise SystemExit(f"{' '.join(arguments)} failed")
    return seconds, peak


JOBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "clicks": (write_clicks, "aggregate"),
    "scores": (write_scores, "rank"),
}


def main() -> int:
    """Measure, print, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=JOBS)
    asked = parser.parse_args().only
    exceeded = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [asked] if asked else JOBS:
            write, verb = JOBS[name]
            path = Path(folder) / f"{name}.csv"
            write(path)
            seconds, peak = command_cost([verb, str(path), "--out", str(Path(folder) / "found.csv")])
            most = LIMITS[name]
            exceeded += seconds > most[0] or peak > most[1]
            print(f"{name}: {seconds:.1f} s (at most {most[0]:.0f}), {peak:.0f} MB (at most {most[1]:.0f})", flush=True)
    return int(bool(exceeded))


if __name__ == "__main__":
    raise SystemExit(main())
