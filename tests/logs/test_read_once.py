"""A file of one's own as a data set, and a log that is read once, by the reader that its file declares."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import part_of
from data_files import stored, written
from drawn_votes import named, two_items
from polars.io.plugins import register_io_source
from small_suites import OWN_LOG

import rankbench
from rankbench.aggregators.rates import Borda
from rankbench.data.readers import csv as csv_lines
from rankbench.data.readers.csv import has_blank_end
from rankbench.data.readers.parquet import ParquetReader
from rankbench.data.tables.checks import TableReader
from rankbench.data.tables.column_texts import SAMPLED
from rankbench.descriptions import suspicions as findings
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.table_check import RawTable
from rankbench.logs import stream
from rankbench.logs.open import LogDataset, open_log, own_log
from rankbench.protocols import log_votes as protocol_votes
from rankbench.protocols.log_votes import votes_of
from rankbench.ranking import aggregate as engine
from rankbench.ranking import load
from rankbench.ranking.load import load_log
from rankbench.runner.prepare import open_shared, protocol_of, shared

ITEMS = """
[[experiments]]
name = "items"
title = "Items"
protocol = "items:replicates=0"
n = [1]
repetitions = 1
losses = ["score"]
contenders = [{ use = "win-rate" }]
"""


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a, b = two_items(rng, 200, 5)
    frame = pl.DataFrame({"x": a, "y": b, "said": np.where(rng.random(200) < 0.7, np.minimum(a, b), np.maximum(a, b))})
    frame = frame.cast(pl.String).with_columns(judge=pl.Series(rng.integers(20, size=200)))
    return stored(frame, tmp_path / "votes.csv")


def test_the_table_is_known_by_what_is_in_it(tmp_path: Path, votes: Path) -> None:
    found = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    assert (found.table, str(found)) == ("comparisons", 'votes.csv:columns="left=x,right=y,winner=said"')
    clicks = written(
        tmp_path / "clicks.ndjson",
        json.dumps({"query_id": "q", "session_id": "1", "shown": ["a", "b"], "clicked": [1]}) + "\n",
    )
    assert rankbench.log_file(clicks).table == "selections"
    ballots = written(tmp_path / "ballots.ndjson", json.dumps({"query_id": "q", "ranking": [["a"], ["b"]]}) + "\n")
    assert rankbench.log_file(ballots).table == "orders"
    items = written(tmp_path / "items.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    with pytest.raises(SpecError, match="holds items, not judgments"):
        rankbench.log_file(items)
    with pytest.raises(SpecError, match="fixed names"):
        rankbench.log_file(items, columns="left=x")
    with pytest.raises(InputError, match="no such file"):
        rankbench.log_file(tmp_path / "nothing.csv")


def test_the_fingerprint_is_of_the_content_and_of_how_it_is_read(tmp_path: Path) -> None:
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    for place in (path, other):
        place.write_text("left,right,winner,x\na,b,a,b\n")
    plain = rankbench.log_file(path)
    assert plain.fingerprint() == hashlib.sha256(path.read_bytes()).hexdigest()
    assert rankbench.log_file(other).fingerprint() == plain.fingerprint()
    assert rankbench.log_file(path, columns="winner=x").fingerprint() != plain.fingerprint()
    written(
        tmp_path / "b.csv.reading.toml", 'columns = {left = "left", right = "right", winner = "x", ignore = "winner"}'
    )
    assert rankbench.log_file(other).fingerprint() != plain.fingerprint()


def test_how_a_log_was_read_is_part_of_its_name_and_is_read_back(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "left=x,right=y,winner=said"
    spaced = written(tmp_path / "my votes: 2.csv", votes.read_bytes())
    monkeypatch.chdir(tmp_path)
    for path in (votes, spaced):
        log = rankbench.log_file(path, columns=columns)
        again = own_log(str(log))
        assert isinstance(again, LogDataset)
        assert (str(again), again.fingerprint(), again.reader) == (str(log), log.fingerprint(), log.reader)
        assert again.scan().collect().equals(log.scan().collect())
        assert rankbench.scan(str(log)).collect().equals(log.scan().collect())
        with pytest.raises(SpecError, match="leave columns= and reader= out"):
            own_log(str(log), columns=columns)
    assert str(rankbench.log_file(spaced, columns=columns)).startswith('"my votes: 2.csv":columns=')
    # A reader that would be chosen anyway is no other way to read it.
    plain = written(tmp_path / "plain.csv", "winner,loser\na,b\n")
    said = rankbench.log_file(plain, reader="csv")
    assert (str(said), said.fingerprint()) == ("plain.csv", rankbench.log_file(plain).fingerprint())
    other = written(tmp_path / "plain.text", plain.read_bytes())
    assert str(rankbench.log_file(other, reader="csv")) == "plain.text"
    told = rankbench.log_file(plain, reader="csv:header=true", columns="winner=winner,loser=loser")
    assert str(told) == 'plain.csv:reader=csv(header=true),columns="winner=winner,loser=loser"'
    again = own_log(str(told))
    assert (str(again), again.fingerprint()) == (str(told), told.fingerprint())


def test_logs_keep_the_fingerprints_that_seed_their_runs(votes: Path) -> None:
    columns = "left=x,right=y,winner=said"
    told = json.dumps([[hashlib.sha256(votes.read_bytes()).hexdigest()], columns, ""])
    assert rankbench.log_file(votes, columns=columns).fingerprint() == hashlib.sha256(told.encode()).hexdigest()


def test_workers_need_no_path(votes: Path) -> None:
    own = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    prepared = Prepared(protocol_of("own-log"), own, own.fingerprint(), {"heldout": ("all",)})
    built_in = Prepared(
        protocol_of("btl"), rankbench.get(rankbench.Dataset, "web10k-like:queries=2,features=9"), "", {}
    )
    with shared([prepared, built_in]) as file:
        votes.unlink()
        assert open_shared(file, 0).dataset is None
        assert str(open_shared(file, 1).dataset) == "web10k-like:queries=2,features=9"


@pytest.mark.full
def test_a_run_is_the_same_in_workers(votes: Path, tmp_path: Path) -> None:
    suite = written(tmp_path / "small.toml", OWN_LOG)
    own = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    here = rankbench.run(str(suite), dataset=own, out=tmp_path / "one")
    there = rankbench.run(str(suite), dataset=own, workers=2, out=tmp_path / "two")
    assert not there.failures
    assert (here.directory / "leaderboard.csv").read_bytes() == (there.directory / "leaderboard.csv").read_bytes()
    assert "votes.csv" in synthetic.both_pages(here.directory)


def test_a_run_looks_through_the_file_once(votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its columns, blank lines and encoding, whatever asks for its table and how that was read."""
    looked: list[Path] = []
    monkeypatch.setattr(csv_lines, "has_blank_end", lambda path: looked.append(path) or has_blank_end(path))
    suite = written(tmp_path / "small.toml", OWN_LOG + ITEMS)
    own = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    results = rankbench.run(str(suite), dataset=own, out=tmp_path / "out")
    assert not results.failures
    assert looked == [votes]
    # Who has the data set still sees what is in the file.
    assert own.assumptions() == own.assumptions()
    pl.read_csv(votes).head(50).write_csv(votes)
    assert own.scan().collect().height == 50


