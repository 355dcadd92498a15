"""Votes of one's own log that are held out together, their order, and who learns when in prequential evaluation."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import part_of
from drawn_votes import named, two_items
from drifting_votes import Drifting, prepared
from own_logs import SUITE, Few, Log, rows_of, suite
from scipy.special import expit

import rankbench
from rankbench import api
from rankbench.core.component import Property
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.logs.votes import Votes
from rankbench.protocols import steps as steps_module
from rankbench.protocols.folds import grouping_of
from rankbench.protocols.forecast import sequential_margins
from rankbench.protocols.items import Items
from rankbench.protocols.log_votes import pack_votes, unpack_grouped, unpack_items, unpack_votes, votes_of
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.steps import MOMENTS, unpack_steps
from rankbench.runner.question import RunQuestion


def test_a_log_without_judges_or_times_is_folded_by_pair_and_says_so(tmp_path: Path) -> None:
    made = api.planned(suite(tmp_path), RunQuestion(dataset=Log(judges=False, times=False)))
    assert list(made.left_out) == ["later"]
    assert "does not say when" in made.left_out["later"]
    assert any("held out together" in note for note in made.sources[0].notes)
    results = rankbench.run(suite(tmp_path), dataset=Log(judges=False, times=False), reps=2, out=tmp_path / "out")
    assert set(results.rows["status"]) == {"done"}
    assert "leaves out later" in synthetic.both_pages(tmp_path / "out")


def test_folds_by_pair_are_left_out_where_they_stand_in_for_those_by_judge(tmp_path: Path) -> None:
    for log, left_out in ((Log(judges=False), {"by-pair"}), (Log(), set())):
        made = api.planned("own-log", RunQuestion(dataset=log, reps=1))
        assert set(made.left_out) == left_out
        assert {"methods", "by-time", "ties", "items"} <= set(made.source_index)
    why = api.planned("own-log", RunQuestion(dataset=Log(judges=False), reps=1)).left_out["by-pair"]
    assert why == "the log has no folds by judge: those by pair stand in for them already"
    # Who asks for them alone gets them.
    notes = OwnLog(folds="pair").prepare(Log(judges=False), 1).notes
    assert notes[-1] == "Votes on one pair of items (and query) are held out together."


@pytest.mark.full
@pytest.mark.parametrize("dominant", [False, True])
def test_few_or_dominant_judges_do_not_cost_the_results(tmp_path: Path, dominant: bool) -> None:
    out = tmp_path / "out"
    results = rankbench.run(suite(tmp_path), dataset=Few(dominant=dominant), reps=10, out=out)
    assert set(results.rows["status"]) == {"done"}
    text = synthetic.both_pages(out)
    assert "folds are not by judge." in text
    assert "- Votes on one pair of items (and query) are held out together." in text
    assert "- Folds by judge or pair let contenders learn from later votes." in text
    assert ("Few judges: " if dominant else "No item has an effective number of 3 judges (of 3, at most 2.") in text
    # By time there are five runs, however many are asked for.
    assert "later: n = 900, 5 runs" in text
    assert "drift" in text


class Rankings(Log):
    """Votes that rankings of five items imply, ten each."""

    name = "test-rankings"

    def scan(self) -> pl.LazyFrame:
        rng = np.random.default_rng(2)
        ballots = [(f"q{q}", [[f"i{item}"] for item in rng.permutation(9)[:5]]) for q in range(80)]
        if self.table == "orders":
            return pl.LazyFrame(ballots, schema=["query_id", "ranking"], orient="row")
        votes = [(q, one[a][0], one[b][0]) for q, one in ballots for b in range(5) for a in range(b)]
        return pl.LazyFrame(votes, schema=["query_id", "winner", "loser"], orient="row")


class RankingsAsBallots(Rankings):
    """The rankings themselves."""

    name = "test-rankings-as-ballots"
    table: ClassVar[str] = "orders"


@pytest.mark.parametrize("data", [Rankings(), RankingsAsBallots()])
def test_rankings_are_held_out_as_wholes(data: Log) -> None:
    made = OwnLog(folds="query").prepare(data, 1)
    assert made.notes[-1] == "All votes of a query are held out together."
    grouped = unpack_grouped(made.arrays)
    assert grouped.total.tolist() == [10] * 80
    # Methods that go by the order of votes look at them one by one.
    assert np.bincount(grouping_of(unpack_votes(made), grouped.kind)).tolist() == [10] * 80


@pytest.mark.parametrize("folds", ["judge", "pair", "time"])
def test_all_folds_but_those_by_time_say_what_gives_outcomes_away(folds: str) -> None:
    """Folds by judge do not hide who was compared again either."""
    notes = OwnLog(folds=folds).prepare(Log(), 1).notes
    assert any("the number of comparisons leaks outcomes" in note for note in notes) == (folds != "time")


@pytest.mark.parametrize("reps", [1, 2, 7, None])
def test_there_are_five_runs_by_time_however_many_are_asked_for(tmp_path: Path, reps: int | None) -> None:
    prepared = OwnLog(folds="time").prepare(Log(), 1)
    assert [prepared.repetitions(900, wanted) for wanted in (1, 3, 10)] == [5, 5, 5]
    assert any("there are 5 runs, whatever repetitions say" in note for note in prepared.notes)
    made = api.planned(suite(tmp_path), RunQuestion(dataset=Log(), reps=reps))
    runs = {name: len({m.repetition for m in made.plan.members if m.experiment == name}) for name in made.source_index}
    assert runs["later"] == 5
    assert runs["methods"] == (reps or 10)


@pytest.mark.full
def test_the_record_of_a_run_says_how_many_repetitions_there_are(tmp_path: Path) -> None:
    out = rankbench.run(suite(tmp_path), dataset=Log(), reps=2, out=tmp_path / "out").directory
    found = json.loads((out / "run.json").read_text())["repetitions"]
    assert found == {"methods": 2, "later": 5, "items": 1}


class Shuffled(Log):
    """The same votes at the same times, in another order of the rows."""

    name = "test-shuffled"

    def scan(self) -> pl.LazyFrame:
        return super().scan().collect().reverse().lazy()


@pytest.mark.full
@pytest.mark.parametrize("judges", part_of([True, False]))
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
        a, b = two_items(rng, self.n, 8)
        skill = 1.5 * np.sin(at[:, None] / 800 + np.arange(8) * np.pi / 4)
        won = rng.random(self.n) < 1 / (1 + np.exp(skill[at, b] - skill[at, a]))
        return named(a, b, won, query_id="all", time=at).lazy()


@pytest.mark.full
def test_parameters_by_time_are_those_that_predict_what_comes_next(tmp_path: Path) -> None:
    """With items that change, K = 32 is better than K = 2 in five of five runs, and is what is chosen."""
    fast_and_slow = '{ use = "elo:factor=2" }, { use = "elo:factor=32" }'
    both = f'[{fast_and_slow}, {{ label = "tuned", use = "elo:factor=[2,32]", tune = true }}]'
    rows = rows_of(tmp_path, Drift(), 1, ('[{ use = "win-rate" }]', both)).filter(experiment="later")
    of = {c: rows.filter(contender=c).sort("repetition")["value"].to_list() for c in rows["contender"].unique()}
    assert len(of["tuned"]) == 5
    assert all(fast < slow for fast, slow in zip(of["elo"], of["elo:factor=2"], strict=True))
    assert of["tuned"] == of["elo"]


def test_no_votes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no votes"):
        OwnLog().prepare(Log(n=0), 1)


def test_votes_without_a_judge_are_counted(tmp_path: Path) -> None:
    notes = OwnLog().prepare(Few(nameless=12), 1).notes
    assert any(note.startswith("12 of 900 votes have no judge") for note in notes)
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
    sources = api.planned(suite(tmp_path), RunQuestion(dataset=Log())).sources
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


def test_a_refitted_method_is_the_method_on_the_votes_before_each_moment() -> None:
    """Each margin again, from the rows of the log that came before its moment."""
    data = Drifting(n=900, times=300, weighted=True)
    made = prepared(data)
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    point = rankbench.get(Aggregator, "bradley-terry:ridge=1")
    margins = sequential_margins(point, steps, items)
    rows = data.scan().collect()
    times = rows["time"].unique().sort().to_list()
    where = {name: i for i, name in enumerate(items)}
    assert len(steps.moments) <= MOMENTS
    for moment, until in list(zip(steps.moments, [*steps.moments[1:], len(times)], strict=True))[::7]:
        before = rows.filter(pl.col("time") < times[moment])
        said = Comparisons(
            np.array([0, len(before)]),
            np.array([where[x] for x in before["winner"]], np.int32),
            np.array([where[x] for x in before["loser"]], np.int32),
            before["weight"].to_numpy(),
            before["tie"].to_numpy(),
        )
        scores = point.from_comparisons(said, len(items))
        own = slice(int(steps.starts[moment]), int(steps.starts[until]))
        expected = scores[steps.first[own]] - scores[steps.second[own]]
        assert margins[own] == pytest.approx(expected, abs=1e-6)


class Remembering(CountAggregator):
    """The win rate, which remembers what it was given to start from."""

    name: ClassVar[str] = "remembering"
    source: ClassVar[str] = "test"
    starts: ClassVar[list[np.ndarray | None]] = []

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        self.starts.append(None)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)

    def from_counts_near(self, counts: PairCounts, scores: np.ndarray) -> np.ndarray:
        self.starts.append(scores)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)


def test_a_refit_starts_from_the_scores_of_the_last_one() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    Remembering.starts.clear()
    margins = sequential_margins(Remembering(), steps, items)
    first, *others = Remembering.starts
    assert first is None
    assert len(others) == len(steps.moments) - 1
    assert all(start is not None and np.isfinite(start).all() and start.any() for start in others)
    assert margins == pytest.approx(sequential_margins(rankbench.get(Aggregator, "win-rate"), steps, items), abs=1e-12)


@pytest.mark.parametrize(("pairs", "most"), [(1, 10), (15, 15), (40, 40), (1000, 100)])
def test_refits_are_the_fewer_the_more_pairs_were_compared(
    pairs: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pairs` times all compared pairs may be gone through; at least ten refits, at most a hundred."""
    data = Drifting(n=1200, times=600)
    compared = len(unpack_steps(prepared(data).arrays).pairs[0])
    monkeypatch.setattr(steps_module, "REFITTED_PAIRS", pairs * compared)
    made = prepared(data)
    moments = unpack_steps(made.arrays).moments
    assert len(moments) in (most - 1, most, most + 1)  # the end of the warm-up is one of them
    assert np.diff(moments).max() <= 600 / most * 3
    gaps = np.diff(np.append(unpack_steps(made.arrays).starts[moments], 1200))
    assert f"learn of a vote up to {gaps.max():,} votes later" in " ".join(made.notes)


