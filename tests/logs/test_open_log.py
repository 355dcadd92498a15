"""A log is opened once: its reader, its bytes, its digest, and other roles of its columns."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import rejected, stored, written
from drawn_votes import two_items

import rankbench
from rankbench.cli import main
from rankbench.core.spec import parse
from rankbench.data.readers import choose
from rankbench.data.readers.csv import CsvReader
from rankbench.errors import SpecError, Unread
from rankbench.interfaces.table_check import RawTable
from rankbench.logs.open import open_log, own_log, raw_log
from rankbench.logs.question import Filter
from rankbench.ranking.covariates import offered_controls


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Write votes with judges, and a category that is not read."""
    rng = np.random.default_rng(3)
    left, right = two_items(rng, 120, 4)
    frame = pl.DataFrame({
        "left": [f"m{i}" for i in left],
        "right": [f"m{i}" for i in right],
        "winner": np.where(rng.random(120) < 0.6, "left", "right"),
        "judge": [f"j{k}" for k in rng.integers(12, size=120)],
        "lang": np.where(np.arange(120) % 3 == 0, "de", "en"),
    })  # fmt: skip
    return stored(frame, tmp_path / "judged.csv")


@pytest.fixture
def long(judged: Path, tmp_path: Path) -> Path:
    """Write the votes of `judged` with lengths of both items, in a folder of their own."""
    (tmp_path / "long").mkdir()
    lengths = np.random.default_rng(4).random((2, 120)).round(3)
    frame = pl.read_csv(judged).with_columns(length_left=lengths[0], length_right=lengths[1])
    return stored(frame, tmp_path / "long" / "long.csv")


def sha256_in(*words: str) -> object:
    result = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
    return json.loads(result.stdout)["data"]["sha256"]


@pytest.mark.full
def test_answers_have_the_digest_of_what_was_opened_whatever_it_is_called(judged: Path) -> None:
    own = hashlib.sha256(judged.read_bytes()).hexdigest()
    pattern = str(judged.with_name("judged.cs*"))
    for log in (str(judged), f"{judged}:reader=csv", f'{judged}:columns="judge="', pattern):
        assert sha256_in("aggregate", log) == own
    assert sha256_in("audit", f"{judged}:reader=csv") == own
    second = written(judged.with_name("other.csv"), judged.read_bytes())
    several = f"judged.csv {own}\nother.csv {own}\n"
    for log in (str(judged.with_name("*.csv")), str(judged.parent)):
        assert sha256_in("aggregate", log) == hashlib.sha256(several.encode()).hexdigest()
    assert second.is_file()
    assert rankbench.aggregate(pl.read_csv(judged)).sha256() is None


def test_a_digest_is_of_what_was_read_or_there_is_none(judged: Path) -> None:
    found = rankbench.aggregate(judged)
    written(judged, judged.read_text() + "m0,m1,left,1,de,1,1\n")
    with rejected("changed while it was read", path=judged):
        found.sha256()


@pytest.mark.full
def test_a_log_is_opened_once_for_whatever_is_asked(judged: Path, long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()
    raw, sniff = CsvReader.raw, choose.PartsReader.sniff.__func__  # type: ignore[attr-defined]

    def counted_raw(self: CsvReader, path: Path) -> RawTable:
        calls["raw"] += 1
        return raw(self, path)

    def counted_sniff(cls: type, path: Path, head: bytes) -> bool:
        calls["sniff"] += 1
        return bool(sniff(cls, path, head))

    monkeypatch.setattr(CsvReader, "raw", counted_raw)
    monkeypatch.setattr(choose.PartsReader, "sniff", classmethod(counted_sniff))
    audited = rankbench.audit(judged)
    assert {probe.name: probe for probe in audited.probes}["without-category"].table is not None
    assert calls == {"raw": 1}
    for ask in (
        lambda: rankbench.aggregate(judged, by="lang", intervals="judges", replicates=3),
        lambda: rankbench.aggregate(long, control="length"),
        lambda: rankbench.scan(judged),
        lambda: CliRunner().invoke(main, ["data", "describe", str(judged)], catch_exceptions=False),
    ):
        calls.clear()
        ask()
        assert calls == {"raw": 1}


def test_a_score_table_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"s{i},t{j},{(7 * i + 3 * j * j) % 11}\n" for i in range(4) for j in range(9))
    path = written(tmp_path / "scores.csv", f"system,task,score\n{rows}")
    paths, raw = list[Path](), CsvReader.raw
    monkeypatch.setattr(CsvReader, "raw", lambda self, path: paths.append(path) or raw(self, path))
    own = hashlib.sha256(path.read_bytes()).hexdigest()
    for log in (str(path), f"{path}:reader=csv", str(tmp_path / "*.csv")):
        paths.clear()
        found = rankbench.audit(log)
        assert (len(paths), found.sha256()) == (1, own)
        paths.clear()
        assert rankbench.rank(log).facts["sha256"] == own
        assert len(paths) == 1


