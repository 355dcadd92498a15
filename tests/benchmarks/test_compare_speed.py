"""Comparing two results of 100,000 rows (500 contenders, five losses, two splits, 20 repetitions), and histories."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from turns import against

from rankbench.store.journal import Journal
from rankbench.store.published import ROWS as ROWS_FOLDER
from rankbench.store.published import published_rows
from rankbench.tracking.change_points import change_points
from rankbench.tracking.compare import compare_results

ROWS = 100_000


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Return two published folders; half of the contenders of the second are a little worse."""
    found = []
    for name, worse in (("base", 0.0), ("head", 0.01)):
        contenders = [synthetic.Contender(f"c{i}", {"k": i}, 2e-4 * i + worse * (i % 2)) for i in range(500)]
        losses = tuple(f"ndcg:k={k}" for k in range(1, 6))
        plan = synthetic.Plan("e", contenders, n=(200_000,), repetitions=20, baseline="", losses=losses)
        run = synthetic.write(tmp_path / name, [plan], {"design": 20, "heldout": 20})
        folder = tmp_path / f"{name}-out"
        (folder / ROWS_FOLDER).mkdir(parents=True)
        with Journal(run) as journal:
            for file, data in published_rows(journal).items():
                (folder / ROWS_FOLDER / file).write_bytes(data)
        found.append(folder)
    return found


def test_a_hundred_thousand_rows(benchmark: Any, folders: list[Path]) -> None:
    """Beside reading the tables alone by Polars."""
    rows = [folder / ROWS_FOLDER for folder in folders]
    frames = [pl.read_parquet(folder / "losses.parquet") for folder in rows]
    assert [frame.height for frame in frames] == [ROWS, ROWS]

    def read() -> object:
        return [
            pl.read_parquet(folder / name).rows()
            for folder in rows
            for name in ("losses.parquet", "members.parquet", "cells.parquet")
        ]

    against(benchmark, lambda: compare_results(*folders), read, "reading by Polars", rounds=3)
    start = time.process_time()  # neighbors do not count
    compare_results(*folders)
    benchmark.extra_info["seconds of processor"] = round(time.process_time() - start, 2)
    assert benchmark.extra_info["seconds of processor"] < 5


def test_change_points_of_5000_commits(benchmark: Any) -> None:
    """A series is some thousand sorts of its values."""
    values = np.random.default_rng(7).normal(size=5000)
    values[3000:] += 1.0

    def sorts() -> None:
        for _ in range(2000):
            np.sort(values)

    against(benchmark, lambda: change_points(values), sorts, "2,000 sorts by NumPy", rounds=5, at_least=1.0)
