"""The suite of one's own log, through the whole program, on logs whose truth is known."""

from __future__ import annotations

import gc
import json
import math
import re
import weakref
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankbench
from rankbench import api
from rankbench.counts.votes import Votes
from rankbench.errors import InputError, SpecError
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.protocol import Prepared
from rankbench.protocols.items import Items
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.votes import pack_votes, unpack_votes, votes_of
from rankbench.store.journal import Journal


class Log(Dataset):
    """Votes that a test makes."""

    name = "test-votes"
    source = "test"
    title = "votes"
    table = "comparisons"
    judges: bool = True
    times: bool = True
    n: int = 900
    scale: float = 1.0

    def scan(self) -> pl.LazyFrame:
        rng = np.random.default_rng(11)
        truth = self.scale * np.linspace(-1, 1, 7)
        a = rng.integers(0, 7, self.n)
        b = (a + rng.integers(1, 7, self.n)) % 7
        won = rng.random(self.n) < 1 / (1 + np.exp(truth[b] - truth[a]))
        frame = pl.DataFrame(
            {
                "query_id": ["all"] * self.n,
                "winner": [f"i{x}" for x in np.where(won, a, b)],
                "loser": [f"i{x}" for x in np.where(won, b, a)],
            }
        )
        if self.judges:
            frame = frame.with_columns(judge=pl.Series([f"j{x}" for x in rng.integers(0, 30, self.n)]))
        if self.times:
            frame = frame.with_columns(time=pl.Series(np.arange(self.n)))
        return frame.lazy()

    def fingerprint(self) -> str:
        return "ab" * 32


SUITE = """
name = "own"
title = "Own"
seed = 3
protocol = "own-log{folds}"
[[experiments]]
name = "methods"
title = "Methods"
recommend = true
repetitions = 10
losses = ["disagreement", "log-loss", "calibration", "three-outcome-loss"]
baseline = "win rate"
contenders = [
  {{ label = "win rate", use = "win-rate" }},
  {{ label = "Bradley-Terry", use = "bradley-terry:ridge=[0.1,1,10]", tune = true }},
  {{ label = "Elo", use = "elo:factor=400" }},
]
[[experiments]]
name = "later"
title = "Later"
protocol = "own-log:folds=time"
optional = true
repetitions = 5
losses = ["disagreement"]
contenders = [{{ use = "win-rate" }}]
[[experiments]]
name = "items"
title = "Items"
protocol = "items:replicates=100"
losses = ["score", "lower", "upper", "rank-low", "rank-high"]
contenders = [{{ use = "bradley-terry" }}]
[[experiments.figures]]
file = "items"
kind = "dots"
"""


def suite(tmp_path: Path, folds: str = "") -> str:
    path = tmp_path / "own.toml"
    path.write_text(SUITE.format(folds=folds))
    return str(path)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> rankbench.Results:
    folder = tmp_path_factory.mktemp("own")
    return rankbench.run(suite(folder), dataset=Log(), out=folder / "out")


def test_held_out_losses_are_those_of_the_truth_nearly(results: rankbench.Results) -> None:
    board = results.leaderboard.filter(experiment="methods")
    means = {(row["contender"], row["metric"]): row["mean"] for row in board.iter_rows(named=True)}
    truth = np.linspace(-1, 1, 7)
    d = np.abs(truth[:, None] - truth)[np.triu_indices(7, 1)]
    p = 1 / (1 + np.exp(-d))
    bayes, entropy = (1 - p).mean(), -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()
    assert means["Bradley-Terry", "disagreement"] == pytest.approx(bayes, abs=0.03)
    assert means["Bradley-Terry", "log-loss"] == pytest.approx(entropy, abs=0.03)
    assert means["Bradley-Terry", "calibration"] < 0.1
    assert means["Elo", "log-loss"] > means["Bradley-Terry", "log-loss"] + 0.02
    # No ties: the third outcome costs next to nothing.
    assert means["Bradley-Terry", "three-outcome-loss"] == pytest.approx(means["Bradley-Terry", "log-loss"], abs=0.03)


