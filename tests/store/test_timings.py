"""The table of timings: what is written is read, and what is damaged is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankbench.errors import StoreError
from rankbench.tracking.timings import TimedCell, TimingFacts, Timings, has_timings, read_timings, write_timings

CELLS = [TimedCell("e", "a", 10), TimedCell("e", "a", 20), TimedCell("f", "näme|x", 10)]


def made(launches: int = 3, rounds: int = 2) -> Timings:
    rng = np.random.default_rng(1)
    facts = TimingFacts(
        job="j", side="head", suite="s", version="0.1.0", machine="m", reference="r", versions={"numpy": "2"},
        declared=7, last=False, precision=0.02, seed=5, failed={"e, n = 10, b": "error: why"},
    )  # fmt: skip
    seconds = {cell: rng.random((launches, rounds)) + 0.1 for cell in CELLS}
    memory = {cell: np.append(np.full(launches - 1, 1e6), np.nan) for cell in CELLS}
    first = {cell: rng.random(launches) + 1 for cell in CELLS}
    return Timings(facts, seconds, rng.random((launches, rounds)) + 0.1, first, memory)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert not has_timings(tmp_path)
    write_timings(tmp_path, made(2))
    write_timings(tmp_path, made())
    assert has_timings(tmp_path)
    one, other = made(), read_timings(tmp_path)
    assert other.facts == one.facts
    assert (other.launches, other.rounds) == (3, 2)
    np.testing.assert_array_equal(other.reference, one.reference)
    for name in ("seconds", "first", "memory"):
        before, after = getattr(one, name), getattr(other, name)
        assert list(before) == list(after)
        for cell in before:
            np.testing.assert_array_equal(before[cell], after[cell])


def test_other_programs_read_it(tmp_path: Path) -> None:
    write_timings(tmp_path, made())
    frame = pl.read_parquet(tmp_path / "timings" / "timings.parquet")
    assert frame.columns == ["experiment", "contender", "n", "launch", "round", "seconds", "memory"]
    assert frame.height == 3 * (3 + 3 * 2) + 3 * 2
    first = frame.filter(pl.col("round") == 0)
    assert frame.filter(pl.col("round") > 0)["memory"].null_count() == frame.height - first.height


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "timings.parquet").unlink(),
        lambda folder: (folder / "timings.parquet").write_bytes(b"PAR1"),
        lambda folder: (folder / "timings.json").write_text("[]"),
        lambda folder: (folder / "timings.json").write_text("{"),
        lambda folder: rewritten(folder, job=""),
        lambda folder: rewritten(folder, launches=2),
        lambda folder: rewritten(folder, launches=10**14),
        lambda folder: rewritten(folder, rounds="x"),
        lambda folder: rewritten(folder, rounds=float("inf")),
        lambda folder: rewritten(folder, unknown=1),
        lambda folder: rewritten(folder, sha256="0"),
        lambda folder: rewritten(folder, schema_version=1),
    ],
)
def test_damage_is_refused(damage, tmp_path: Path) -> None:
    write_timings(tmp_path, made())
    damage(tmp_path / "timings")
    with pytest.raises(StoreError, match="timings"):
        read_timings(tmp_path)


def rewritten(folder: Path, **said: object) -> None:
    path = folder / "timings.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | said))
