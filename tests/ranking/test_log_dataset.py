"""A file of one's own as a data set, and what workers need of it: nothing."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import stored, written
from ranked_logs import two_items

import rankbench
from rankbench.data.readers import csv as csv_lines
from rankbench.data.readers.csv import blank_end
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.protocol import Prepared
from rankbench.protocols import log_votes as protocol_votes
from rankbench.protocols.log_votes import votes_of
from rankbench.ranking.log_dataset import LogFile, own_log
from rankbench.runner.prepare import open_shared, protocol_of, shared

SUITE = """
name = "small"
title = "Small"
protocol = "own-log"
[[experiments]]
name = "methods"
title = "Methods"
repetitions = 4
losses = ["disagreement"]
baseline = "win rate"
contenders = [{ label = "win rate", use = "win-rate" }, { label = "Borda", use = "borda" }]
"""

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
    path = stored(frame, tmp_path / "votes.csv")
    return path


def test_the_table_is_known_by_what_is_in_it(tmp_path: Path, votes: Path) -> None:
    found = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    assert (found.table, str(found)) == ("comparisons", 'votes.csv:reader=csv(columns="left=x,right=y,winner=said")')
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


def test_how_a_log_was_read_is_part_of_its_name_and_is_read_back(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "left=x,right=y,winner=said"
    spaced = written(tmp_path / "my votes: 2.csv", votes.read_bytes())
    monkeypatch.chdir(tmp_path)
    for path in (votes, spaced):
        log = rankbench.log_file(path, columns=columns)
        again = own_log(str(log))
        assert isinstance(again, LogFile)
        assert (str(again), again.fingerprint(), again.reader) == (str(log), log.fingerprint(), log.reader)
        assert again.scan().collect().equals(log.scan().collect())
        assert rankbench.scan(str(log)).collect().equals(log.scan().collect())
        with pytest.raises(SpecError, match="leave --columns and --reader out"):
            own_log(str(log), columns=columns)
    assert str(rankbench.log_file(spaced, columns=columns)).startswith('"my votes: 2.csv":reader=csv(columns=')
    # A reader that would be chosen anyway is no other way to read it.
    plain = written(tmp_path / "plain.csv", "winner,loser\na,b\n")
    said = rankbench.log_file(plain, reader="csv")
    assert (str(said), said.fingerprint()) == ("plain.csv", rankbench.log_file(plain).fingerprint())
    other = written(tmp_path / "plain.text", plain.read_bytes())
    assert str(rankbench.log_file(other, reader="csv")) == "plain.text"
    assert rankbench.log_file(other, reader='csv:columns="winner=winner,loser=loser"').table == "comparisons"


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


def test_a_run_is_the_same_in_workers(votes: Path, tmp_path: Path) -> None:
    suite = written(tmp_path / "small.toml", SUITE)
    own = rankbench.log_file(votes, columns="left=x,right=y,winner=said")
    here = rankbench.run(str(suite), dataset=own, out=tmp_path / "one")
    there = rankbench.run(str(suite), dataset=own, workers=2, out=tmp_path / "two")
    assert not there.failures
    assert (here.directory / "leaderboard.csv").read_bytes() == (there.directory / "leaderboard.csv").read_bytes()
    assert "votes.csv" in (here.directory / "leaderboard.md").read_text()


def test_a_run_looks_through_the_file_once(votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its columns, blank lines and encoding, whatever asks for its table and how that was read."""
    looked: list[Path] = []
    monkeypatch.setattr(csv_lines, "blank_end", lambda path: looked.append(path) or blank_end(path))
    suite = written(tmp_path / "small.toml", SUITE + ITEMS)
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
