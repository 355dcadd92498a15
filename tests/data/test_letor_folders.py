"""Query logs in folders, as LETOR's collections are unpacked: parts of one fold, neighbors, and folds side by side."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.parquet import Manifest
from rankbench.data.tables.items import load_dataset
from rankbench.errors import InputError
from rankbench.ranking.log_dataset import own_table

PARTS = ("train", "vali", "test")


def lines(query: int, count: int, features: int = 3) -> str:
    return "".join(
        f"{(query + item) % 3} qid:{query} {' '.join(f'{at}:{query + item / at:g}' for at in range(1, features + 1))}\n"
        for item in range(count)
    )


def fold(folder: Path, first: int) -> Path:
    """As MQ2008/Fold1: three files, of which each has queries of its own."""
    folder.mkdir(parents=True)
    for at, part in enumerate(PARTS):
        (folder / f"{part}.txt").write_text("".join(lines(10 * at + query, 4) for query in range(first, first + 3)))
    return folder


def queries(path: Path) -> list[str]:
    return choose_reader(path).scan(path).collect()["query_id"].unique(maintain_order=True).to_list()


def test_a_fold_is_its_parts(tmp_path: Path) -> None:
    path = fold(tmp_path / "Fold1", 1)
    assert queries(path) == [f"{part}/{10 * at + query}" for at, part in ((2, "test"), (0, "train"), (1, "vali"))
                             for query in (1, 2, 3)]  # fmt: skip


def test_paths_with_spaces_colons_and_other_letters_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fold(tmp_path / "Fold: 1 é", 1)
    for text in ("Fold: 1 é", "Fold: 1 é/t*.txt", "Fold: 1 é/train.txt:reader=letor(d=5)"):
        log = own_table(text)
        assert log is not None, text
        assert load_dataset(log).x.shape[1] == (5 if "d=5" in text else 3)
    # What is not there is a file that is not there, not a spec that cannot be read.
    with pytest.raises(InputError, match=r"Fold: 2: there is no such file or data set; did you mean 'Fold: 1 é'"):
        own_table("Fold: 2")


def test_folds_side_by_side_are_refused_with_what_to_say(tmp_path: Path) -> None:
    root = tmp_path / "my MQ2008"
    for number in (1, 2):
        fold(root / f"Fold{number}", number)
    said = f"{root}/Fold1/test.txt and {root}/Fold2/test.txt are of two folds"
    with pytest.raises(InputError) as caught:
        queries(root)
    assert said in str(caught.value)
    command = str(caught.value).rpartition("give one fold: ")[2]
    (chosen,) = shlex.split(command)
    assert len(queries(Path(chosen))) == 9
    found = CliRunner().invoke(main, ["run", "--suite", "paper", "--dataset", str(root), "--out", str(tmp_path / "o")])
    assert found.exit_code == 2
    assert said in found.stderr
    assert not (tmp_path / "o").exists()
    # One file of each fold is as wrong.
    with pytest.raises(InputError, match=r"Fold1/train.txt and .*Fold2/train.txt are of two folds"):
        queries(root / "Fold*" / "train.txt")


def test_parts_that_differ_by_their_ending_are_told_apart(tmp_path: Path) -> None:
    """As ``mq2008.train`` with ``mq2008.train.group`` beside it: queries without names, 1, 2, ... in each file."""
    for at, part in enumerate(PARTS):
        text = lines(at, 4).replace(f" qid:{at}", "") + lines(at + 1, 3).replace(f" qid:{at + 1}", "")
        (tmp_path / f"mq2008.{part}").write_text(text)
        (tmp_path / f"mq2008.{part}.group").write_text("4\n3\n")
    assert queries(tmp_path) == [f"mq2008.{part}/{query}" for part in ("test", "train", "vali") for query in "12"]


def test_parts_of_the_same_name_are_called_by_their_folder(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / str(year)).mkdir()
        (tmp_path / str(year) / "log.txt").write_text(lines(7, 3))
    assert queries(tmp_path) == ["2023/log/7", "2024/log/7"]


def test_what_one_part_never_mentions_is_zero_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(1, 3, features=2))
    (tmp_path / "b.txt").write_text(lines(2, 3, features=5))
    log = own_table(str(tmp_path))
    assert log is not None
    found = load_dataset(log)
    assert found.x.shape == (6, 5)
    assert not found.x[:3, 2:].any()
    assert found.x[3:].all()


def test_a_folder_of_parts_is_converted(tmp_path: Path) -> None:
    path = fold(tmp_path / "Fold1", 1)
    found = CliRunner().invoke(main, ["data", "convert", str(path), str(tmp_path / "shards"), "--shards", "2"])
    assert found.exit_code == 0, found.output
    source = Manifest.load(tmp_path / "shards").source
    whole = b"".join((path / f"{part}.txt").read_bytes() for part in sorted(PARTS))
    assert (source.bytes, source.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    rows = choose_reader(tmp_path / "shards").scan(tmp_path / "shards").collect()
    assert rows.sort("query_id", "item").equals(choose_reader(path).scan(path).collect().sort("query_id", "item"))
    assert rows.schema["x"] == pl.Array(pl.Float32, 3)
