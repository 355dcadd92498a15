"""What commands cost on large files: seconds, seconds of processors, and the memory of all their processes.

    python tests/benchmarks/large_files.py [--only clicks|scores|votes|crossed|run] [--votes N]

There are a million rows of clicks, scores of 500 systems on 1,000 tasks, and a million votes or N, which are described,
ranked with intervals by judge and query, and judged: `run --log` with the methods `METHODS` of own-log, their grids and
all repetitions. Kernels are compiled beforehand. Memory is the sum of the proportional sets (PSS) of the command's
process and of all its descendants, so that what processes share counts once. Exits with 1 if a command fails, or costs
more than `JOBS` says.

Vote t of `long_log` is of judge j on two different items drawn at random. Its outcome is Davidson's, an extension of
Bradley-Terry-Luce: chances are proportional to exp(d / 2), exp(-d / 2) and nu for win, loss and tie, with
d = (s_a - s_b) + (x_a - x_b) . y_j, where s are the items' scores, x their positions in a space of
`TASTES` dimensions and y_j what judge j cares for. Judges cast unequally many votes.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

METHODS = ("win rate", "Bradley-Terry", "mean log-odds", "Borda")
"""Labels of own-log's contenders that are run."""

ROWS, SYSTEMS, TASKS = 1_000_000, 500, 1000
TASTES = 2
NU = 0.25
CHUNK = 1_000_000

KERNELS = Path(__file__).parents[2] / "scripts" / "kernels.py"


