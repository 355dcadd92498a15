"""Scanning and partitioning stay lazy: no table is collected before its shard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import stored

import rankbench
from rankbench.data.convert import convert

ROWS = 5000


@pytest.fixture
def heights(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of rows of everything that is collected from now on."""
    found: list[int] = []
    collect = pl.LazyFrame.collect

    def counted(self: pl.LazyFrame, *args: object, **kwargs: object) -> pl.DataFrame:
        frame = collect(self, *args, **kwargs)
        found.append(frame.height)
        return frame

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    return found


def votes(path: Path, *, sides: bool) -> Path:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 9, ROWS)
    b = (a + rng.integers(1, 9, ROWS)) % 9
    frame = pl.DataFrame({"prompt": rng.integers(0, 300, ROWS).astype(str), "x": [f"i{i}" for i in a]})
    frame = frame.with_columns(y=pl.Series([f"i{i}" for i in b]), judge=pl.Series([f"j{i}" for i in a]))
    if sides:
        frame = frame.rename({"x": "left", "y": "right"}).with_columns(winner=pl.Series(["left", "tie"] * (ROWS // 2)))
    else:
        frame = frame.rename({"x": "winner", "y": "loser"})
    return stored(frame, path)


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("name", ["votes.parquet", "votes.csv"])
def test_scanning_collects_facts_alone(tmp_path: Path, heights: list[int], name: str, sides: bool) -> None:
    """Which words a column of winners holds is one row, however long the log is."""
    path = votes(tmp_path / name, sides=sides)
    frame = rankbench.scan(path)
    assert isinstance(frame, pl.LazyFrame)
    assert max(heights, default=0) <= 1
    assert frame.collect_schema().names()[:3] == ["query_id", "winner", "loser"]
    assert frame.collect().height == ROWS


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("name", ["votes.parquet", "votes.csv"])
def test_partitioning_collects_no_table(tmp_path: Path, heights: list[int], name: str, sides: bool) -> None:
    convert(votes(tmp_path / name, sides=sides), tmp_path / "shards", shards=4)
    assert max(heights, default=0) <= 1
    shards = rankbench.scan(tmp_path / "shards")
    assert max(heights, default=0) <= 1
    assert shards.collect().height == ROWS


def test_columns_frames_and_data_sets_are_scanned_too(tmp_path: Path) -> None:
    path = votes(tmp_path / "votes.csv", sides=False)
    plain = rankbench.scan(path).collect()
    other = pl.read_csv(path).rename({"winner": "better", "loser": "worse"})
    other.write_csv(tmp_path / "other.csv")
    columns = "winner=better,loser=worse"
    assert rankbench.scan(tmp_path / "other.csv", columns=columns).collect().equals(plain)
    assert rankbench.scan(tmp_path / "other.csv", columns=columns, reader="csv").collect().equals(plain)
    assert rankbench.scan(other, columns=columns).collect().height == ROWS
    assert rankbench.scan("llmfao").collect().height == 8931
