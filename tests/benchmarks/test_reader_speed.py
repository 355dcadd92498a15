"""Reading files: LETOR against scikit-learn, votes in CSV against Polars, ballots against plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file
from turns import against

import rankbench


def test_letor(benchmark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "train.letor"
    with path.open("w") as file:
        for q in range(100):
            for _ in range(40):
                features = " ".join(f"{j}:{value:.6f}" for j, value in enumerate(rng.normal(size=46), 1))
                file.write(f"{rng.integers(5)} qid:{q} {features}\n")
    against(
        benchmark,
        lambda: rankbench.scan(path, reader="letor").collect(),
        lambda: load_svmlight_file(str(path), query_id=True),
        "scikit-learn",
    )


def test_votes_in_csv(benchmark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 200_000
    a = rng.integers(0, 500, n)
    b = (a + rng.integers(1, 500, n)) % 500
    names = pl.Series([f"item-{i:03d}" for i in range(500)])
    path = tmp_path / "votes.csv"
    pl.DataFrame({"winner": names.gather(a), "loser": names.gather(b)}).write_csv(path)
    against(
        benchmark,
        lambda: rankbench.scan(path).collect(),
        lambda: pl.scan_csv(path).collect(),
        "Polars, without checks",
    )


def test_ballots(benchmark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "ballots.toi"
    lines = [",".join(map(str, rng.permutation(20)[:10] + 1)) for _ in range(20_000)]
    header = [f"# ALTERNATIVE NAME {i}: item {i}" for i in range(1, 21)]
    facts = ["# FILE NAME: ballots.toi", "# DATA TYPE: toi", "# NUMBER ALTERNATIVES: 20", "# NUMBER VOTERS: 20000"]
    path.write_text("\n".join([*facts, *header, *(f"1: {line}" for line in lines)]) + "\n")

    def plain() -> object:
        with path.open() as file:
            return [[int(item) for item in line.split(":")[1].split(",")] for line in file if line[0] != "#"]

    against(benchmark, lambda: rankbench.scan(path).collect(), plain, "plain Python, without checks", rounds=5)
