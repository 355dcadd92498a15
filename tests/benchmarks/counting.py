"""Time counting by Polars alone against ours: the ratios in docs/decisions/counts.md.

    python tests/benchmarks/counting.py [--rounds N] [--votes N ..] [--items M ..]

A round times ours and every form of Polars in turns, after one round that warms up; what is printed are medians
of seconds and of processor time (which a busy machine changes less), and the ratios of Polars' to ours.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from peers import simulated

from rankbench.ranking.count import count_pairs
from rankbench.ranking.count_log import count_log

Form = Callable[[], object]
OURS = "ours"


@dataclass(frozen=True)
class Spent:
    """Medians of one form, in seconds."""

    wall: float
    processor: float


def numpy_forms(winners: NDArray[np.int32], losers: NDArray[np.int32], m: int) -> dict[str, Form]:
    """Return ours and Polars' forms of counting arrays: ordered pairs as they stand, unordered ones folded."""

    def ordered() -> pl.DataFrame:
        pairs = pl.LazyFrame({"key": winners.astype(np.int64) * m + losers})
        return pairs.group_by("key").agg(pl.len()).collect(engine="streaming")

    def unordered() -> pl.DataFrame:
        low, high = np.minimum(winners, losers), np.maximum(winners, losers)
        pairs = pl.LazyFrame({"key": low.astype(np.int64) * m + high, "forward": low == winners})
        return pairs.group_by("key").agg(pl.len(), pl.col("forward").sum()).collect(engine="streaming")

    return {OURS: lambda: count_pairs(winners, losers, m=m), "ordered": ordered, "unordered": unordered}


def parquet_forms(path: Path) -> dict[str, Form]:
    """Return ours and Polars' forms of counting a file of names: by names, and by categories made numbers."""
    log = pl.scan_parquet(path)

    def by_names() -> pl.DataFrame:
        return log.group_by("winner", "loser").agg(pl.len()).collect(engine="streaming")

    def by_categories() -> pl.DataFrame:
        category = pl.Categorical(pl.Categories.random(namespace="counting"))
        first, second = (pl.col(name).cast(category).to_physical().cast(pl.Int64) for name in ("winner", "loser"))
        pairs = log.select((first * (1 << 32) + second).alias("key"))
        return pairs.group_by("key").agg(pl.len()).collect(engine="streaming")

    return {OURS: lambda: count_log(path), "names": by_names, "categories": by_categories}


def in_turns(forms: Mapping[str, Form], rounds: int) -> dict[str, Spent]:
    """Return the medians of each form over the rounds, forwards and backwards."""
    wall: dict[str, list[float]] = {name: [] for name in forms}
    processor: dict[str, list[float]] = {name: [] for name in forms}
    for turn in range(rounds + 1):
        for name in list(forms)[:: 1 if turn % 2 else -1]:
            gc.collect()
            start, begun = time.perf_counter(), time.process_time()
            forms[name]()
            if turn:
                wall[name].append(time.perf_counter() - start)
                processor[name].append(time.process_time() - begun)
    return {name: Spent(statistics.median(wall[name]), statistics.median(processor[name])) for name in forms}


def row(size: str, source: str, spent: Mapping[str, Spent]) -> str:
    """Return a row of the table: ours, and each form of Polars with its ratios to ours."""
    ours = spent[OURS]
    cells = [f"{name} {s.wall:.3f} s ({s.processor:.3f})" for name, s in spent.items() if name != OURS]
    wall = [f"{s.wall / ours.wall:.2f}" for name, s in spent.items() if name != OURS]
    processor = [f"{s.processor / ours.processor:.2f}" for name, s in spent.items() if name != OURS]
    return (
        f"| {size} | {source} | {ours.wall:.3f} s ({ours.processor:.3f}) | {', '.join(cells)} "
        f"| {', '.join(wall)} | {', '.join(processor)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Time counting by Polars alone against ours.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--votes", type=int, nargs="+", default=[1_000_000, 1_000_000, 3_000_000])
    parser.add_argument("--items", type=int, nargs="+", default=[1000, 30_000, 50_000], help="One for each of --votes.")
    given = parser.parse_args()
    print("| votes, items | from | ours (processor) | Polars (processor) | ratio | of processor time |")
    print("|---|---|--:|--:|--:|--:|")
    for n, m in zip(given.votes, given.items, strict=True):
        winners, losers = simulated(n, m)
        size = f"{n:,}, {m:,}"
        print(row(size, "NumPy", in_turns(numpy_forms(winners, losers, m), given.rounds)), flush=True)
        names = pl.Series([f"item-{i:06d}" for i in range(m)])
        with tempfile.TemporaryDirectory(prefix="rankbench-counting-") as folder:
            path = Path(folder) / "votes.parquet"
            pl.DataFrame({"winner": names.gather(winners), "loser": names.gather(losers)}).write_parquet(path)
            print(row(size, "Parquet", in_turns(parquet_forms(path), given.rounds)), flush=True)


if __name__ == "__main__":
    main()
