"""A folder of shards that is damaged where rows are: an error that names the shard, whoever reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankbench
from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.parquet import Manifest
from rankbench.errors import InputError
from rankbench.ranking.log_dataset import log_file

ROWS = [(f"q{at % 9}", *"ab"[:: 1 if at % 3 else -1]) for at in range(90)]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    pl.DataFrame(ROWS, schema=["query_id", "winner", "loser"], orient="row").write_csv(tmp_path / "log.csv")
    convert(tmp_path / "log.csv", tmp_path / "shards", shards=3)
    return tmp_path / "shards"


def damage(shards: Path) -> Path:
    """Overwrite the header of the first page: the footer, and so columns and number of rows, is as it was."""
    path = next(shards / shard.file for shard in Manifest.load(shards).shards if shard.rows)
    data = bytearray(path.read_bytes())
    data[4:12] = b"\xff" * 8
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "use",
    [
        lambda shards, out: choose_reader(shards).scan(shards).collect(),
        lambda shards, out: convert(shards, out, shards=2),
        lambda shards, out: rankbench.run("own-log", dataset=log_file(shards), out=out),
    ],
    ids=["read", "convert", "run"],
)
def test_the_shard_is_named(shards: Path, tmp_path: Path, use: Callable[[Path, Path], object]) -> None:
    with pytest.raises(InputError, match=f"{damage(shards).name}: it cannot be read"):
        use(shards, tmp_path / "out")


def test_a_shard_that_goes_away_while_it_is_read_is_named(shards: Path) -> None:
    found = choose_reader(shards).scan(shards)
    gone = next(shards / shard.file for shard in Manifest.load(shards).shards if shard.rows)
    gone.unlink()
    with pytest.raises(InputError, match=f"{gone.name}: it cannot be read"):
        found.collect()


def test_rows_columns_and_filters_are_those_of_all_shards(shards: Path) -> None:
    """Compared with the rows that were converted, in the order of the shards."""
    found = choose_reader(shards).scan(shards)
    whole = [row for shard in Manifest.load(shards).shards for row in pl.read_parquet(shards / shard.file).rows()]
    assert found.collect().rows() == whole
    assert sorted(whole) == sorted(ROWS)
    assert found.select("loser").collect().to_series().to_list() == [row[2] for row in whole]
    assert found.filter(pl.col("winner") == "b").collect().rows() == [row for row in whole if row[1] == "b"]
    for number in (0, 1, 31, 89, 200):
        assert found.head(number).collect().rows() == whole[:number]
    assert found.slice(40, 7).collect().rows() == whole[40:47]
    few = found.filter(pl.col("winner") == "b").head(4).select("query_id").collect().to_series().to_list()
    assert few == [row[0] for row in whole if row[1] == "b"][:4]
