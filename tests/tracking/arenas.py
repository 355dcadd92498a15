"""Simulated arenas: a log of votes, and the same a week later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from drawn_votes import named, two_items
from numpy.typing import NDArray


def votes(
    rng: np.random.Generator,
    scores: NDArray[np.float64],
    n: int,
    judges: NDArray[np.float64] | None = None,
    ties: float = 0.0,
    first: int = 0,
) -> pl.DataFrame:
    """Return n votes by Bradley-Terry; of judges, shape (J, m), each has an offset of his own for every item."""
    a, b = two_items(rng, n, len(scores))
    judge = rng.integers(len(judges), size=n) if judges is not None else np.zeros(n, int)
    own = judges[judge] if judges is not None else np.zeros((n, len(scores)))
    rows = np.arange(n)
    d = scores[a] - scores[b] + own[rows, a] - own[rows, b]
    won = rng.random(n) < 1 / (1 + np.exp(-d))
    frame = named(a, b, won, tie=rng.random(n) < ties, time=np.arange(first, first + n))
    return frame if judges is None else frame.with_columns(pl.Series("judge", [f"judge-{first}-{j}" for j in judge]))


def written(folder: Path, name: str, frame: pl.DataFrame) -> Path:
    """Write a log."""
    path = folder / f"{name}.parquet"
    frame.write_parquet(path)
    return path
