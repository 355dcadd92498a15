"""Votes that are drawn: two items a vote, tables of who won, and data sets of such tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from rankbench.interfaces.dataset import Dataset


def two_items(rng: np.random.Generator, n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two different ones of m items for each of n votes."""
    one = rng.integers(m, size=n)
    return one, (one + rng.integers(1, m, size=n)) % m


def named(
    one: ArrayLike, other: ArrayLike, won: ArrayLike = True, *, query_id: Any = "q", **columns: Any
) -> pl.DataFrame:
    """Return votes on items i0, i1, .. that the one of two won, or else the other, with further columns."""
    sides = {"winner": np.where(won, one, other), "loser": np.where(won, other, one)}
    names = {side: [f"i{item}" for item in items] for side, items in sides.items()}
    return pl.DataFrame({"query_id": query_id, **names, **columns})


class DrawnVotes(Dataset):
    """Votes that a test draws; each class has a name and a scan of its own."""

    source = "test"
    title = "votes"
    table = "comparisons"

    def fingerprint(self) -> str:
        return self.digest() * 2
