import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from data_files import letor_file, rejected, written

from rankbench.data import convert as module
from rankbench.data.convert import convert
from rankbench.data.readers.csv import CsvReader
from rankbench.data.readers.letor import LetorReader
from rankbench.data.readers.parquet import Manifest, ParquetReader, shards_of
from rankbench.errors import InputError


def changed_manifest(folder, change):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))


def test_every_row_arrives_once_and_queries_stay_whole(tmp_path, monkeypatch):
    source = letor_file(tmp_path / "a.txt")
    monkeypatch.setattr(module, "_SPOOL_BYTES", 500)
    manifest = convert(source, tmp_path / "out", shards=4)
    before = LetorReader().scan(source).collect()
    after = ParquetReader().scan(tmp_path / "out").collect()
    assert (manifest.rows, manifest.queries, manifest.d) == (before.height, 60, 3)
    assert after.sort("query_id", "item").equals(before.sort("query_id", "item"))
    for number, shard in enumerate(manifest.shards):
        part = pl.read_parquet(tmp_path / "out" / shard.file)
        runs = part["query_id"].rle().struct.field("value").to_list()
        assert len(runs) == len(set(runs)) == shard.queries
        assert set(shards_of(runs, 4).tolist()) <= {number}
        assert part.select((pl.col("item") == pl.int_range(pl.len()).over("query_id")).all()).item()


def test_comparisons_are_brought_together_by_query_in_the_order_they_were_made(tmp_path, monkeypatch):
    random = np.random.default_rng(1)
    n = 500
    votes = pl.DataFrame(
        {"query_id": random.integers(9, size=n), "winner": "a", "loser": [f"b{i}" for i in range(n)], "time": range(n)}
    )
    votes.write_csv(tmp_path / "votes.csv")
    monkeypatch.setattr(module, "_SPOOL_BYTES", 100)
    manifest = convert(tmp_path / "votes.csv", tmp_path / "out", shards=3)
    after = ParquetReader().scan(tmp_path / "out").collect()
    assert (manifest.table, manifest.rows, manifest.queries, manifest.d) == ("comparisons", n, 9, None)
    runs = after["query_id"].rle().struct.field("value").to_list()
    assert len(runs) == len(set(runs)) == 9
    expected = CsvReader().scan(tmp_path / "votes.csv").collect()
    for query in runs:
        mine = after.filter(pl.col("query_id") == query)
        assert mine.equals(expected.filter(pl.col("query_id") == query))


def test_more_shards_than_queries(tmp_path):
    manifest = convert(letor_file(tmp_path / "a.txt", queries=2), tmp_path / "out", shards=7)
    assert len(manifest.shards) == 7
    assert ParquetReader().scan(tmp_path / "out").select(pl.col("query_id").n_unique()).collect().item() == 2


def test_the_manifest_says_what_it_was_made_from(tmp_path):
    source = letor_file(tmp_path / "a.txt")
    convert(source, tmp_path / "out", reader=LetorReader(d=3))
    written = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert written["source"] == {
        "name": "a.txt",
        "bytes": source.stat().st_size,
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "reader": "letor:d=3",
    }
    assert written["columns"]["x"] == "Array(Float32, shape=(3,))"


def test_the_same_source_gives_the_same_files(tmp_path):
    source = letor_file(tmp_path / "a.txt")
    convert(source, tmp_path / "one", shards=3)
    convert(source, tmp_path / "two", shards=3)
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_shards_can_be_converted_again(tmp_path):
    first = convert(letor_file(tmp_path / "a.txt"), tmp_path / "one", shards=3)
    second = convert(tmp_path / "one", tmp_path / "two", shards=5, reader=ParquetReader())
    assert (second.rows, second.queries, second.source.sha256) == (first.rows, first.queries, first.source.sha256)


@pytest.mark.parametrize("bad", ["x qid:99 1:1\n", "1 qid:0 1:1\n"], ids=["malformed", "query comes back"])
def test_nothing_half_written(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(module, "_SPOOL_BYTES", 1)
    source = letor_file(tmp_path / "a.txt")
    source.write_text(source.read_text() + bad)
    with pytest.raises(InputError):
        convert(source, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


class TestDestination:
    def test_is_replaced_with_force_alone(self, tmp_path):
        source = letor_file(tmp_path / "a.txt")
        convert(source, tmp_path / "out", shards=2)
        with pytest.raises(InputError, match="force="):
            convert(source, tmp_path / "out", shards=3)
        assert len(Manifest.load(tmp_path / "out").shards) == 2
        convert(source, tmp_path / "out", shards=3, force=True)
        assert len(Manifest.load(tmp_path / "out").shards) == 3
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "out"]

    def test_survives_a_failure_with_force(self, tmp_path):
        source = letor_file(tmp_path / "a.txt")
        convert(source, tmp_path / "out", shards=2)
        source.write_text("nonsense\n")
        with pytest.raises(InputError):
            convert(source, tmp_path / "out", shards=3, force=True)
        assert len(Manifest.load(tmp_path / "out").shards) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other/1"}, "format"),
        ({"surprise": 1}, "surprise"),
        ({"rows": -1}, "rows"),
        ({"shards": [{"file": "../shard-00001.parquet", "rows": 1, "queries": 1}]}, "not a manifest"),
        ({"shards": [{"file": "shard-00007.parquet", "rows": 1, "queries": 1}]}, r"shard-00007\.parquet is missing"),
    ],
)
def test_a_manifest_that_says_something_else(tmp_path, change, said):
    convert(letor_file(tmp_path / "a.txt"), tmp_path / "out", shards=2)
    changed_manifest(tmp_path / "out", change)
    with pytest.raises(InputError, match=said):
        ParquetReader().scan(tmp_path / "out")