def test_a_data_set_is_read_once_in_several_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    paths, raw = list[Path](), CsvReader.raw
    monkeypatch.setattr(CsvReader, "raw", lambda self, path: paths.append(path) or raw(self, path))
    source = open_log("llmfao")
    judges = source.with_role("query", source.columns["judge"]).frame.select(pl.col("query_id").n_unique())
    assert judges.collect().item() == source.frame.select(pl.col("judge").n_unique()).collect().item()
    assert len(paths) == 1


def test_other_roles_are_those_of_a_log_that_was_opened_with_them(judged: Path) -> None:
    source = open_log(judged, columns="judge=")
    other = source.with_role("query", "lang")
    assert other.frame.collect().equals(open_log(judged, columns="judge=,query=lang").frame.collect())
    assert other.frame.collect()["query_id"].unique().sort().to_list() == ["de", "en"]


@pytest.mark.full
def test_a_column_that_loses_its_role_is_not_asked_about(judged: Path) -> None:
    """Whether it is called so or told: a log is ranked by another column, and parted by it in an audit."""
    numbers = np.arange(120) % 7
    frame = pl.read_csv(judged).with_columns(query=numbers, prompt=numbers)
    expected = rankbench.aggregate(judged, by="lang").table
    for log, told in ((frame.drop("prompt"), ""), (frame.drop("query"), "query=prompt")):
        assert rankbench.aggregate(log, columns=told, by="lang").table.equals(expected)
        (probe,) = [probe for probe in rankbench.audit(log, columns=told).probes if probe.name == "without-category"]
        assert probe.table is not None
        assert {"lang de", "lang en"} < {*probe.table["left out"]}


def test_what_a_name_tells_of_columns_holds_beside_what_is_said(judged: Path, long: Path) -> None:
    raw = raw_log(f'{judged}:columns="judge=lang"')
    assert raw.opened("query=lang").asked == "judge=lang,query=lang"
    assert raw.opened("judge=").asked == "judge="
    found = rankbench.aggregate(f'{long}:columns="judge=lang"', control="length")
    assert found.table.equals(rankbench.aggregate(long, columns="judge=lang", control="length").table)


def test_columns_of_covariates_are_read_and_columns_that_are_ignored_are_not(long: Path) -> None:
    with pytest.raises(Unread, match="what are these columns") as caught:
        open_log(long)
    assert caught.value.code == "unread"
    source = open_log(long, columns="control=length")
    assert source.left == ("lang",)
    assert "not read: lang (en 80, de 40)  (" in source.notes[0]
    ignored = open_log(long, columns="ignore=length_*")
    assert ignored.left == ("lang", "length_left", "length_right")
    assert offered_controls(ignored, False) == ["length"]


def test_a_filter_of_a_log_with_told_columns_is_read_back(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(judged.parent)
    keep = Filter(where="lang == 'en'", without=("m0",), min_votes=2)
    log = own_log("judged.csv", columns="judge=lang,weight=", reader="csv:header=true", keep=keep)
    text = 'judged.csv:reader=csv(header=true),columns="judge=lang,weight="'
    assert str(parse(str(log)).params["log"]) == text
    again = own_log(str(log))
    assert (str(again), again.fingerprint()) == (str(log), log.fingerprint())
    assert again.scan().collect().equals(log.scan().collect())
    assert rankbench.scan(str(log)).collect().equals(log.scan().collect())
    assert again.assumptions() == log.assumptions()
    assert "where lang == 'en'" in log.assumptions()[1]


def test_columns_with_fixed_names_are_told_nothing(tmp_path: Path) -> None:
    pl.DataFrame({"query_id": ["q"], "winner": ["a"], "loser": ["b"]}).write_parquet(tmp_path / "votes.parquet")
    shards = tmp_path / "shards"
    CliRunner().invoke(main, ["data", "convert", str(tmp_path / "votes.parquet"), str(shards)], catch_exceptions=False)
    with pytest.raises(SpecError, match="fixed names"):
        open_log(shards, columns="winner=loser")


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("a,b\nb,c\nc,a\n", "winner=1,loser=2", 3),
        ("a,b\nb,c\nc,a\n", "winner=a,loser=b", 2),
        ("a,a\na,b\nb,c\n", "winner=2,loser=1,self=drop", 2),
        ("won,lost\nb,c\nc,a\n", "winner=won,loser=lost", 2),
        ("x,y\nb,c\nc,a\n", "winner=1,loser=2", 3),
    ],
)
def test_what_is_told_of_columns_says_whether_there_is_a_header(
    tmp_path: Path, text: str, columns: str, rows: int
) -> None:
    path = written(tmp_path / "votes.csv", text)
    assert open_log(path, columns=columns).frame.collect().height == rows


def test_files_of_a_folder_have_headers_as_one_file_has(tmp_path: Path) -> None:
    for name in "ab":
        written(tmp_path / f"{name}.csv", "a,b\na,c\nc,a\n")
    assert open_log(tmp_path, columns="winner=1,loser=2").frame.collect().height == 6
    assert open_log(tmp_path, columns="winner=a,loser=b").frame.collect().height == 4
    with pytest.raises(Unread, match="does the first row name the columns"):
        open_log(tmp_path)
