import json
import math
import os
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import part_of
from competing import executed

import rankbench
from rankbench import api
from rankbench.aggregators.clicks import Cascade
from rankbench.aggregators.rates import Borda
from rankbench.data.simulators.cascade_clicks import CascadeClicks
from rankbench.data.tables.checks import validate
from rankbench.data.tables.impressions import reduce_clicks
from rankbench.data.tables.selections import load_selections, take_selections
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.cell import ContenderFailed, cell_problem
from rankbench.interfaces.click_aggregator import ClickModel, SelectionAggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.queries import Selections
from rankbench.plugin import manager
from rankbench.protocols.click_prediction import METRIC, ClickPrediction, _held, _parts, click_log_loss
from rankbench.reports.headline import Notice
from rankbench.runner.question import RunQuestion

DATASET = CascadeClicks(queries=6, items=8, shown=5, sessions=4000)


class Log(Dataset):
    """A small table of one's own."""

    name = "own-log"
    source = "test"
    title = "A log"
    table = "selections"
    rows: ClassVar[list[tuple[str, str, list[str], list[int], str]]] = [
        ("q", "1", ["a", "b"], [2], "train"),
        ("q", "2", ["b", "a"], [1, 2], "train"),
        ("p", "3", ["c"], [], "train"),
        ("q", "4", ["a", "c"], [1, 2], "test"),
        ("q", "5", ["b", "a"], [], "test"),
    ]
    parts: bool = True

    def scan(self):
        frame = pl.DataFrame(self.rows, schema=["query_id", "session_id", "shown", "clicked", "part"], orient="row")
        return validate("selections", (frame if self.parts else frame.drop("part")).lazy())

    def fingerprint(self):
        return "0" * 64


class Seer(SelectionAggregator):
    """Says what it is told to say."""

    name = "seer"
    source = "test"
    bad: str = ""

    def estimate(self, selections, item_offsets):
        assert self.bad != "fit"
        return np.ones(int(item_offsets[-1])), np.ones(5)

    def fit(self, selections, item_offsets):
        model = super().fit(selections, item_offsets)
        return model if not self.bad else _Told(self.bad)


class _Told(ClickModel):
    def __init__(self, bad):
        self.__dict__["bad"] = bad

    def probabilities(self, selections, item_offsets):
        bad = self.__dict__["bad"]
        n = len(selections.items)
        if bad == "peeks":
            return selections.clicked.astype(float)
        return {"sum": np.ones(n), "negative": np.full(n, -0.1), "nan": np.full(n, np.nan), "shape": np.ones(3)}[bad]


def one_session(length, click):
    clicked = np.zeros(length, np.bool_)
    if click is not None:
        clicked[click] = True
    return Selections(np.array([0, 1]), np.array([0, length]), np.arange(length, dtype=np.int32), clicked)


@pytest.mark.parametrize(("click", "p"), [(0, 0.5), (2, 0.1), (None, 0.2)])
def test_the_loss_of_a_session(click, p):
    chances = np.array([0.5, 0.2, 0.1])
    assert click_log_loss(chances, one_session(3, click), 1e-12) == pytest.approx([-math.log(p)])
    mixed = 0.9 * p + 0.1 / 4
    assert click_log_loss(chances, one_session(3, click), 0.1) == pytest.approx([-math.log(mixed)])


def test_impossible_selections_cost_a_finite_amount():
    assert click_log_loss(np.array([1.0, 0.0]), one_session(2, 1), 0.001) == pytest.approx([math.log(3 / 0.001)])


@pytest.mark.parametrize("chances", [[0.6, 0.6], [-0.1, 0.5]])
def test_what_is_no_prediction(chances):
    with pytest.raises(ContenderFailed, match="sum to more than 1"):
        click_log_loss(np.array(chances), one_session(2, 0), 0.1)


def test_mixed_predictions_are_a_distribution():
    chances = np.array([0.5, 0.2, 0.1])
    total = sum(np.exp(-click_log_loss(chances, one_session(3, click), 0.2)[0]) for click in (0, 1, 2, None))
    assert total == pytest.approx(1)


