"""Doubts about votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankbench.data.readings.find import read_table
from rankbench.errors import Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable


def asked(columns: Mapping[str, Sequence[object]]) -> str:
    """Return the code of the question about a table with standard names; empty: it is read."""
    try:
        read_table(RawTable(pl.LazyFrame(columns), Path("votes.csv")), Reading())
    except Unread as error:
        return error.code
    return ""


@pytest.mark.parametrize("items", [80, 400])
def test_totals_beside_many_items_are_asked_about(items: int) -> None:
    """A total is known by its sums, of however many items."""
    rng = np.random.default_rng(items)
    sides = np.array([(one, (one + step) % items) for one in range(items) for step in (1, 2, 3, 7)])
    counts = rng.integers(1, 30, len(sides))
    won, lost = (np.bincount(sides[:, side], counts, items).astype(int) for side in (0, 1))
    names = [f"item {k}" for k in range(items)]
    winners = [names[k] for k in sides[:, 0]] + names + ["all"] * items
    losers = [names[k] for k in sides[:, 1]] + ["all"] * items + names
    every = [*counts.tolist(), *won.tolist(), *lost.tolist()]
    assert asked({"winner": winners, "loser": losers, "count": every}) == "summary"
