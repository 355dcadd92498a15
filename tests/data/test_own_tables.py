"""Tables of one's own: frames and lists in memory, files and folders by their paths, and cards."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from data_files import letor_file
from forked import run_program

import rankbench
from rankbench.data.cards import own_cards_folder
from rankbench.data.tables.items import load_dataset
from rankbench.errors import InputError, SpecError
from rankbench.logs.open import LogDataset
from rankbench.runner.prepare import dataset_of, protocol_of

ROWS = [
    {"model_a": "x", "model_b": "y", "winner": "model_a", "language": "en"},
    {"model_a": "y", "model_b": "z", "winner": "model_b", "language": "en"},
    {"model_a": "x", "model_b": "z", "winner": "tie", "language": "de"},
    {"model_a": "z", "model_b": "x", "winner": "model_b", "language": "de"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Arrow:
    """A table that says what it holds by Arrow's interface alone, as those of PyArrow and DuckDB do."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


TABLES = {
    "a list of dicts": lambda: ROWS,
    "a dict of lists": lambda: COLUMNS,
    "Arrow": lambda: Arrow(pl.DataFrame(ROWS)),
    "polars": lambda: pl.DataFrame(ROWS),
}


@pytest.mark.parametrize("kind", part_of(TABLES))
def test_they_are_ranked_as_their_file_is(tmp_path: Path, kind: str) -> None:
    table = TABLES[kind]()
    pl.DataFrame(ROWS).write_csv(tmp_path / "votes.csv")
    expected = rankbench.aggregate(tmp_path / "votes.csv").table
    assert rankbench.aggregate(table).table.equals(expected)
    assert rankbench.scan(table).collect()["winner"].to_list() == ["x", "z", "x", "x"]