def test_parts_are_the_split():
    prepared = ClickPrediction(mix=0.5).prepare(Log(), 1)
    assert prepared.units == {"heldout": ("q",)}
    assert prepared.scaled(32_000) == 3
    assert "3 training sessions of 2 queries; 2 held-out sessions of 1 query (as published)" in prepared.notes[0]
    assert (prepared.pool, prepared.test_share) == (3, None)
    assert prepared.splits == {"heldout": "Queries (by their held-out sessions)"}
    assert "scaled" in prepared.notes[-1]
    found = executed(prepared, ["click-through-rate"], n=3, seed=7)["click-through-rate"]
    # First clicks: b is selected in both of its lists, a in none, c was not shown for q: 2 of 4.
    expected = np.mean([-math.log(0.5 * 0.0 + 0.5 / 3), -math.log(0.5 * 0.0 + 0.5 / 3)])
    assert found.losses[METRIC, "heldout"] == pytest.approx([expected])


def test_policies_reach_the_sessions():
    for several, sessions in (("first", 2), ("each", 3), ("drop", 1)):
        notes = ClickPrediction(several=several).prepare(Log(), 1).notes
        assert f"; {sessions} held-out session{'s' * (sessions > 1)} of" in notes[0]
    with pytest.raises(SpecError, match="must not be 'all'"):
        ClickPrediction(several="all").prepare(Log(), 1)
    assert "each becomes a session" in ClickPrediction(several="each").assumptions()[0]


def test_every_repetition_splits_a_log_without_parts_anew():
    protocol = ClickPrediction(heldout=0.4)
    prepared = protocol.prepare(DATASET, 5)
    assert prepared.notes[0] == (
        "Every repetition holds out 1,600 of 4,000 sessions of 6 queries, drawn anew, and trains on n of the "
        "other 2,400."
    )
    assert (prepared.test_share, prepared.pool) == (0.4, None)
    assert prepared.units == {"heldout": ("all held-out sessions",)}
    one, again, other, seeded = (_parts(prepared, *of) for of in ((5, 0), (5, 0), (5, 1), (6, 0)))
    assert (len(one[0]), len(one[1])) == (2400, 1600)
    assert np.array_equal(one[1].items, again[1].items)
    assert not np.array_equal(one[1].items, other[1].items)
    assert not np.array_equal(one[1].items, seeded[1].items)
    # Train and test are the log, taken apart: counts of items shown add up.
    log = load_selections(DATASET.scan()).selections
    assert np.array_equal(np.bincount(one[0].items) + np.bincount(one[1].items), np.bincount(log.items))


@pytest.mark.full
def test_a_log_of_one_query_has_repetitions_that_differ_and_the_corrected_interval(monkeypatch, tmp_path):
    clicks = np.random.default_rng(0).choice(3, size=200, p=[0.6, 0.3, 0.1])
    monkeypatch.setattr(Log, "rows", [("q", str(i), ["a", "b"], [2, 1][:c], "x") for i, c in enumerate(clicks)])
    results = rankbench.run("own-clicks", dataset=Log(parts=False), out=tmp_path)
    rows = results.leaderboard.filter(n=150)
    losses = results.rows.filter(n=150, contender="cascade")["value"].to_numpy()
    assert len(losses) == 20
    assert np.unique(losses).size > 10
    row = rows.row(by_predicate=pl.col("contender") == "cascade", named=True)
    half = 2.093 * math.sqrt((1 / 20 + 0.25 / 0.75) * losses.var(ddof=1))
    assert (row["upper"] - row["lower"]) / 2 == pytest.approx(half, rel=1e-3)
    # With so few sessions the likely best must not be certain.
    assert rows["rank_high"].max() > rows["rank_low"].min()