PEAK = """
import resource, sys
from pathlib import Path
from rankbench.data.convert import convert
convert(Path(sys.argv[1]), Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(source, destination):
    """Return the peak memory of a conversion in a process of its own, in MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, source, destination], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def repeated(sample, path, times):
    """Write `times` copies of a LETOR sample with query ids of their own."""
    lines = sample.read_bytes()
    with path.open("wb") as out:
        for i in range(times):
            out.write(re.sub(rb" qid:(\d+)", lambda found, i=i: b" qid:%d-%s" % (i, found[1]), lines))
    return path


@pytest.mark.full
def test_memory_does_not_grow_with_rows(tmp_path):
    small = letor_file(tmp_path / "small.txt", queries=600, d=120)
    large = repeated(small, tmp_path / "large.txt", 24)
    little, much = peak(small, tmp_path / "a"), peak(large, tmp_path / "b")
    assert large.stat().st_size > 75e6
    # The text alone grew by 75 MB; beyond the spool's own bound nothing may grow with it.
    assert much < little + 2.2 * module._SPOOL_BYTES / 2**20


class TestForce:
    @pytest.fixture
    def made(self, tmp_path):
        self.source = letor_file(tmp_path / "a.txt")
        convert(self.source, tmp_path / "out", shards=2)
        return tmp_path / "out"

    @pytest.mark.parametrize(
        ("spoil", "said"),
        [
            (lambda out: (out / "thesis.txt").write_text("years of work"), "it holds other files too: 'thesis.txt'"),
            (lambda out: (out / "thesis").mkdir(), "it holds other files too: 'thesis'"),
            (lambda out: (out / "manifest.json").unlink(), r"no manifest\.json"),
            (lambda out: changed_manifest(out, {"shards": []}), "not a manifest of shards"),
            (lambda out: out.symlink_to(out.rename(out.with_name("elsewhere"))), "not a folder of shards"),
            (lambda out: written(out.rename(out.with_name("elsewhere")).with_name("out"), "precious"), "not a folder"),
        ],
    )
    def test_what_is_no_folder_of_shards_alone_is_never_replaced(self, made, spoil, said):
        spoil(made)
        before = sorted(made.parent.rglob("*"))
        with pytest.raises(InputError, match=said):
            convert(self.source, made, force=True)
        assert sorted(made.parent.rglob("*")) == before

    def test_no_folder_is_made_for_it(self, made):
        with pytest.raises(InputError, match="no such folder"):
            convert(self.source, made.parent / "no" / "out", force=True)

    @pytest.mark.parametrize("force", [False, True])
    def test_what_appears_meanwhile_is_kept(self, made, tmp_path, force):
        destination = made if force else tmp_path / "new"

        def appear(rows):
            destination.mkdir(exist_ok=True)
            (destination / "thesis.txt").write_text("years of work")

        with pytest.raises(InputError, match=r"thesis\.txt|exists already"):
            convert(self.source, destination, force=force, progress=appear)
        assert (destination / "thesis.txt").read_text() == "years of work"

    def test_a_shard_does_not_replace_its_own_folder(self, made):
        with pytest.raises(InputError, match=r"the source shard-00001\.parquet is in it"):
            convert(made / "shard-00001.parquet", made, force=True)
        assert Manifest.load(made).rows

    def test_a_folder_can_be_divided_anew_in_place(self, made):
        before = ParquetReader().scan(made).collect().sort("query_id", "item")
        assert len(convert(made, made, shards=5, force=True).shards) == 5
        assert ParquetReader().scan(made).collect().sort("query_id", "item").equals(before)

    def test_the_old_folder_comes_back_if_the_new_one_cannot_be_put_there(self, made, monkeypatch):
        rename = type(made).rename

        def failing(path, target):
            if path.name == "whole":
                raise OSError("no")
            return rename(path, target)

        monkeypatch.setattr(type(made), "rename", failing)
        before = (made / "manifest.json").read_bytes()
        with pytest.raises((OSError, InputError)):
            convert(self.source, made, shards=5, force=True)
        assert (made / "manifest.json").read_bytes() == before
        assert sorted(p.name for p in made.parent.iterdir()) == ["a.txt", "out"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda shard: shard.write_bytes(shard.read_bytes()[:-30]), "damaged or cut off"),
        (lambda shard: pl.DataFrame({"a": [1]}).write_parquet(shard), "other columns"),
        (lambda shard: pl.read_parquet(shard).head(3).write_parquet(shard), "3 rows, not the "),
    ],
)
def test_damaged_shards(tmp_path, damage, said):
    convert(letor_file(tmp_path / "a.txt"), tmp_path / "out", shards=2)
    damage(tmp_path / "out" / "shard-00001.parquet")
    with rejected(said, path=tmp_path / "out" / "shard-00001.parquet"):
        ParquetReader().scan(tmp_path / "out")


@pytest.mark.parametrize(
    "failure",
    [
        OSError("No space left on device (os error 28): FOLDER/.out.abcd1234/spool/0.arrow"),
        OSError(28, "No space left on device"),
        pl.exceptions.ComputeError("No space left on device"),
    ],
)
def test_a_full_disk_names_the_destination(tmp_path, monkeypatch, failure):
    source = written(tmp_path / "votes.csv", "winner,loser\na,b\n")

    def full(*_, **__):
        raise failure

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(InputError, match=r"out: it cannot be written \(No space left on device\); is there space"):
        convert(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["votes.csv"]
