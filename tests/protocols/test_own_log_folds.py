"""What is held out together of one's own log, and the order of its votes."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from own_logs import SUITE, Few, Log, suite

import rankbench
from rankbench import api
from rankbench.errors import InputError
from rankbench.interfaces.protocol import Prepared
from rankbench.protocols.items import Items
from rankbench.protocols.log_votes import pack_votes, unpack_votes, votes_of
from rankbench.protocols.own_log import OwnLog
from rankbench.ranking.votes import Votes


def test_a_log_without_judges_or_times_is_folded_by_pair_and_says_so(tmp_path: Path) -> None:
    made = api.planned(suite(tmp_path), dataset=Log(judges=False, times=False))
    assert list(made.left_out) == ["later"]
    assert "does not say when" in made.left_out["later"]
    assert any("held out together" in note for note in made.sources[0].notes)
    results = rankbench.run(suite(tmp_path), dataset=Log(judges=False, times=False), reps=2, out=tmp_path / "out")
    assert set(results.rows["status"]) == {"done"}
    assert "later is left out" in (tmp_path / "out" / "leaderboard.md").read_text()


def test_folds_by_pair_are_left_out_where_they_stand_in_for_those_by_judge(tmp_path: Path) -> None:
    for log, left_out in ((Log(judges=False), {"by-pair"}), (Log(), set())):
        made = api.planned("own-log", dataset=log, reps=1)
        assert set(made.left_out) == left_out
        assert {"methods", "by-time", "ties", "items"} <= set(made.source_index)
    why = api.planned("own-log", dataset=Log(judges=False), reps=1).left_out["by-pair"]
    assert why == "the log has no folds by judge: those by pair stand in for them already"
    # Who asks for them alone gets them.
    notes = OwnLog(folds="pair").prepare(Log(judges=False), 1).notes
    assert notes[-1] == "Votes on one pair of items (and query) are held out together."


@pytest.mark.parametrize("dominant", [False, True])
def test_few_or_dominant_judges_do_not_cost_the_results(tmp_path: Path, dominant: bool) -> None:
    out = tmp_path / "out"
    results = rankbench.run(suite(tmp_path), dataset=Few(dominant=dominant), reps=10, out=out)
    assert set(results.rows["status"]) == {"done"}
    text = (out / "leaderboard.md").read_text()
    recommended = text.split("## Recommendation")[1].split("\n## ")[0]
    assert "folds are not by judge." in recommended
    assert "- Bear in mind: Votes on one pair of items (and query) are held out together." in recommended
    assert "- Bear in mind: Folds that are not by time do not hide what came later" in recommended
    assert "Few judges: " in text
    # By time there are five runs, however many are asked for.
    assert "later: n = 900, 5 runs" in text
    assert "drift" in text


@pytest.mark.parametrize("folds", ["judge", "pair", "time"])
def test_all_folds_but_those_by_time_say_what_gives_outcomes_away(folds: str) -> None:
    """Folds by judge do not hide who was compared again either."""
    notes = OwnLog(folds=folds).prepare(Log(), 1).notes
    assert any("how often an item was compared gives outcomes away" in note for note in notes) == (folds != "time")


@pytest.mark.parametrize("reps", [1, 2, 7, None])
def test_there_are_five_runs_by_time_however_many_are_asked_for(tmp_path: Path, reps: int | None) -> None:
    prepared = OwnLog(folds="time").prepare(Log(), 1)
    assert [prepared.repetitions(900, wanted) for wanted in (1, 3, 10)] == [5, 5, 5]
    assert any("there are 5 runs, whatever --reps says" in note for note in prepared.notes)
    made = api.planned(suite(tmp_path), dataset=Log(), reps=reps)
    runs = {name: len({m.repetition for m in made.plan.members if m.experiment == name}) for name in made.source_index}
    assert runs["later"] == 5
    assert runs["methods"] == (reps or 10)


def test_the_record_of_a_run_says_how_many_repetitions_there_are(tmp_path: Path) -> None:
    out = rankbench.run(suite(tmp_path), dataset=Log(), reps=2, out=tmp_path / "out").directory
    found = json.loads((out / "run.json").read_text())["repetitions"]
    assert found == {"methods": 2, "later": 5, "items": 1}


class Shuffled(Log):
    """The same votes at the same times, in another order of the rows."""

    name = "test-shuffled"

    def scan(self) -> pl.LazyFrame:
        return super().scan().collect().reverse().lazy()


@pytest.mark.parametrize("judges", [True, False])
def test_the_order_of_rows_means_nothing_where_there_are_times(tmp_path: Path, judges: bool) -> None:
    text = SUITE.format(folds="").replace('{ use = "bradley-terry" }', '{ use = "bradley-terry" }, { use = "elo" }')
    text = text.replace(
        'contenders = [{ use = "win-rate" }]', 'contenders = [{ use = "elo:factor=[8,32]", tune = true }]'
    )
    (tmp_path / "own.toml").write_text(text)
    found = [
        rankbench.run(str(tmp_path / "own.toml"), dataset=log(judges=judges), reps=5, out=tmp_path / log.name)
        for log in (Log, Shuffled)
    ]
    columns = ["experiment", "contender", "repetition", "metric", "value"]
    one, other = (results.rows.select(columns) for results in found)
    assert one.height > 50
    assert one.equals(other)
    ranked = [pl.read_csv(results.directory / "units.csv").drop("dataset", strict=False) for results in found]
    assert ranked[0].filter(contender="elo").height > 20
    assert ranked[0].equals(ranked[1])


def test_a_log_without_times_says_that_the_order_of_the_file_is_taken() -> None:
    said = "methods that go by the order of votes take the file's order"
    for protocol in (OwnLog(), Items()):
        assert any(said in note for note in protocol.prepare(Log(times=False), 1).notes)
        assert not any(said in note for note in protocol.prepare(Log(), 1).notes)


class Drift(Log):
    """Items of which each is good in its turn."""

    name = "test-drift"
    n: int = 3000

    def scan(self) -> pl.LazyFrame:
        rng, at = np.random.default_rng(5), np.arange(self.n)
        a = rng.integers(0, 8, self.n)
        b = (a + rng.integers(1, 8, self.n)) % 8
        skill = 1.5 * np.sin(at[:, None] / 800 + np.arange(8) * np.pi / 4)
        won = rng.random(self.n) < 1 / (1 + np.exp(skill[at, b] - skill[at, a]))
        names = {"winner": np.where(won, a, b), "loser": np.where(won, b, a)}
        frame = {name: [f"i{i}" for i in items] for name, items in names.items()}
        return pl.LazyFrame({"query_id": ["all"] * self.n, **frame, "time": at})


def test_parameters_by_time_are_those_that_predict_what_comes_next(tmp_path: Path) -> None:
    """With items that change, K = 32 is better than K = 2 in five of five runs, and is what is chosen."""
    path = tmp_path / "drift.toml"
    path.write_text(
        SUITE.format(folds="").replace(
            'contenders = [{ use = "win-rate" }]',
            'contenders = [{ use = "elo:factor=2" }, { use = "elo:factor=32" }, '
            '{ label = "tuned", use = "elo:factor=[2,32]", tune = true }]',
        )
    )
    rows = rankbench.run(str(path), dataset=Drift(), reps=1, out=tmp_path / "out").rows.filter(experiment="later")
    of = {c: rows.filter(contender=c).sort("repetition")["value"].to_list() for c in rows["contender"].unique()}
    assert len(of["tuned"]) == 5
    assert all(fast < slow for fast, slow in zip(of["elo"], of["elo:factor=2"], strict=True))
    assert of["tuned"] == of["elo"]


def test_no_votes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no votes"):
        OwnLog().prepare(Log(n=0), 1)


def test_votes_without_a_judge_are_counted(tmp_path: Path) -> None:
    notes = OwnLog().prepare(Few(nameless=12), 1).notes
    assert any("Of 900 votes the log does not say for 12 who judged" in note for note in notes)
    assert any("resampled votes" in note for note in Items().prepare(Few(nameless=12), 1).notes)


def test_names_of_any_length_and_ending_come_back() -> None:
    items = ["", "a", "a\0", "ä\U0001f600", "b" * 500_000]
    one = np.zeros(1, np.int32)
    votes = Votes(items, one, one + 1, np.zeros(1, np.bool_), np.ones(1), None, one, None)
    arrays = pack_votes(votes)
    prepared = Prepared(Items(), None, "", {}, arrays, 1.0)
    assert unpack_votes(prepared).items == items
    assert sum(array.nbytes for array in arrays.values()) < 501_000


def test_votes_are_loaded_once_for_all_protocols_and_counted_once_for_the_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans = []
    scan = Log.scan
    monkeypatch.setattr(Log, "scan", lambda self: scans.append(self.n) or scan(self))
    sources = api.planned(suite(tmp_path), dataset=Log()).sources
    assert len(sources) > 1
    assert scans == [900, 900]
    for name, array in sources[0].arrays.items():
        sharing = [source.arrays[name] for source in sources if name in source.arrays]
        # By groups of its own each, by pairs those that group; the votes all of them.
        assert name.startswith("groups.") or all(other is array for other in sharing)
        assert not name.startswith("votes.") or len(sharing) == len(sources)


def test_votes_are_kept_while_their_data_set_lives_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    log, other = Log(n=50), Log(n=60)
    first = votes_of(log)
    assert votes_of(log) is first
    assert len(votes_of(other).votes) == 60  # of the same fingerprint
    again = votes_of(log)
    assert again is not first
    monkeypatch.setattr(Log, "fingerprint", lambda self: "cd" * 32)
    assert votes_of(log).fingerprint == "cd" * 32
    kept = weakref.ref(votes_of(log))
    del log, first, again
    gc.collect()
    assert kept() is None
