"""Counting votes by pair, in memory and from Parquet, against SciPy's sparse matrices and Polars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from counted_logs import count_log
from scipy.sparse import coo_array
from turns import against, pairs

import rankbench
from rankbench.logs.count import count_pairs

N, M = 2_000_000, 1000


@pytest.fixture(scope="module")
def votes() -> tuple[np.ndarray, np.ndarray]:
    return pairs(np.random.default_rng(0), N, M)


def test_counting_in_memory(benchmark: Any, votes: tuple[np.ndarray, np.ndarray]) -> None:
    winners, losers = votes
    ones = np.ones(N)
    against(
        benchmark,
        lambda: count_pairs(winners, losers, m=M),
        lambda: coo_array((ones, (winners, losers)), shape=(M, M)).tocsr(),
        "SciPy, COO to CSR",
    )


def test_counting_parquet(benchmark: Any, votes: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    names = pl.Series([f"item-{i:04d}" for i in range(M)])
    pl.DataFrame({"winner": names.gather(votes[0]), "loser": names.gather(votes[1])}).write_parquet(path)

    def polars() -> object:
        return pl.scan_parquet(path).group_by("winner", "loser").agg(pl.len()).collect(engine="streaming")

    against(benchmark, lambda: count_log(path), polars, "Polars, group_by")


def test_counting_sides(benchmark: Any, votes: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    """A log that names both sides and who won, beside the same votes as winners and losers."""
    names = pl.Series([f"item-{i:04d}" for i in range(M)])
    left, right = names.gather(votes[0]), names.gather(votes[1])
    pl.DataFrame({"winner": left, "loser": right}).write_parquet(tmp_path / "plain.parquet")
    sides = pl.DataFrame({"model_a": left, "model_b": right}).with_columns(winner=pl.lit("model_a"))
    sides.write_parquet(tmp_path / "sides.parquet")
    against(
        benchmark,
        lambda: rankbench.aggregate(tmp_path / "sides.parquet", "win-rate"),
        lambda: rankbench.aggregate(tmp_path / "plain.parquet", "win-rate"),
        "winners and losers",
        rounds=3,
    )