@pytest.mark.full
def test_published_parts_leave_one_draw_of_all_sessions(monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    parts = ["train"] * 300 + ["test"] * 100
    rows = [(f"q{i % 20}", str(i), ["a", "b"], [2, 1][: rng.integers(3)], part) for i, part in enumerate(parts)]
    monkeypatch.setattr(Log, "rows", rows)
    results = rankbench.run("own-clicks", dataset=Log(), reps=4, out=tmp_path)
    whole, sample = (results.leaderboard.fill_nan(None).filter(n=n) for n in (300, 75))
    assert whole["repetitions"].to_list() == whole["planned"].to_list() == [1] * 5
    assert whole["lower"].null_count() == whole["upper"].null_count() == 5
    assert whole["lower_queries"].null_count() == 0
    assert (whole["upper_queries"] - whole["lower_queries"]).min() > 0
    text = synthetic.both_pages(tmp_path)
    assert "Each repetition would use all 300 sessions, so there is only one." in text
    # Draws of 75 share sessions: their interval over draws is wider by sqrt(1 + 4 (75/300) / (1 - 75/300)).
    row = sample.row(0, named=True)
    half = 3.1824 * row["sd"] / math.sqrt(4) * math.sqrt(1 + 4 / 3)
    assert (row["upper"] - row["lower"]) / 2 == pytest.approx(half, rel=1e-3)
    assert row["se_queries"] > row["se"] * 0.5


@pytest.mark.full
def test_published_parts_of_one_query_tell_nothing(monkeypatch, tmp_path):
    rows = [("q", str(i), ["a", "b"], [2, 1][: i % 3], "test" if i % 4 == 3 else "train") for i in range(200)]
    monkeypatch.setattr(Log, "rows", rows)
    results = rankbench.run("own-clicks", dataset=Log(), reps=3, out=tmp_path)
    board = results.leaderboard.fill_nan(None)
    assert board["mean"].null_count() == 0
    for column in ("lower", "upper", "lower_queries", "upper_queries", "rank_low", "rank_high", "difference_lower"):
        assert board[column].null_count() == board.height
    text = synthetic.both_pages(tmp_path)
    assert "nothing shows how results vary on other sessions" in text
    assert "no intervals and no ranks" in text
    assert "Use **" not in text
    assert "nothing can be recommended" in text


def test_a_split_session_stays_on_one_side(monkeypatch):
    rows = [("q", str(i), ["a", "b", "c"], [1, 2, 3], "x") for i in range(40)]
    monkeypatch.setattr(Log, "rows", rows)
    prepared = ClickPrediction(several="each", heldout=0.5).prepare(Log(parts=False), 1)
    assert "holds out 20 of 40 sessions" in prepared.notes[0]
    train, test, _ = _parts(prepared, 1, 0)
    assert len(train) == len(test) == 60
    held = _held(prepared, 1, 0).reshape(40, 3)
    assert (held.all(axis=1) | ~held.any(axis=1)).all()
    assert reduce_clicks(Log().scan().collect(), "each").height == 120


@pytest.mark.parametrize(("heldout", "fewest"), [(0.25, 3), (0.75, 3), (0.1, 6), (0.99, 51)])
def test_too_few_sessions(monkeypatch, heldout, fewest):
    rows = [("q", str(i), ["a", "b"], [1], "train") for i in range(fewest)]
    monkeypatch.setattr(Log, "rows", rows)
    assert ClickPrediction(heldout=heldout).prepare(Log(parts=False), 1)
    monkeypatch.setattr(Log, "rows", rows[:-1])
    with pytest.raises(InputError, match=f"needs {fewest} or more"):
        ClickPrediction(heldout=heldout).prepare(Log(parts=False), 1)


@pytest.mark.full
@pytest.mark.parametrize("sessions", part_of([3, 4, 5, 11], 3))
def test_n_that_few_sessions_make_one_are_run_once(monkeypatch, tmp_path, sessions):
    rows = [("q", str(i), ["a", "b"], [1 + i % 2], "") for i in range(sessions)]
    monkeypatch.setattr(Log, "rows", rows)
    results = rankbench.run("own-clicks", dataset=Log(parts=False), reps=2, out=tmp_path)
    training = sessions - round(sessions / 4)
    sizes = sorted({max(1, round(training * share)) for share in (1 / 16, 1 / 4, 1)})
    assert sorted(results.leaderboard["n"].unique()) == sizes
    assert json.loads((tmp_path / "run.json").read_text())["n"] == {"prediction": sizes}
    # The largest n keeps the suite's own: claims and figures are about that.
    members = api.planned("own-clicks", RunQuestion(dataset=Log(parts=False), reps=2)).plan.members
    assert {member.n_declared for member in members if member.n == training} == {32_000}


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        # Of 10 clicks two are off the list and one is on what its session had clicked before.
        ({}, ["6 of 10 clicks", "3 of sessions with several clicks (several=first)", "2 outside", "1 on what", "coec"]),
        ({"several": "drop"}, ["8 of 10 clicks", "5 of sessions with several clicks (several=drop)"]),
        ({"several": "each"}, ["3 of 10 clicks: 2 outside of the shown list, 1 on what a session had clicked before."]),
        ({"off_list": "no-click"}, ["5 of 10 clicks: 4 of sessions with several", "1 on what"]),
    ],
)
def test_clicks_that_nobody_gets_are_counted(monkeypatch, tmp_path, policies, words):
    clicks = [[1, 2, 3], [2, 1, 2], [4], [4, 1], [], [3]]
    monkeypatch.setattr(Log, "rows", [("q", str(i), ["a", "b", "c"], one, "") for i, one in enumerate(clicks)])
    (text,) = ClickPrediction(**policies).prepare(Log(parts=False), 1).unused
    assert all(word in text for word in words)
    assert ("coec" in text) == ("several clicks" in text)
    if not policies:
        results = rankbench.run("own-clicks", dataset=Log(parts=False), reps=2, out=tmp_path)
        assert Notice("unused", text) in results.notices
        assert f"- {text}" in synthetic.both_pages(tmp_path)


