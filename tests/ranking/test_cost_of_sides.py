"""What a log with sides costs beside the same log of winners and losers: a ratio of one machine, both in turns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from amounts import is_full
from ranked_logs import two_items

VOTES, ITEMS, JUDGES, TURNS = 1_000_000 if is_full() else 400_000, 200, 500, 3

MOST_TIME, MOST_MEMORY = 8.0, 1.6
"""Of what the log of winners and losers takes, which is counted as it stands: 4.6 and 5.4 times when this was written.
A change that made such logs take 1.75 times as long, as one did, would make it 8 and more."""

COUNTED = """
import json, resource, sys, time
import rankbench
method, *paths = sys.argv[1:]
# What is loaded and compiled once is none of a log's cost.
rankbench.aggregate(paths[0], method, intervals="judges", replicates=10)
before = time.process_time()
rankbench.aggregate(paths[1], method, intervals="judges", replicates=10)
print(json.dumps([time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


def logs(folder: Path) -> dict[str, Path]:
    """Write the same votes with sides and without, and a small log of each kind."""
    rng = np.random.default_rng(1)
    first, second = two_items(rng, VOTES, ITEMS)
    names, judges = (
        pl.Series([f"{word} {at}" for at in range(n)]) for word, n in (("model", ITEMS), ("judge", JUDGES))
    )
    left, right, judge = names.gather(first), names.gather(second), judges.gather(rng.integers(JUDGES, size=VOTES))
    draw = rng.random(VOTES)
    winner = pl.Series(np.where(draw < 0.1, "tie", np.where(draw < 0.6, "model_a", "model_b")))
    beaten = winner == "model_b"
    frames = {
        "sides": pl.DataFrame({"model_a": left, "model_b": right, "winner": winner, "judge": judge}),
        "plain": pl.DataFrame(
            {
                "winner": right.zip_with(beaten, left), "loser": left.zip_with(beaten, right), "tie": winner == "tie",
                "judge": judge,
            }
        ),
    }  # fmt: skip
    paths = {}
    for name, frame in frames.items():
        frame.write_parquet(folder / f"{name}.parquet")
        frame.head(5000).write_parquet(folder / f"few {name}.parquet")
        paths[name] = folder / f"{name}.parquet"
    return paths


def cost(path: Path) -> tuple[float, float]:
    """Return seconds of processors and the peak of memory of a fresh process that ranks a log."""
    command = [sys.executable, "-c", COUNTED, "bradley-terry", str(path.with_name(f"few {path.name}")), str(path)]
    seconds, peak = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return seconds, peak


def test_sides_cost_little_more(tmp_path: Path) -> None:
    paths = logs(tmp_path)
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in paths}
    little_more = False
    for _ in range(TURNS):
        if little_more and not is_full():
            break
        for name, path in paths.items():
            costs[name].append(cost(path))
        seconds, peaks = ({name: min(one[at] for one in found) for name, found in costs.items()} for at in (0, 1))
        little_more = seconds["sides"] < MOST_TIME * seconds["plain"] and peaks["sides"] < MOST_MEMORY * peaks["plain"]
    assert little_more, (
        f"sides: {seconds['sides']:.2f} s, {peaks['sides']}; plain: {seconds['plain']:.2f} s, {peaks['plain']}"
    )
