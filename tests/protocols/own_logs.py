"""Logs of votes whose truth is known, and a suite for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from data_files import written
from drawn_votes import DrawnVotes, named, two_items
from scipy.special import expit

import rankbench
from rankbench.interfaces.dataset import Dataset


class Log(DrawnVotes):
    """Votes that a test makes."""

    name = "test-votes"
    judges: bool = True
    times: bool = True
    n: int = 900
    scale: float = 1.0

    def scan(self) -> pl.LazyFrame:
        rng = np.random.default_rng(11)
        truth = self.scale * np.linspace(-1, 1, 7)
        a, b = two_items(rng, self.n, 7)
        frame = named(a, b, rng.random(self.n) < expit(truth[a] - truth[b]), query_id="all")
        if self.judges:
            frame = frame.with_columns(judge=pl.Series([f"j{x}" for x in rng.integers(0, 30, self.n)]))
        if self.times:
            frame = frame.with_columns(time=pl.Series(np.arange(self.n)))
        return frame.lazy()

    def fingerprint(self) -> str:
        return "ab" * 32


SUITE = """
name = "own"
title = "Own"
seed = 3
protocol = "own-log{folds}"
[[experiments]]
name = "methods"
title = "Methods"
recommend = true
repetitions = 10
losses = ["disagreement", "log-loss", "calibration", "three-outcome-loss"]
baseline = "win rate"
contenders = [
  {{ label = "win rate", use = "win-rate" }},
  {{ label = "Bradley-Terry", use = "bradley-terry:ridge=[0.1,1,10]", tune = true }},
  {{ label = "Elo", use = "elo:factor=400" }},
]
[[experiments]]
name = "later"
title = "Later"
protocol = "own-log:folds=time"
optional = true
repetitions = 5
losses = ["disagreement"]
contenders = [{{ use = "win-rate" }}]
[[experiments]]
name = "items"
title = "Items"
protocol = "items:replicates=100"
losses = ["score", "lower", "upper", "rank-low", "rank-high"]
contenders = [{{ use = "bradley-terry" }}]
[[experiments.figures]]
file = "items"
kind = "dots"
"""


def suite(tmp_path: Path, folds: str = "") -> str:
    return str(written(tmp_path / "own.toml", SUITE.format(folds=folds)))


def rows_of(tmp_path: Path, dataset: Dataset, reps: int, *changes: tuple[str, str]) -> pl.DataFrame:
    """Return the rows of a run of the suite with other words."""
    text = SUITE.format(folds="")
    for old, new in changes:
        text = text.replace(old, new)
    (tmp_path / "other.toml").write_text(text)
    return rankbench.run(str(tmp_path / "other.toml"), dataset=dataset, reps=reps, out=tmp_path / "out").rows


class Few(Log):
    """The same votes, of which one judge cast half, or three judges cast all."""

    name = "test-few"
    dominant: bool = False
    nameless: int = 0

    def scan(self) -> pl.LazyFrame:
        row = pl.int_range(pl.len())
        of_three = pl.format("j{}", row % 3)
        dominant = pl.when(row % 2 == 0).then(pl.lit("big")).otherwise(pl.format("j{}", row % 40))
        known = (dominant if self.dominant else of_three) if not self.nameless else pl.col("judge")
        return super().scan().with_columns(judge=pl.when(row >= self.nameless).then(known))
