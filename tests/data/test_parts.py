"""Logs in several files, patterns, what is piped in, and paths that no reader can open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner
from counted_logs import count_log
from data_files import stored, written

import rankbench
from rankbench.cli import main
from rankbench.data.readers.ballots import PreflibReader
from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import existing
from rankbench.logs.open import log_file, open_log

ITEMS = "abcdefg"
PROGRAM = [sys.executable, "-c", "from rankbench.cli import main; main()"]


def votes(count: int = 60) -> pl.DataFrame:
    pairs = [(ITEMS[i % 7], ITEMS[(i * i + 1 + i) % 7]) for i in range(4 * count)]
    pairs = [(x, y) for x, y in pairs if x != y][:count]
    return pl.DataFrame(pairs, schema=["winner", "loser"], orient="row").with_columns(
        judge=pl.Series([f"j{i % 5}" for i in range(count)]),
        day=pl.Series([f"2024-01-0{1 + i // 30}" for i in range(count)]),
    )


def spark(folder: Path, frame: pl.DataFrame) -> None:
    """As ``df.write.parquet`` does: parts with an identifier, marks of success and sums beside them."""
    folder.mkdir()
    for number, part in enumerate(frame.iter_slices(25)):
        name = f"part-{number:05}-3f0a-c000.snappy.parquet"
        part.write_parquet(folder / name, compression="snappy")
        (folder / f".{name}.crc").write_bytes(b"crc\0")
    (folder / "_SUCCESS").touch()
    (folder / "._SUCCESS.crc").write_bytes(b"crc\0")


def dask(folder: Path, frame: pl.DataFrame) -> None:
    """As ``ddf.to_parquet`` does: more than ten parts, whose numbers have no zeros before them."""
    folder.mkdir()
    for number, part in enumerate(frame.iter_slices(5)):
        part.write_parquet(folder / f"part.{number}.parquet")
    (folder / "_common_metadata").write_bytes(b"PAR1")


def polars(folder: Path, frame: pl.DataFrame) -> None:
    frame.lazy().sink_parquet(pl.PartitionBy(folder, max_rows_per_file=20), mkdir=True)


def hive(folder: Path, frame: pl.DataFrame) -> None:
    for (day,), part in frame.partition_by("day", as_dict=True, maintain_order=True, include_key=False).items():
        (folder / f"day={day}").mkdir(parents=True)
        part.write_parquet(folder / f"day={day}" / "00000000.parquet")


def csv(folder: Path, frame: pl.DataFrame) -> None:
    folder.mkdir()
    for number, part in enumerate(frame.iter_slices(25)):
        part.write_csv(folder / f"part-{number:05}.csv")
    (folder / "README.md").write_text("votes")


FOLDERS = {"spark": spark, "dask": dask, "polars": polars, "hive": hive, "csv": csv}


@pytest.mark.parametrize("tool", part_of(FOLDERS, 3))
def test_a_folder_is_the_log_that_one_file_is(tmp_path: Path, tool: str) -> None:
    frame = votes()
    frame.write_parquet(tmp_path / "votes.parquet")
    FOLDERS[tool](tmp_path / "votes", frame)
    whole = rankbench.scan(tmp_path / "votes.parquet").collect()
    assert rankbench.scan(tmp_path / "votes").collect().equals(whole)
    for method in ("bradley-terry", "elo"):
        names = ("votes.parquet", "votes")
        one, many = (
            rankbench.aggregate(tmp_path / name, method, intervals="judges", columns="time=").table for name in names
        )
        assert many.equals(one)
    if tool not in ("csv", "hive"):
        assert count_log(tmp_path / "votes").judgments == frame.height
        source = open_log(tmp_path / "votes")
        assert source.parquet is not None
        assert source.parquet.frame().select("winner", "loser").collect().equals(frame.select("winner", "loser"))


def test_folders_of_hive_make_columns(tmp_path: Path) -> None:
    hive(tmp_path / "up=1" / "votes", votes())
    path = tmp_path / "up=1" / "votes"
    found = rankbench.scan(path, columns="judge=day").collect()
    assert found["judge"].to_list() == votes()["day"].to_list()
    assert open_log(path, columns="judge=day").parquet is None
    assert rankbench.aggregate(path, columns="time=day", method="elo").table.height == 7
    with pytest.raises(InputError, match="no column 'up' for the judge"):
        rankbench.scan(path, columns="judge=up")


def test_patterns_are_the_files_that_they_mean(tmp_path: Path) -> None:
    dask(tmp_path / "votes", votes())
    (tmp_path / "votes" / "other.csv").write_text("x,y\n1,2\n")
    found = rankbench.scan(str(tmp_path / "votes" / "part.*.parquet")).collect()
    assert found.equals(rankbench.scan(tmp_path / "votes").collect())
    assert rankbench.scan(str(tmp_path / "**" / "part.1[01].parquet")).collect().height == 10
    with pytest.raises(InputError, match="there is no such file"):
        rankbench.scan(str(tmp_path / "votes" / "*.ndjson"))


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
def test_a_file_that_is_a_copy_of_another_one_is_named(tmp_path: Path, ending: str) -> None:
    write = {"csv": votes().write_csv, "ndjson": votes().write_ndjson, "parquet": votes().write_parquet}[ending]
    write(tmp_path / f"votes.{ending}")
    (tmp_path / f"backup.{ending}").write_bytes((tmp_path / f"votes.{ending}").read_bytes())
    said = f"votes.{ending} is a copy of backup.{ending}, and its rows count again"
    assert sum(said in note for note in open_log(tmp_path).notes) == 1
    votes(59).write_csv(tmp_path / f"votes.{ending}") if ending == "csv" else (tmp_path / f"votes.{ending}").unlink()
    assert not any("is a copy of" in note for note in open_log(tmp_path).notes)


def test_a_wrong_row_has_its_file(tmp_path: Path) -> None:
    frame = votes().with_columns(loser=pl.when(pl.int_range(pl.len()) == 37).then("winner").otherwise("loser"))
    spark(tmp_path / "votes", frame)
    csv(tmp_path / "texts", frame)
    name = "part-00001-3f0a-c000.snappy.parquet"
    for method in ("bradley-terry", "elo"):
        with pytest.raises(InputError, match=rf"{name}:13 .*itself"):
            rankbench.aggregate(tmp_path / "votes", method, columns="time=")
        with pytest.raises(InputError, match=r"part-00001.csv:14 .*itself"):
            rankbench.aggregate(tmp_path / "texts", method, columns="time=")


@pytest.mark.parametrize("tool", ["spark", "csv"])
def test_a_run_knows_when_a_part_changed(tmp_path: Path, tool: str) -> None:
    FOLDERS[tool](tmp_path / "votes", votes())
    log = log_file(tmp_path / "votes")
    before = log.fingerprint()
    assert log_file(tmp_path / "votes").fingerprint() == before
    assert log.table == "comparisons"
    file = sorted(tmp_path.glob("votes/part-*"))[-1]
    votes(3).write_parquet(file) if tool == "spark" else votes(3).write_csv(file)
    assert log.fingerprint() != before


def test_what_folders_must_be(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no reader knows this folder"):
        rankbench.scan(tmp_path / "empty")
    csv(tmp_path / "mixed", votes())
    (tmp_path / "mixed" / "more.ndjson").write_text('{"winner": "a", "loser": "b"}\n')
    with pytest.raises(
        InputError, match=r"files of several formats: 'more.ndjson', .*; give those that are meant, as '.*/\*"
    ):
        rankbench.scan(tmp_path / "mixed")
    (tmp_path / "ballots").mkdir()
    (tmp_path / "ballots" / "a.toi").write_bytes(PreflibReader.example())
    with pytest.raises(SpecError, match="fixed names"):
        rankbench.scan(tmp_path / "ballots", columns="winner=x")


@pytest.mark.full
@pytest.mark.parametrize("ending", part_of(["csv", "ndjson", "parquet", "json"], 3))
def test_what_is_piped_in_is_a_log(tmp_path: Path, ending: str) -> None:
    path = stored(votes(), tmp_path / f"votes.{ending}")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [*PROGRAM, "aggregate", "-", "--format", "csv"],
        input=path.read_bytes(),
        capture_output=True,
        env=os.environ | {"TMPDIR": str(temporary)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 8
    assert not list(temporary.glob("rankbench-*"))


@pytest.mark.full
def test_nothing_piped_in_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run([*PROGRAM, "aggregate", "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"empty" in done.stderr


VOTES = "winner,loser\na,b\nb,c\nc,a\n"


def test_a_name_that_is_not_utf_8_is_shown_with_escapes() -> None:
    # Whether there is such a file or not.
    with pytest.raises(InputError) as error:
        existing(Path("folder", os.fsdecode(b"sur\xff.csv")))
    shown = str(Path("folder", "sur")) + r"\xff.csv"
    assert str(error.value) == f"{shown}: the path is not UTF-8; rename the file or its folder"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the system has no such names")
@pytest.mark.parametrize("name", [b"sur\xff.csv", b"\xe9/votes.csv"])
def test_files_of_such_names_are_refused_whoever_reads_them(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(VOTES)
    for use in (choose_reader, open_log, lambda p: open_log(p, reader="csv"), rankbench.aggregate):
        with pytest.raises(InputError, match=r"\\x[fe][f9].*: the path is not UTF-8"):
            use(path)
    for args in (["aggregate"], ["data", "describe"], ["run", "--dry-run", "--log"], ["run", "--log"]):
        found = CliRunner().invoke(main, [*args, str(path)])
        assert isinstance(found.exception, InputError | SystemExit), args
        assert "not UTF-8" in (str(found.exception) + found.output), args


def test_names_in_other_scripts_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "голоса é 投票.csv", VOTES)
    assert rankbench.aggregate(path).table.height == 3
