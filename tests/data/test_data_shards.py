"""Shards: hashes that never change, damaged folders, conversions that were killed, and tables that stay lazy."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from counted_logs import count_log
from data_files import stored, written
from drawn_votes import two_items
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.parquet import Manifest, design_heldout, shards_of, stable_hash
from rankbench.data.tables.column_texts import SAMPLED
from rankbench.errors import InputError
from rankbench.logs.open import log_file, open_log

IDS = [str(i) for i in range(12)]


def test_golden_values():
    """Splits of published results and shards on disk: these never change."""
    assert stable_hash("train/16", "shard") == 8532766692138894534
    assert stable_hash("train/16", "split") == 6387064819088598015
    assert shards_of(IDS, 4).tolist() == [3, 1, 2, 3, 0, 0, 0, 2, 3, 0, 0, 3]
    design, heldout = design_heldout(IDS, 3, 4)
    assert (design.tolist(), heldout.tolist()) == ([4, 7, 2], [10, 5, 3, 1])


def test_it_is_blake2b_of_the_id():
    digest = hashlib.blake2b("ä".encode(), digest_size=8, person=b"rankbench-split").digest()
    assert stable_hash("ä", "split") == int.from_bytes(digest, "big")


def test_shards_are_about_equal_and_independent_of_the_split():
    ids = [f"q{i}" for i in range(20_000)]
    shards = shards_of(ids, 8)
    # Binomial(20000, 1/8): five standard deviations are 234.
    assert np.abs(np.bincount(shards, minlength=8) - 2500).max() < 234
    parts = np.array([stable_hash(query, "split") % 8 for query in ids])
    joint = np.bincount(parts * 8 + shards, minlength=64)
    assert np.abs(joint - 312.5).max() < 5 * 17.6


queries = st.lists(st.text(max_size=4), min_size=2, max_size=40, unique=True)


@examples(60)
@given(queries, st.integers(1, 30), st.integers(0, 30), st.randoms())
def test_the_split_depends_on_nothing_but_the_ids(ids, design, heldout, random):
    one, other = design_heldout(ids, design, heldout)
    shuffled = random.sample(ids, len(ids))
    again = design_heldout(shuffled, design, heldout)
    assert [ids[q] for q in one] == [shuffled[q] for q in again[0]]
    assert [ids[q] for q in other] == [shuffled[q] for q in again[1]]
    assert not set(one.tolist()) & set(other.tolist())
    if len(ids) >= design + heldout:
        assert (len(one), len(other)) == (design, heldout)
    else:
        assert (len(one), len(other)) == ((len(ids) + 1) // 2, len(ids) // 2)


def test_more_design_queries_contain_fewer():
    ids = [f"q{i}" for i in range(100)]
    assert design_heldout(ids, 50, 20)[0][:30].tolist() == design_heldout(ids, 30, 20)[0].tolist()


def test_one_query_cannot_be_divided():
    with pytest.raises(InputError, match="two are needed"):
        design_heldout(["a"], 1, 1)


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


LOG = "query_id,winner,loser\nq,a,b\nq,b,c\n"


@pytest.fixture
def one_log(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_that_was_moved_out_of_the_way_comes_back(tmp_path: Path, one_log: Path) -> None:
    """The process was killed between moving the old folder away and putting the new one in its place."""
    convert(one_log, tmp_path / "shards", shards=1)
    (tmp_path / "shards").rename(tmp_path / ".shards.replaced")
    (tmp_path / ".shards.abcd1234").mkdir()  # the work of the process, which stays
    (tmp_path / "broken.csv").write_text("query_id,winner,loser\n")
    with pytest.raises(Exception, match="broken"):
        convert(tmp_path / "broken.csv", tmp_path / "shards", shards=1, force=True)
    assert names(tmp_path) == {"log.csv", "broken.csv", "shards", ".shards.abcd1234"}
    assert (tmp_path / "shards" / "manifest.json").exists()


def test_an_old_folder_that_was_replaced_already_goes(tmp_path: Path, one_log: Path) -> None:
    convert(one_log, tmp_path / "shards", shards=1)
    (tmp_path / ".shards.replaced").mkdir()
    (tmp_path / ".other.replaced").mkdir()
    (tmp_path / ".shards.of.replaced").mkdir()
    convert(one_log, tmp_path / "shards", shards=1, force=True)
    assert names(tmp_path) == {"log.csv", "shards", ".other.replaced", ".shards.of.replaced"}


CATEGORIES = pl.DataFrame(
    {"query_id": ["q"] * 2, "winner": pl.Series(["a", "b"], dtype=pl.Categorical), "loser": ["b", "a"]}
)


@pytest.fixture
def damaged(tmp_path):
    """A file whose schema calls a number of categories ``x``."""
    buffer = io.BytesIO()
    CATEGORIES.write_parquet(buffer)
    raw = buffer.getvalue()
    schema = re.search(rb"ARROW:schema.{2,8}?([A-Za-z0-9+/=]{100,})", raw, re.DOTALL)[1]
    told = base64.b64decode(schema)
    assert told.count(b"0;0;u32;") == 1
    return written(
        tmp_path / "votes.parquet", raw.replace(schema, base64.b64encode(told.replace(b"0;0;u32;", b"x;0;u32;")))
    )


def test_a_panic_names_the_file(damaged):
    with pytest.raises(pl.exceptions.PanicException):
        pl.scan_parquet(damaged).collect_schema()
    with pytest.raises(InputError, match=r"votes\.parquet"):
        choose_reader(damaged).scan(damaged).collect()
    with pytest.raises(InputError, match=r"cannot be read"):
        count_log(damaged)


@pytest.mark.parametrize("error", [pl.exceptions.ComputeError("zstd error"), pl.exceptions.PanicException("unwrap")])
def test_whatever_polars_raises_while_a_log_is_looked_at_names_the_file(tmp_path, monkeypatch, error):
    path = stored(CATEGORIES, tmp_path / "votes.parquet")
    source = open_log(path)

    def fails(_):
        raise error

    with pytest.raises(InputError, match=r"votes\.parquet: it cannot be read: (zstd error|unwrap)"):
        source.counted(fails)
    monkeypatch.setattr(pl.LazyFrame, "collect_schema", lambda _: fails(_))
    with pytest.raises(InputError, match=r"votes\.parquet: "):
        open_log(path)


MANY = 2 * SAMPLED + 10


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
    a, b = two_items(rng, MANY, 9)
    frame = pl.DataFrame({"query": rng.integers(0, 300, MANY).astype(str), "x": [f"i{i}" for i in a]})
    frame = frame.with_columns(y=pl.Series([f"i{i}" for i in b]), judge=pl.Series([f"j{i}" for i in a]))
    if sides:
        frame = frame.rename({"x": "left", "y": "right"}).with_columns(winner=pl.Series(["left", "tie"] * (MANY // 2)))
    else:
        frame = frame.rename({"x": "winner", "y": "loser"})
    return stored(frame, path)


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("name", ["votes.parquet", "votes.csv"])
def test_scanning_collects_facts_alone(tmp_path: Path, heights: list[int], name: str, sides: bool) -> None:
    """Rows are looked at, however long the log is: the first, and sums of all."""
    path = votes(tmp_path / name, sides=sides)
    frame = rankbench.scan(path)
    assert isinstance(frame, pl.LazyFrame)
    assert max(heights, default=0) <= SAMPLED
    assert frame.collect_schema().names()[:3] == ["query_id", "winner", "loser"]
    assert frame.collect().height == MANY


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("name", part_of(["votes.parquet", "votes.csv"]))
def test_partitioning_collects_no_table(tmp_path: Path, heights: list[int], name: str, sides: bool) -> None:
    convert(votes(tmp_path / name, sides=sides), tmp_path / "shards", shards=4)
    assert max(heights, default=0) <= SAMPLED
    shards = rankbench.scan(tmp_path / "shards")
    assert max(heights, default=0) <= SAMPLED
    assert shards.collect().height == MANY


def test_columns_frames_and_data_sets_are_scanned_too(tmp_path: Path) -> None:
    path = votes(tmp_path / "votes.csv", sides=False)
    plain = rankbench.scan(path).collect()
    other = pl.read_csv(path).rename({"winner": "better", "loser": "worse"})
    other.write_csv(tmp_path / "other.csv")
    columns = "winner=better,loser=worse"
    assert rankbench.scan(tmp_path / "other.csv", columns=columns).collect().equals(plain)
    assert rankbench.scan(tmp_path / "other.csv", columns=columns, reader="csv").collect().equals(plain)
    assert rankbench.scan(other, columns=columns).collect().height == MANY
    assert rankbench.scan("llmfao").collect().height == 8931