class Momentum(SequentialAggregator):
    """Elo with a memory of its last step: a state of two columns, without a compiled form."""

    name: ClassVar[str] = "momentum"
    source: ClassVar[str] = "test"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        state = self.start(m)
        for t in range(len(winners)):
            one = slice(t, t + 1)
            self.learn(state, Comparisons(np.array([0, 1]), winners[one], losers[one], weights[one]), t)
        return state[:, 0]

    def start(self, m: int) -> np.ndarray:
        return np.zeros((m, 2))

    def ratings(self, state: np.ndarray) -> np.ndarray:
        return state[:, 0]

    def learn(self, state: np.ndarray, votes: Comparisons, time: int) -> None:
        gap = state[votes.winners, 0] - state[votes.losers, 0]
        move = np.where(votes.ties if votes.ties is not None else False, 0.5, 1.0) - expit(gap)
        step = np.bincount(votes.winners, move, len(state)) - np.bincount(votes.losers, move, len(state))
        state[:, 1] = 0.5 * state[:, 1] + 0.1 * step
        state[:, 0] += state[:, 1]


class Guesses(Momentum):
    """Guesses that the votes of a pair which come first go against its first item."""

    name: ClassVar[str] = "guesses"

    def margins(self, state: np.ndarray, first: np.ndarray, second: np.ndarray, time: int) -> np.ndarray:
        assert len(first) == len(set(zip(first.tolist(), second.tolist(), strict=True)))
        return np.arange(len(first), dtype=np.float64)