def test_score_tables_in_memory_are_ranked() -> None:
    rows = [{"system": s, "task": f"t{t}", "score": 10 * t + 2 * len(s)} for s in ("a", "bb", "ccc") for t in range(12)]
    table = rankbench.rank(rows, replicates=50).table
    assert table.filter(pl.col("method") == "mean-score")["system"].to_list() == ["ccc", "bb", "a"]


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        ([{"winner": "a", "loser": "b"}, {"winner": "a"}], InputError, r"row 2 \[loser\]: the cell is empty"),
        ({"winner": ["a"], "loser": ["b", "c"]}, InputError, "the table cannot be read"),
        ([("a", "b")], SpecError, "a list is a log if its entries are dicts"),
        (3, SpecError, "a int is no log"),
        ([], InputError, "there are no columns: the table is empty"),
    ],
)
def test_what_is_no_log_is_said(table: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        rankbench.aggregate(table)


def test_rankings_are_made_by_any_column() -> None:
    found = rankbench.aggregate(ROWS, "win-rate", by="language").table
    for language in ("en", "de"):
        alone = rankbench.aggregate([row for row in ROWS if row["language"] == language], "win-rate").table
        part = found.filter(pl.col("query") == language).drop("query")
        assert part.equals(alone)
    assert found["query"].unique().sort().to_list() == ["de", "en"]
    with pytest.raises(InputError, match="there is no column 'lang' for the query; did you mean 'language'"):
        rankbench.aggregate(ROWS, by="lang")


def test_clicks_are_ranked_by_any_column_too() -> None:
    clicks = [
        {"session": f"s{i}", "position": at, "doc": doc, "clicked": int(at == 1 + i % 2), "device": "ab"[i % 2]}
        for i in range(8)
        for at, doc in enumerate("xy", 1)
    ]
    found = rankbench.aggregate(clicks, by="device").table
    for device in "ab":
        alone = rankbench.aggregate([row for row in clicks if row["device"] == device]).table
        assert found.filter(pl.col("query") == device).drop("query").equals(alone)


@pytest.mark.parametrize(
    "name", ["items.txt", "my items: of 2024.txt", "a, b=c.svmlight", "x:reader=y.txt", "[1]*.train"]
)
def test_a_file_is_a_data_set_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = letor_file(tmp_path / name, 12)
    dataset = dataset_of(str(path))
    assert isinstance(dataset, LogDataset)
    assert (dataset.table, str(dataset)) == ("items", name)
    assert dataset.fingerprint() == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(load_dataset(dataset).ids) == 12
    reader = "letor(allow-single=true)"
    told = dataset_of(f"{path}:reader={reader}")
    assert load_dataset(told).x.shape == load_dataset(dataset).x.shape
    # Results name it so, and from its folder it is read back.
    monkeypatch.chdir(tmp_path)
    assert str(dataset_of(str(told))) == str(told)
    prepared = protocol_of("btl:design=6,heldout=5").prepare(dataset, 1)
    assert {split: len(names) for split, names in prepared.units.items()} == {"design": 6, "heldout": 5}


def test_a_folder_of_files_is_one_table_whose_queries_are_told_apart(tmp_path: Path) -> None:
    for number, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        letor_file(tmp_path / name, 5, seed=number)
    (tmp_path / "SHA256SUMS").write_text("...")
    (tmp_path / "README.md").write_text("...")
    found = load_dataset(dataset_of(str(tmp_path)))
    assert sorted(found.ids) == sorted(f"{name}/{q}" for name in ("train", "vali", "test") for q in range(5))
    one = load_dataset(dataset_of(str(tmp_path / "vali.txt")))
    rows = [at for at, name in enumerate(found.ids) if name.startswith("vali/")]
    assert found.take(np.array(rows)).x.tolist() == one.x.tolist()
    assert len(load_dataset(dataset_of(str(tmp_path / "t*.txt"))).ids) == 10


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    letor_file(tmp_path / "items.txt", 12)
    with pytest.raises(InputError, match=r"there is no such file; did you mean 'items.txt'"):
        dataset_of(str(tmp_path / "item.txt"))
    with pytest.raises(InputError, match="did you mean 'web10k-like'"):
        dataset_of("web10k-lik:queries=10")
    (tmp_path / "bad.txt").write_text("1 qid:1 1:x\n2 qid:1 1:2\n")
    with pytest.raises(InputError, match=r"bad.txt:1"):
        load_dataset(dataset_of(str(tmp_path / "bad.txt")))


def test_registered_names_come_before_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llmfao").mkdir()
    monkeypatch.chdir(tmp_path)
    assert dataset_of("llmfao").name == "llmfao"


CARD = """
name = "house"
title = "Our own queries"
licence = "ours"
restricted = false
homepage = "https://example.org"
citation = "none"
reader = "letor"
d = 3
expected = {{ queries = 12, rows = {rows} }}
[[files]]
path = "items.txt"
sha256 = "{sha256}"
"""


def cards(folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    (folder / "house").mkdir(parents=True)
    path = letor_file(folder / "house" / "items.txt", 12)
    text = CARD.format(
        rows=len(path.read_text().splitlines()), sha256=hashlib.sha256(path.read_bytes()).hexdigest()
    ).replace(*change)
    (folder / "house.toml").write_text(text)
    return folder


def said(cwd: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_program(*words, folder=cwd, environment=os.environ | environment)


@pytest.mark.full
def test_own_cards_are_data_sets_like_others(tmp_path: Path) -> None:
    folder = cards(tmp_path / "my cards")
    by_variable = said(tmp_path, "data", "describe", "house", RANKBENCH_CARDS=str(folder))
    assert by_variable.returncode == 0, by_variable.stderr
    (tmp_path / "rankbench.toml").write_text('cards = "my cards"\n')
    by_file = said(tmp_path, "data", "describe", "house")
    assert by_file.stdout == by_variable.stdout
    assert "12" in by_file.stdout
    listed = said(tmp_path, "data", "list")
    assert "Our own queries" in listed.stdout
    assert "mq2008" in listed.stdout
    assert said(tmp_path, "data", "verify", "house").stdout == "house: ok\n"
    (folder / "house" / "items.txt").write_text("1 qid:1 1:2\n")
    changed = said(tmp_path, "data", "verify", "house")
    assert changed.returncode == 2
    assert "sha256" in changed.stderr


@pytest.mark.parametrize(
    ("settings", "change", "complaint"),
    [
        ('cards = "nowhere"', ("", ""), "cards in rankbench.toml does not name a folder"),
        ('card = "c"', ("", ""), "rankbench.toml [card]: Extra inputs are not permitted"),
        ("cards = 3", ("", ""), "rankbench.toml [cards]: must be a text, not 3"),
        ("cards = ", ("", ""), "rankbench.toml: not TOML"),
        ('cards = "c"', ("licence", "license"), "house.toml [licence]"),
        ('cards = "c"', ('"house"', '"mq2008"'), "house.toml [name]: a data set 'mq2008' is there already"),
    ],
)
def test_what_is_wrong_with_own_cards_is_said(
    tmp_path: Path, settings: str, change: tuple[str, str], complaint: str
) -> None:
    cards(tmp_path / "c", change)
    (tmp_path / "rankbench.toml").write_text(settings + "\n")
    found = said(tmp_path, "data", "list")
    assert found.returncode == 2, found.stdout
    assert complaint in found.stderr
    assert "Traceback" not in found.stderr


def test_the_variable_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKBENCH_CARDS", raising=False)
    assert own_cards_folder() is None
    (tmp_path / "rankbench.toml").write_text('cards = "."')
    assert own_cards_folder() == tmp_path.resolve()
    monkeypatch.setenv("RANKBENCH_CARDS", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="RANKBENCH_CARDS does not name a folder"):
        own_cards_folder()