def test_the_recommendation_names_its_evidence(results: rankbench.Results) -> None:
    text = (results.directory / "leaderboard.md").read_text()
    section = text.split("## Recommendation")[1].split("\n## ")[0]
    assert "No method is shown to be better than **win rate**, the baseline, in `disagreement`" in section
    assert re.search(
        r"`disagreement` on votes that were held out: the best mean, of \*\*.*\*\*, 0\.\d{4} \(95%", section
    )
    assert "Elo" in section
    assert "best mean of 3 contenders" in section
    assert re.search(r"In `later` \(5 runs\), `disagreement`: the best mean is that of \*\*win-rate\*\*", section)
    assert "judges like these" in section


def test_intervals_of_shrunk_scores_say_so(results: rankbench.Results) -> None:
    ranking = (results.directory / "leaderboard.md").read_text().split("### items")[1]
    assert (
        "Intervals are for the scores as the ridge (1) shrinks them, not for the log-odds behind the votes" in ranking
    )


def test_items_are_ranked_and_drawn(results: rankbench.Results) -> None:
    units = pl.read_csv(results.directory / "units.csv").filter(contender="bradley-terry")
    scores = dict(units.filter(metric="score").select("unit", "value").iter_rows())
    assert sorted(scores, key=scores.__getitem__, reverse=True)[0] == "i6"
    low = dict(units.filter(metric="rank-low").select("unit", "value").iter_rows())
    high = dict(units.filter(metric="rank-high").select("unit", "value").iter_rows())
    assert low["i6"] <= 1 <= high["i6"]
    assert low["i0"] <= 7 <= high["i0"]
    assert (results.directory / "figures" / "items.png").stat().st_size > 5000
    section = (results.directory / "leaderboard.md").read_text().split("### items")[1]
    assert "| rank | item | score | 95% interval |" in section


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
        assert {"methods", "by-time", "ties", "items"} <= set(made.of)
    why = api.planned("own-log", dataset=Log(judges=False), reps=1).left_out["by-pair"]
    assert why == "the log has no folds by judge: those by pair stand in for them already"
    # Who asks for them alone gets them.
    notes = OwnLog(folds="pair").prepare(Log(judges=False), 1).notes
    assert notes[-1] == "Votes on one pair of items (and query) are held out together."


def test_scores_of_another_unit_do_not_change_a_contender(tmp_path: Path) -> None:
    text = SUITE.format(folds="").replace(
        'use = "elo:factor=400"', 'use = "bradley-terry:ridge=[0.1,1,10]", tune = true'
    )
    (tmp_path / "twin.toml").write_text(text)
    rows = rankbench.run(str(tmp_path / "twin.toml"), dataset=Log(), reps=5, out=tmp_path / "out").rows
    by_label = {c: rows.filter(experiment="methods", contender=c)["value"].to_list() for c in ("Bradley-Terry", "Elo")}
    assert by_label["Bradley-Terry"] == by_label["Elo"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_that_hardly_differ_are_equal(tmp_path: Path) -> None:
    text = SUITE.format(folds="").replace('use = "elo:factor=400"', 'use = "elo:factor=1e-309"')
    (tmp_path / "near.toml").write_text(text)
    found = rankbench.run(str(tmp_path / "near.toml"), dataset=Log(), reps=5, out=tmp_path / "out").rows
    rows = found.filter(experiment="methods", contender="Elo")
    assert set(rows["status"]) == {"done"}
    assert set(rows.filter(metric="disagreement")["value"]) == {0.5}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_too_far_apart_have_diverged(tmp_path: Path) -> None:
    text = SUITE.format(folds="").replace('use = "elo:factor=400"', 'use = "elo:factor=1e308"')
    (tmp_path / "far.toml").write_text(
        text.replace('use = "bradley-terry" }]', 'use = "elo:factor=1e308", label = "far" }]')
    )
    found = rankbench.run(str(tmp_path / "far.toml"), dataset=Log(), reps=5, out=tmp_path / "out").rows
    for experiment, label in (("methods", "Elo"), ("items", "far")):
        rows = found.filter(experiment=experiment, contender=label)
        assert set(rows["status"]) == {"diverged"}
        assert all("too far apart" in reason for reason in rows["reason"])


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("difference-graph", "a ranking needs scores"),
        ("limit-scores", "needs the truth"),
        ("cascade", "aggregates selections"),
        ("plackett-luce", "aggregates orders"),
    ],
)
def test_who_cannot_compete(tmp_path: Path, use: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SUITE.format(folds="").replace('use = "win-rate" }},'.replace("}}", "}"), f'use = "{use}" }},', 1))
    with pytest.raises(SpecError, match=said):
        api.planned(str(path), dataset=Log())


