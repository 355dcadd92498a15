"""Parts of a log, and the tree in which they are summed up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from counted_logs import count_log
from data_files import rejected
from ranked_logs import bytes_of, short_chunks

from rankbench.data.convert import convert
from rankbench.errors import InputError


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two chunks of 64 rows."""
    short_chunks(monkeypatch, 64)
    monkeypatch.setattr("rankbench.logs.count_log.PART", 128)


def draw(n: int, m: int, seed: int = 0) -> pl.DataFrame:
    """Draw a log whose later rows name other items than its first ones."""
    rng = np.random.default_rng(seed)
    base = np.arange(n) * m // n
    winners = base + rng.integers(0, m, n)
    losers = base + (winners - base + rng.integers(1, m, n)) % m
    return pl.DataFrame(
        {
            "winner": winners,
            "loser": losers,
            "weight": rng.random(n) + 0.01,
            "tie": rng.random(n) < 0.3,
            "judge": rng.integers(0, 20, n),
        }
    )


def named(log: pl.DataFrame) -> pl.DataFrame:
    return log.with_columns(
        pl.format("item {}", "winner").alias("winner"), pl.format("item {}", "loser").alias("loser")
    )


def naive(log: pl.DataFrame) -> dict[tuple[str, str, str], np.ndarray]:
    """Sum a log by judge, smaller and larger name."""
    result: dict[tuple[str, str, str], np.ndarray] = {}
    for winner, loser, weight, tie, judge in log.rows():
        low, high = sorted((str(winner), str(loser)))
        cell = result.setdefault((str(judge), low, high), np.zeros(3))
        cell[2 if tie else int(str(winner) == high)] += weight
    return result


@pytest.mark.parametrize("integers", [False, True])
def test_parts_of_different_items_and_judges_sum_up(integers: bool) -> None:
    log = draw(1000, 30)
    log = log if integers else named(log)
    expected = naive(log)
    found = count_log(log, judge="judge")
    counts = found.counts
    assert (
        counts.items == sorted({*log["winner"], *log["loser"]})
        if not integers
        else [str(i) for i in sorted({*log["winner"], *log["loser"]})]
    )
    assert found.clusters == sorted(str(j) for j in range(20))
    mine = {}
    for g, judge in enumerate(found.clusters):
        for row in range(found.starts[g], found.starts[g + 1]):
            pair, outcome = divmod(int(found.cells[row]), 3)
            low, high = (counts.items[side[pair]] for side in (counts.low, counts.high))
            if low > high:
                low, high, outcome = high, low, (1, 0, 2)[outcome]
            mine.setdefault((judge, low, high), np.zeros(3))[outcome] += found.weights[row]
    assert mine.keys() == expected.keys()
    for key, cells in expected.items():
        np.testing.assert_allclose(mine[key], cells, rtol=1e-13)
    # Without judges: the same pairs and sums.
    plain = count_log(log)
    np.testing.assert_array_equal(plain.high, counts.high)
    assert plain.forward.tobytes() == counts.forward.tobytes()
    sums = np.bincount(found.cells, found.weights, 3 * len(plain))
    np.testing.assert_allclose(sums.reshape(-1, 3), np.column_stack([plain.forward, plain.backward, plain.ties]))
    assert plain.judgments == 1000


def test_the_same_bytes_however_the_rows_are_cut(tmp_path: Path) -> None:
    log = named(draw(1000, 30))
    pieces = pl.concat([log.slice(i, 37) for i in range(0, 1000, 37)], rechunk=False)
    log.write_parquet(tmp_path / "log.parquet", row_group_size=90)
    log.write_csv(tmp_path / "log.csv")
    for judge in (None, "judge"):
        expected = bytes_of(count_log(log, judge=judge))
        assert bytes_of(count_log(pieces, judge=judge)) == expected
        assert bytes_of(count_log(tmp_path / "log.parquet", judge=judge)) == expected
    # Readers of text give the columns of the schema, and their names: the same log again.
    assert bytes_of(count_log(tmp_path / "log.csv")) == bytes_of(count_log(log))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = named(draw(500, 9)).with_columns(
        query_id=pl.format("q{}", pl.col("judge") % 7), judge=pl.col("judge").cast(str)
    )
    log.write_parquet(tmp_path / "log.parquet")
    convert(tmp_path / "log.parquet", tmp_path / "shards", shards=4)
    return tmp_path / "shards"


def damage(folder: Path, shard: int, row: int, **cells: object) -> None:
    """Overwrite cells of a row, from 1, of a shard."""
    path = folder / f"shard-{shard:05}.parquet"
    rows = pl.read_parquet(path)
    at = pl.int_range(pl.len()) == row - 1
    rows.with_columns(
        pl.when(at).then(pl.lit(value, rows.schema[name])).otherwise(name).alias(name) for name, value in cells.items()
    ).write_parquet(path)


def test_errors_name_the_shard_and_its_row(folder: Path) -> None:
    sizes = [pl.read_parquet(path).height for path in sorted(folder.glob("*.parquet"))]
    shard = int(np.argmax(sizes[1:])) + 1
    damage(folder, shard, 40, weight=None)
    with pytest.raises(InputError, match=r"weight is missing") as caught:
        count_log(folder)
    assert (Path(str(caught.value.path)).name, caught.value.row) == (f"shard-{shard:05}.parquet", 40)
    # An earlier row that only counting finds comes first.
    damage(folder, shard, 39, weight=-1.0)
    with pytest.raises(InputError, match=r"not positive") as caught:
        count_log(folder)
    assert (Path(str(caught.value.path)).name, caught.value.row) == (f"shard-{shard:05}.parquet", 39)


@pytest.mark.parametrize("bad", [1, 2, 63, 64, 65, 128, 129, 300])
def test_the_first_bad_row_is_the_one_that_is_named(bad: int) -> None:
    log = draw(400, 9).with_row_index("at", offset=1)
    broken = log.with_columns(
        weight=pl.when(pl.col("at") == bad).then(0.0).when(pl.col("at") == bad + 1).then(None).otherwise("weight")
    )
    for judge in (None, "judge"):
        with rejected("not positive", row=bad):
            count_log(broken, judge=judge)
    missing = log.with_columns(loser=pl.when(pl.col("at") == bad).then(None).otherwise("loser"))
    for judge in (None, "judge"):
        with rejected("loser is missing", row=bad, column="loser"):
            count_log(missing, judge=judge)