def rewritten(path: Path, old: str, new: str) -> None:
    """Replace text in a file by as much text, and put its time of change back."""
    before = path.stat()
    path.write_text(path.read_text().replace(old, new, 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_another_content_of_the_same_size_and_time_is_another_log(votes: Path) -> None:
    log = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    first, loaded = log.fingerprint(), votes_of(log)
    line = votes.read_text().splitlines()[1]
    rewritten(votes, line, line[:-1] + ("1" if line[-1] != "1" else "2"))
    assert log.fingerprint() != first
    assert votes_of(log) is not loaded


def test_a_log_that_changes_while_it_is_read_is_refused(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    load = protocol_votes.load_votes

    def grown(frame: object) -> object:
        with votes.open("a") as file:
            file.write("0,1,0,3\n")
        return load(frame)  # type: ignore[arg-type]

    monkeypatch.setattr(protocol_votes, "load_votes", grown)
    with pytest.raises(InputError, match=r"votes\.csv.* changed while it was read; run again when nobody writes to it"):
        votes_of(log)


N = 3000


class Passes:
    """A log that is a lazy frame, and how often and how far it was read, but for samples of its first rows."""

    def __init__(self, log: pl.DataFrame) -> None:
        self.votes, self.rows = log, list[list[int]]()

    def frame(self) -> pl.LazyFrame:
        def batches(
            columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            votes, read = self.votes if n_rows is None else self.votes.head(n_rows), [0]
            if n_rows is None or n_rows > SAMPLED:
                self.rows.append(read)
            for rows in votes.iter_slices(700):
                read[0] += rows.height
                chosen = rows if columns is None else rows.select(columns)
                yield chosen if predicate is None else chosen.filter(predicate)

        return register_io_source(batches, schema=self.votes.schema)


def seen_votes() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    a, b = two_items(rng, N, 6)
    # The left wins too often, judges vote on the same again, and item 0 looks like the letter o.
    tie, judge, first = rng.random(N) < 0.2, rng.integers(40, size=N).astype(str), rng.random(N) < 0.7
    return named(a, b, tie=tie, judge=judge, first=first)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("intervals", part_of([None, "auto", "bootstrap", "judges", "sandwich"]))
@pytest.mark.parametrize("method", ["bradley-terry", "win-rate", "elo"])
def test_a_log_is_read_once(method: str, intervals: str | None, missing: bool) -> None:
    if (intervals == "sandwich" and method != "bradley-terry") or (intervals == "judges" and missing):
        return
    frame = seen_votes()
    if missing:
        frame = frame.with_columns(judge=pl.when(pl.int_range(pl.len()) != 2000).then("judge"))
    log = Passes(frame)
    found = rankbench.aggregate(log.frame(), method, columns="time=", intervals=intervals, replicates=3)
    assert log.rows == [[N]]
    assert any("left wins" in note for note in found.notes)
    assert any("votes cast again" in note for note in found.notes)


@pytest.mark.parametrize("method", ["bradley-terry", "elo"])
@pytest.mark.parametrize("intervals", [None, "auto"])
def test_what_is_found_is_what_the_log_itself_says(
    method: str, intervals: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first 2000 votes, whose names were numbers on the way."""
    for module in (findings, stream, load, engine):
        monkeypatch.setattr(module, "LOOKED_AT", 2000)
    frame = seen_votes()
    expected = findings.suspicious_votes(frame.lazy()).notes(control=method == "bradley-terry")
    assert len(expected) == 2
    found = rankbench.aggregate(frame, method, columns="time=", intervals=intervals, replicates=3)
    assert [note for note in found.notes if "of the first 2,000 votes" in note] == expected


VOTES = {"query_id": ["q", "q", "q"], "winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}


class Columnar(TableReader):
    """Parquet under another ending."""

    name: ClassVar[str] = "columnar"
    source: ClassVar[str] = "a test"
    extensions: ClassVar[tuple[str, ...]] = (".votes",)
    parquet: ClassVar[bool] = True

    def raw(self, path: Path) -> RawTable:
        return ParquetReader().raw(path)


@pytest.mark.parametrize("declares", [True, False])
def test_a_reader_of_parquet_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declares: bool) -> None:
    path = tmp_path / "log.votes"
    pl.DataFrame(VOTES).write_parquet(path)
    monkeypatch.setattr(Columnar, "parquet", declares)
    monkeypatch.setattr("rankbench.logs.open.choose_reader", lambda path: Columnar())
    source = open_log(path)
    assert (source.parquet is not None) == declares
    assert load_log(source, Borda())[0].items == ["a", "b", "c"]