def long_log(votes: int, items: int = 1000, judges: int = 2000, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the votes of a log, a million at a time; the same arguments give the same votes.

    Parameters
    ----------
    votes, items, judges, seed : int
    """
    rng = np.random.default_rng([20261122, seed])
    score, place = rng.normal(size=items), rng.normal(size=(items, TASTES)) / 2
    taste = rng.normal(size=(judges, TASTES))
    share = rng.lognormal(sigma=0.5, size=judges)
    share /= share.sum()
    item_names = pl.Series([f"item-{i:04d}" for i in range(items)])
    judge_names = pl.Series([f"judge-{j:04d}" for j in range(judges)])
    for begin in range(0, votes, CHUNK):
        n = min(CHUNK, votes - begin)
        judge = rng.choice(judges, n, p=share)
        a = rng.integers(items, size=n)
        b = (a + rng.integers(1, items, size=n)) % items
        d = score[a] - score[b] + ((place[a] - place[b]) * taste[judge]).sum(axis=1)
        chances = np.stack([np.exp(d / 2), np.full(n, NU), np.exp(-d / 2)])
        u = rng.random(n) * chances.sum(axis=0)
        lost, tied = u > chances[0] + chances[1], (u > chances[0]) & (u <= chances[0] + chances[1])
        yield pl.DataFrame(
            {
                "winner": item_names.gather(np.where(lost, b, a)),
                "loser": item_names.gather(np.where(lost, a, b)),
                "tie": tied,
                "judge": judge_names.gather(judge),
                "time": np.arange(begin, begin + n),
            }
        )


def write_clicks(path: Path, _: int) -> None:
    """Write impressions, ten a session, in no order: 1,000 items, of which the better ones are clicked more often."""
    rng = np.random.default_rng(1)
    session, position = np.divmod(np.arange(ROWS), 10)
    # Neighbors of a first item, so that none is twice in a session.
    item = (rng.integers(1000, size=ROWS // 10)[session] + 7 * position) % 1000
    clicked = rng.random(ROWS) < 0.5 * (0.2 + item / 1250) / (1 + position)
    table = {"session": session, "query": session % 500, "position": position + 1, "doc": item, "clicked": clicked}
    frame = pl.DataFrame(table).with_columns(pl.col("clicked").cast(pl.Int8))
    frame.sample(fraction=1, shuffle=True, seed=1).write_csv(path)


def write_scores(path: Path, _: int) -> None:
    """Write a row a system, a column a task."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(SYSTEMS, TASKS)) + 0.3 * rng.normal(size=(SYSTEMS, 1)) + rng.normal(size=(1, TASKS))
    frame = pl.DataFrame(values.round(4), schema=[f"t{task}" for task in range(TASKS)])
    frame.insert_column(0, pl.Series("model", [f"s{system}" for system in range(SYSTEMS)])).write_csv(path)


def write_votes(path: Path, votes: int) -> None:
    """Write votes of 10,000 judges on 200 items under 500 queries, one after the other, as Parquet shards."""
    path.mkdir()
    rng = np.random.default_rng(1)
    for part, chunk in enumerate(long_log(votes, items=200, judges=10_000)):
        query = pl.Series("query_id", rng.integers(500, size=len(chunk))).cast(pl.String)
        chunk.with_columns(query).write_parquet(path / f"part-{part:04d}.parquet")


def write_log(path: Path, votes: int) -> None:
    """Write votes of 2,000 judges on 1,000 items, and own-log with some of its methods beside them."""
    pl.concat([chunk.lazy() for chunk in long_log(votes)]).sink_parquet(path)
    suite = files("rankbench.suites").joinpath("own-log.toml").read_text()
    path.with_name("four-methods.toml").write_text(chosen_suite(suite))


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


def command_cost(command: list[str]) -> tuple[float, float, float]:
    """Return the seconds of a command, those of processors, and the most MB that its processes had at once."""
    peak, begin, before = 0.0, time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None:
        peak = max(peak, sum(map(share, family(running.pid))))
        time.sleep(0.1)
    if running.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, processor, peak


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return found
    for child in children:
        found += family(child)
    return found


def share(pid: int) -> float:
    """Return the proportional set of a process in MB; 0 if it has ended."""
    with suppress(OSError):
        found = re.search(r"^Pss:\s+(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) / 1000 if found else 0.0
    return 0.0


class Job(NamedTuple):
    """A command and what it may cost: seconds and MB, and how many more for each further million votes."""

    write: Callable[[Path, int], None]
    file: str
    command: tuple[str, ...]
    seconds: float
    peak: float
    more_seconds: float = 0.0
    more_peak: float = 0.0


JOBS = {
    "clicks": Job(write_clicks, "clicks.csv", ("aggregate",), 10, 500),
    "scores": Job(write_scores, "scores.csv", ("rank",), 20, 1000),
    "votes": Job(write_votes, "votes", ("data", "describe"), 1, 1000, 1),
    "crossed": Job(write_votes, "judged", ("aggregate", "--intervals", "judges+queries"), 20, 600, 20, 64),
    "run": Job(write_log, "log.parquet", ("run", "--suite", "four-methods.toml", "--log"), 300, 1000, 67, 112),
}


def main() -> int:
    """Measure, print, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=JOBS)
    parser.add_argument("--votes", type=int, default=ROWS)
    given = parser.parse_args()
    subprocess.run([sys.executable, str(KERNELS), "2"], check=True)
    exceeded, more = False, max(given.votes / ROWS - 1, 0)
    with tempfile.TemporaryDirectory() as name, chdir(name):
        for job in [JOBS[given.only]] if given.only else JOBS.values():
            job.write(Path(job.file), given.votes)
            command = [sys.executable, "-c", "from rankbench.cli import main; main()", *job.command, job.file]
            seconds, processor, peak = command_cost(command)
            longest, largest = job.seconds + more * job.more_seconds, job.peak + more * job.more_peak
            exceeded |= seconds > longest or peak > largest
            print(
                f"{' '.join(job.command)}: {seconds:.1f} s (at most {longest:.0f}), {processor:.1f} s of processors, "
                f"{peak:.0f} MB (at most {largest:.0f})",
                flush=True,
            )
    return int(exceeded)


if __name__ == "__main__":
    raise SystemExit(main())
