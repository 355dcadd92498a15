"""What the first look at a large file costs: clicks, a score table and votes that are ranked, votes that are described.

    python tests/benchmarks/first_mile.py [--only clicks|scores|votes|crossed] [--votes N]

There are a million rows of clicks, scores of 500 systems on 1,000 tasks, and a million votes or N, which are described,
and ranked with intervals by judge and query. Each command runs twice, since kernels are compiled the first time, and
the second time counts: by the clock, and with the largest resident set of its process; seconds of processors are
printed too. Exits with 1 if one fails, or costs more than `LIMITS` says: N million votes may take N times as long;
described, they may take no more memory, and ranked by judge and query as many bytes more as `HELD` says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from long_log import long_log

LIMITS = {"clicks": (10.0, 500.0), "scores": (20.0, 1000.0), "votes": (1.0, 1000.0), "crossed": (20.0, 600.0)}
"""Seconds, and MB at most."""

HELD = 64
"""Bytes of a vote whose judge and query are held."""

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


def write_votes(path: Path, votes: int) -> None:
    """Write votes of 10,000 judges on 200 items under 500 queries, one after the other, as Parquet shards."""
    path.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    for part, chunk in enumerate(long_log(votes, items=200, judges=10_000)):
        query = pl.Series("query_id", rng.integers(500, size=len(chunk))).cast(pl.String)
        chunk.with_columns(query).write_parquet(path / f"part-{part:04d}.parquet")


def command_cost(arguments: Sequence[str]) -> tuple[float, float, float]:
    """Return seconds, seconds of processors and MB of ``rankbench ARGUMENTS``, its second run."""
    command = [sys.executable, "-c", "from rankbench.cli import main; main()", *arguments]
    seconds = processor = peak = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds, processor = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        if status:
            raise SystemExit(f"{' '.join(arguments)} failed")
    return seconds, processor, peak


JOBS: dict[str, tuple[Callable[[Path], None], str, Sequence[str]]] = {
    "clicks": (write_clicks, "clicks.csv", ["aggregate"]),
    "scores": (write_scores, "scores.csv", ["rank"]),
    "votes": (partial(write_votes, votes=ROWS), "votes", ["data", "describe"]),
    "crossed": (partial(write_votes, votes=ROWS), "votes", ["aggregate", "--intervals", "judges+queries"]),
}
"""How a file is written, what it is called, and the command that it is handed to."""


def main() -> int:
    """Measure, print, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=JOBS)
    parser.add_argument("--votes", type=int, default=ROWS)
    given = parser.parse_args()
    exceeded = 0
    of_votes = {"votes", "crossed"}
    jobs = JOBS | {name: (partial(write_votes, votes=given.votes), *JOBS[name][1:]) for name in of_votes}
    with tempfile.TemporaryDirectory() as folder:
        for name in [given.only] if given.only else jobs:
            write, called, verb = jobs[name]
            path = Path(folder) / called
            write(path)
            seconds, processor, peak = command_cost([*verb, str(path)])
            longest, largest = LIMITS[name]
            more = max(given.votes - ROWS, 0) if name in of_votes else 0
            longest *= 1 + more / ROWS
            largest += more * HELD / 1e6 * (name == "crossed")
            exceeded += seconds > longest or peak > largest
            print(
                f"{name}: {seconds:.1f} s (at most {longest:.0f}), {processor:.1f} s of processors, {peak:.0f} MB "
                f"(at most {largest:.0f})",
                flush=True,
            )
    return int(bool(exceeded))


if __name__ == "__main__":
    raise SystemExit(main())