def test_the_order_of_the_votes_of_a_time_tells_no_outcome() -> None:
    steps = unpack_steps(prepared(Drifting(n=600, items=3, times=40)).arrays)
    margins = sequential_margins(Guesses(), steps, [])
    for begin, end in zip(steps.starts[:-1], steps.starts[1:], strict=True):
        pairs = list(zip(steps.first[begin:end].tolist(), steps.second[begin:end].tolist(), strict=True))
        assert len(set(zip(pairs, margins[begin:end].tolist(), strict=True))) == len(set(pairs)) < len(pairs)


def test_a_plugin_brings_state_prediction_and_update_in_plain_numpy() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    margins = sequential_margins(Momentum(), steps, items)
    state = np.zeros((steps.m, 2))
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        expected = state[steps.first[rows], 0] - state[steps.second[rows], 0]
        assert margins[rows] == pytest.approx(expected, abs=1e-12)
        Momentum().learn(state, steps.comparisons(t, t + 1), t)


@pytest.mark.parametrize(
    "text", ["elo:factor=32", "elo:factor=300", "glicko-2", "glicko-2:volatility=0.5,tau=1.2", "dynamic-bradley-terry"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_walks_are_what_learning_does(text: str, weighted: bool) -> None:
    point = rankbench.get(Aggregator, text)
    assert isinstance(point, SequentialAggregator)
    made = prepared(Drifting(n=400, times=60, weighted=weighted))
    steps = unpack_steps(made.arrays)
    plain, state = np.zeros(len(steps)), point.start(steps.m)
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        plain[rows] = point.margins(state, steps.first[rows], steps.second[rows], t)
        point.learn(state, steps.comparisons(t, t + 1), t)
    assert sequential_margins(point, steps, []) == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("text", ["elo:factor=32", "glicko-2", "dynamic-bradley-terry"])
def test_shared_knowledge_is_that_of_the_last_moment(text: str) -> None:
    point = rankbench.get(Aggregator, text)
    assert isinstance(point, SequentialAggregator)
    steps = unpack_steps(prepared(Drifting(), shared=True).arrays)
    plain, state, asked = np.zeros(len(steps)), point.start(steps.m), 0
    known = state.copy()
    for t in range(len(steps.starts) - 1):
        if t in steps.moments:
            known, asked = state.copy(), t
        rows = slice(steps.starts[t], steps.starts[t + 1])
        plain[rows] = point.margins(known, steps.first[rows], steps.second[rows], asked)
        point.learn(state, steps.comparisons(t, t + 1), t)
    assert len(steps.moments) < t / 1.5
    assert sequential_margins(point, steps, []) == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("text", ["elo", "glicko-2", "win-rate", "bradley-terry"])
def test_no_method_knows_of_votes_after_the_last_moment(text: str) -> None:
    """Outcomes between two moments that are turned change no prediction of a vote between them."""
    steps, items = unpack_steps(prepared(Drifting(), shared=True).arrays), list("abcdef")
    widest = int(np.diff(steps.moments).argmax())
    begin, end = steps.starts[steps.moments[widest : widest + 2]]
    turned = np.array(steps.outcome)
    turned[begin:] *= -1
    point = rankbench.get(Aggregator, text)
    one, other = (sequential_margins(point, replace(steps, outcome=of), items) for of in (steps.outcome, turned))
    assert one[:end].tobytes() == other[:end].tobytes()
    assert not np.allclose(one[end:], other[end:])
    assert steps.moments[widest + 1] - steps.moments[widest] > 1