def test_one_click_a_session_leaves_none_out():
    assert ClickPrediction().prepare(DATASET, 1).unused == ()


def test_contenders_get_the_block_and_are_judged_on_the_rest():
    protocol = ClickPrediction(sessions=3000)
    prepared = pickle.loads(pickle.dumps(protocol.prepare(DATASET, 5)))
    found = executed(prepared, ["cascade:smoothing=1", "coec"], n=700, seed=7)
    for result in found.values():
        assert cell_problem(result, {"heldout": 1}) is None
    train, test, _ = _parts(prepared, 7, 0)
    offsets = prepared.arrays["items.offsets"]
    whole = executed(prepared, ["cascade:smoothing=1"], n=3000, seed=7)["cascade:smoothing=1"]
    model = Cascade(smoothing=1).fit(take_selections(train, np.arange(3000)), offsets)
    losses = click_log_loss(model.probabilities(test, offsets), test, 0.001)
    expected = losses.mean()
    assert whole.losses[METRIC, "heldout"] == pytest.approx([expected])
    # More sessions predict better here, and the cascade, which is true, best.
    means = {name: result.losses[METRIC, "heldout"].mean() for name, result in found.items()}
    assert expected < means["cascade:smoothing=1"] < means["coec"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [("sum", "sum to more"), ("negative", "negative"), ("nan", "finite numbers"), ("shape", "finite numbers")],
)
def test_a_bad_contender_answers_for_itself(bad, words):
    protocol = ClickPrediction()
    prepared = protocol.prepare(DATASET, 5)
    found = executed(prepared, [Seer(bad=bad), "cascade", Seer()], n=200, seed=7)
    assert found[f"seer:bad={bad}"].status == "error"
    assert words in found[f"seer:bad={bad}"].reason
    assert found["cascade"].status == found["seer"].status == "done"


def test_nobody_sees_the_clicks_that_it_predicts():
    found = executed(ClickPrediction().prepare(DATASET, 5), [Seer(bad="peeks")], n=200, seed=7)["seer:bad=peeks"]
    # It predicts no clicks at all.
    assert found.losses[METRIC, "heldout"].mean() > 1


def test_who_may_compete_on_what():
    protocol = ClickPrediction()
    assert protocol.misfit(Cascade()) == ""
    assert "does not predict" in protocol.misfit(Borda())
    assert protocol.refusal(DATASET) == protocol.refusal(manager.get(Dataset, "yandex-clicks")) == ""
    assert "takes selections" in protocol.refusal(manager.get(Dataset, "web10k-like"))


@pytest.mark.full
@pytest.mark.skipif(
    not (Path(os.environ.get("RANKBENCH_DATA", "/nowhere")) / "yandex-clicks").is_dir(),
    reason="RANKBENCH_DATA is not set or lacks yandex-clicks",
)
def test_real_sessions():
    protocol = ClickPrediction()
    prepared = protocol.prepare(manager.get(Dataset, "yandex-clicks"), 5)
    assert "35,064 training sessions of 20 queries; 21,413 held-out sessions of 20 queries" in prepared.notes[0]
    assert prepared.scale == 1
    contenders = ["cascade:smoothing=1", "click-through-rate:smoothing=1", "position-debiased:smoothing=1"]
    found = executed(prepared, contenders, n=32_000, seed=7)
    cascade, rate, debiased = (found[c].losses[METRIC, "heldout"].mean() for c in contenders)
    # Measured 1.614, 1.736, 1.594; nothing at all is known: log 11 = 2.398.
    assert cascade == pytest.approx(1.614, abs=0.02)
    assert debiased == pytest.approx(1.594, abs=0.02)
    assert cascade < rate - 0.08