def test_no_votes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no votes"):
        OwnLog().prepare(Log(n=0), 1)


class Few(Log):
    """The same votes, of which one judge cast half, or three judges cast all."""

    name = "test-few"
    dominant: bool = False
    nameless: int = 0

    def scan(self) -> pl.LazyFrame:
        row = pl.int_range(pl.len())
        of_three = pl.format("j{}", row % 3)
        dominant = pl.when(row % 2 == 0).then(pl.lit("big")).otherwise(pl.format("j{}", row % 40))
        known = (dominant if self.dominant else of_three) if not self.nameless else pl.col("judge")
        return super().scan().with_columns(judge=pl.when(row >= self.nameless).then(known))


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


def test_a_coin_is_declared_by_metric_and_stays_with_the_results(results: rankbench.Results) -> None:
    """It is wrong about half of the votes, and loses ln 2 on each."""
    coin = {"disagreement": 0.5, "log-loss": pytest.approx(-math.log(1 / 2))}
    with Journal(results.directory) as journal:
        sources = journal.record().sources
    levels = {
        source.protocol.partition(":")[0]: {m.name: m.chance for m in source.metrics if m.chance is not None}
        for source in sources
    }
    assert levels == {"own-log": coin, "items": {}}


def test_votes_without_a_judge_are_counted(tmp_path: Path) -> None:
    notes = OwnLog().prepare(Few(nameless=12), 1).notes
    assert any("Of 900 votes the log does not say for 12 who judged" in note for note in notes)
    assert any("resampled votes" in note for note in Items().prepare(Few(nameless=12), 1).notes)


@pytest.mark.parametrize("reps", [1, 2, 7, None])
def test_there_are_five_runs_by_time_however_many_are_asked_for(tmp_path: Path, reps: int | None) -> None:
    prepared = OwnLog(folds="time").prepare(Log(), 1)
    assert [prepared.repetitions(900, wanted) for wanted in (1, 3, 10)] == [5, 5, 5]
    assert any("there are 5 runs, whatever --reps says" in note for note in prepared.notes)
    made = api.planned(suite(tmp_path), dataset=Log(), reps=reps)
    runs = {name: len({m.repetition for m in made.plan.members if m.experiment == name}) for name in made.of}
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


def test_an_item_of_three_votes_has_no_interval(tmp_path: Path) -> None:
    class New(Log):
        name = "test-new"

        def scan(self) -> pl.LazyFrame:
            frame = super().scan()
            new = pl.lit("new").alias("winner")
            return pl.concat([frame, frame.head(3).with_columns(new)], how="vertical")

    results = rankbench.run(suite(tmp_path), dataset=New(), reps=2, out=tmp_path / "out")
    units = pl.read_csv(results.directory / "units.csv").filter(unit="new")
    values = dict(units.select("metric", "value").iter_rows())
    assert values["lower"] is None
    assert values["upper"] is None
    assert (values["rank-low"], values["rank-high"]) == (1, 8)
    text = (results.directory / "leaderboard.md").read_text()
    assert "1 of 8 items have fewer than 10 votes, or those of fewer than 3" in text
    assert "| 1 ... 8 | new |" in text


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
        assert all(source.arrays[name] is array for source in sources)


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
