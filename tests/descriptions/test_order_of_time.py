"""Votes in the order of time: Elo by an independent loop, and items whose strength changes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from counted_logs import count_log
from drawn_votes import named, two_items

import rankbench
from rankbench.descriptions.describe_votes import describe_votes
from rankbench.descriptions.drift import Drift, drift

LLMFAO = Path(__file__).parents[2] / "datasets" / "llmfao" / "llmfao.csv"
ROOT = os.environ.get("RANKBENCH_DATA")
FOOTBALL = Path(ROOT or ".") / "international-results" / "results.csv"
needs_data = pytest.mark.skipif(
    not ROOT or not FOOTBALL.is_file(), reason="RANKBENCH_DATA does not name a folder with international-results"
)


def llmfao() -> pl.DataFrame:
    return pl.read_csv(LLMFAO).select("left", "right", "winner")


def football() -> pl.DataFrame:
    """Return the matches that were played, by date."""
    played = pl.read_csv(FOOTBALL, null_values="NA").drop_nulls(["home_score", "away_score"])
    margin = pl.col("home_score") - pl.col("away_score")
    winner = pl.when(margin > 0).then(pl.lit("left")).when(margin < 0).then(pl.lit("right")).otherwise(pl.lit("tie"))
    return played.select(pl.col("date").alias("time"), left="home_team", right="away_team", winner=winner)


LOGS = [pytest.param(llmfao, id="llmfao"), pytest.param(football, id="football", marks=needs_data)]


def points(log: pl.DataFrame, factor: float, told: str) -> dict[str, float]:
    """Return what `aggregate` says, in points of chess beside the initial rating."""
    table = rankbench.aggregate(log, f"elo:factor={factor}", columns=told).table
    return {item: 400 / np.log(10) * score for item, score in table.select("item", "score").iter_rows()}


def by_hand(log: pl.DataFrame, factor: float) -> dict[str, float]:
    """Rate as Elo's book does, game by game: S is 1, 1/2 or 0."""
    rating: dict[str, float] = {}
    for left, right, said in log.select("left", "right", "winner").iter_rows():
        a, b = rating.setdefault(left, 0.0), rating.setdefault(right, 0.0)
        change = factor * ({"left": 1.0, "tie": 0.5, "right": 0.0}[said] - 1 / (1 + 10 ** ((b - a) / 400)))
        rating[left], rating[right] = a + change, b - change
    return rating


@pytest.mark.parametrize("factor", [4.0, 32.0, 128.0])
@pytest.mark.parametrize("log", LOGS)
def test_ratings_are_those_of_the_textbook(log, factor: float) -> None:
    votes = log()
    told = "" if "time" in votes.columns else "time="
    assert points(votes, factor, told) == pytest.approx(by_hand(votes, factor), abs=1e-7)


def timed(votes: int = 400, seed: int = 0) -> pl.DataFrame:
    """Return votes in the order of time, items improving one after the other."""
    rng = np.random.default_rng(seed)
    a, b = two_items(rng, votes, 6)
    skill = np.sin(np.arange(votes)[:, None] / 60 + np.arange(6))
    at = np.arange(votes)
    first = rng.random(votes) < 1 / (1 + np.exp(2 * (skill[at, b] - skill[at, a])))
    queries, tie = [f"q{q}" for q in rng.integers(0, 2, votes)], rng.random(votes) < 0.2
    weight, judge = rng.choice([1.0, 2.0, 0.5], votes), [f"j{j:02}" for j in rng.integers(0, 80, votes)]
    return named(a, b, first, query_id=queries, tie=tie, weight=weight, judge=judge, time=np.arange(votes))


def of_order(found: rankbench.Aggregation) -> list[str]:
    """Return the notes on the order that votes were taken in."""
    return [note for note in found.notes if "the order of votes" in note]


class Last(rankbench.ComparisonAggregator):
    """A plugin's: the place of an item's last win among all votes."""

    name = "last"
    source = "test"
    properties = frozenset({"equivariant", "sequential"})

    def aggregate(self, winners, losers, weights, m):
        scores = np.zeros(m)
        scores[winners] = np.arange(1, len(winners) + 1)
        return scores


@pytest.mark.parametrize("method", ["elo", "last"])
@pytest.mark.parametrize(
    "asked",
    part_of([{}, {"by": "query"}, *({"intervals": kind, "replicates": 20} for kind in ("bootstrap", "judges"))], 2),
)
def test_the_order_of_time_counts_and_that_of_rows_does_not(monkeypatch, method: str, asked: dict[str, object]) -> None:
    if method == "last":
        monkeypatch.setattr("rankbench.ranking.aggregate._aggregator", lambda method: Last())
    log = timed()
    expected = rankbench.aggregate(log, method, **asked)
    assert of_order(expected) == []
    for other in (log.reverse(), log.sample(fraction=1, shuffle=True, seed=1)):
        found = rankbench.aggregate(other, method, **asked)
        assert found.table.equals(expected.table)
    # What the votes say in another order is something else.
    other = log.with_columns(time=pl.col("time").reverse())
    assert not rankbench.aggregate(other, method, **asked).table.equals(expected.table)


@pytest.mark.full
def test_without_a_time_the_order_of_the_file_is_taken_and_a_note_says_so() -> None:
    log = timed().drop("time")
    said = "the log does not say when votes were cast: methods that go by the order of votes take the file's order"
    assert of_order(rankbench.aggregate(log, "elo", columns="time=")) == [said]
    assert of_order(rankbench.aggregate(log, "elo", columns="time=", by="query")) == [said]
    for name in ("bradley-terry", "permuted-elo", "choix-lsr", "choix-ilsr"):
        assert of_order(rankbench.aggregate(log, name)) == [], name
    untimed = rankbench.aggregate(log, "elo", columns="time=")
    assert untimed.table.equals(rankbench.aggregate(timed(), "elo").table)
    missing = timed().with_columns(time=pl.when(pl.col("time") > 2).then("time"))
    found = rankbench.aggregate(missing, "elo")
    assert of_order(found)[0].startswith("3 of 400 votes have no time: ")
    assert found.table.equals(untimed.table)
    ballots = pl.DataFrame({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"]], [["b"], ["a"]]]})
    assert of_order(rankbench.aggregate(ballots, "elo", columns="time=")) == [said]


def test_votes_of_one_time_are_taken_in_the_order_of_the_file() -> None:
    log = timed().with_columns(time=pl.col("time") // 10)
    found = rankbench.aggregate(log, "elo")
    assert of_order(found)[0].startswith("400 of 400 votes share their time with others: ")
    assert found.table.equals(rankbench.aggregate(timed(), "elo").table)


def test_votes_of_a_resample_stand_in_the_order_of_time(monkeypatch) -> None:
    """The vote that was cast last decides about who won last, however often it is drawn."""
    seen = []
    aggregate = Last.aggregate

    def watched(self, winners, losers, weights, m):
        seen.append((winners.copy(), weights.copy()))
        return aggregate(self, winners, losers, weights, m)

    monkeypatch.setattr(Last, "aggregate", watched)
    monkeypatch.setattr("rankbench.ranking.aggregate._aggregator", lambda method: Last())
    # Item i wins at time i: what is seen says when it was cast.
    names = [f"i{i:02}" for i in range(40)]
    log = pl.DataFrame({"winner": names, "loser": names[1:] + names[:1], "time": range(40), "weight": [0.5] * 40})
    rankbench.aggregate(log.sample(fraction=1, shuffle=True, seed=3), "last", intervals="bootstrap", replicates=30)
    assert len(seen) == 31
    for winners, weights in seen[1:]:
        assert len(winners) == 40
        assert (np.diff(winners) >= 0).all()
        assert len(np.unique(winners)) < 40
        assert set(weights.tolist()) == {0.5}


@dataclass(frozen=True)
class Null:
    """Logs in which no strength changes.

    Attributes
    ----------
    judges : int
        0: not named. Each cares for items in a way of its own.
    in_turn : bool
        Judges vote one after the other, so that tastes come and go.
    """

    n: int = 600
    m: int = 8
    judges: int = 0
    in_turn: bool = False
    ties: bool = False

    def votes(self, seed: int, *, fallen: int | None = None) -> pl.DataFrame:
        """Return votes; the item `fallen` loses everything from half of the log on."""
        rng = np.random.default_rng([20261123, seed])
        scores = rng.normal(size=self.m)
        a, b = two_items(rng, self.n, self.m)
        lead = scores[a] - scores[b]
        judge = rng.integers(max(self.judges, 1), size=self.n)
        judge = np.sort(judge) if self.in_turn else judge
        if self.judges:
            taste = rng.normal(size=(self.judges, self.m))
            lead = lead + taste[judge, a] - taste[judge, b]
        won = rng.random(self.n) < 1 / (1 + np.exp(-lead))
        tied = rng.random(self.n) < 0.15 if self.ties else np.zeros(self.n, np.bool_)
        if fallen is not None:
            late = np.arange(self.n) >= self.n // 2
            won = np.where(late & (a == fallen), False, np.where(late & (b == fallen), True, won))
            tied &= ~(late & ((a == fallen) | (b == fallen)))
        judged = {"judge": [f"j{x}" for x in judge]} if self.judges else {}
        return named(a, b, won, tie=tied, time=np.arange(self.n), **judged)


def found(frame: pl.DataFrame) -> Drift:
    what = drift(frame.lazy(), len(frame), count_log(frame.lazy()))
    assert what is not None
    return what


NULLS = (
    Null(),
    Null(ties=True),
    Null(n=300, m=20),
    Null(judges=30),
    Null(judges=30, in_turn=True),
    Null(judges=6, in_turn=True),
)


@pytest.mark.full
@pytest.mark.parametrize("null", part_of(NULLS), ids=str)
def test_few_logs_without_drift_name_an_item(null: Null) -> None:
    count = trials(400)
    wrong = sum(bool(found(null.votes(seed)).items) for seed in range(count))
    assert wrong <= 0.05 * count + 2 * (0.05 * 0.95 * count) ** 0.5


@pytest.mark.parametrize("null", [Null(), Null(ties=True), Null(n=2000, m=20), Null(n=3000, judges=60)], ids=str)
def test_an_item_that_begins_to_lose_everything_is_found_with_the_time_and_the_size(null: Null) -> None:
    """And nobody else is: those who now win against it are not accused."""
    for seed in range(5):
        votes = null.votes(seed, fallen=3)
        (one,) = found(votes).items
        assert one.item == "i3"
        assert int(one.since) == null.n // 2
        own = votes.filter((pl.col("winner") == "i3") | (pl.col("loser") == "i3"))
        share = pl.when("tie").then(0.5).otherwise((pl.col("winner") == "i3").cast(pl.Float64))
        early = own.filter(pl.col("time") < null.n // 2).select(share).to_series().mean()
        assert (one.before, one.after) == (pytest.approx(early), 0.0)
        assert one.change < -1
        assert one.p < 0.05


def test_the_order_of_rows_means_nothing_and_dates_are_said() -> None:
    votes = (
        Null()
        .votes(1, fallen=3)
        .with_columns(time=pl.lit("2024-01-01").str.to_date() + pl.duration(days=pl.col("time")))
    )
    shuffled = votes.sample(fraction=1.0, shuffle=True, seed=4)
    assert found(votes).items[0].since == "2024-10-27"
    assert [one.item for one in found(shuffled).items] == ["i3"]
    assert found(shuffled).items[0].p == pytest.approx(found(votes).items[0].p, rel=1e-6)


def test_without_an_order_of_time_nothing_is_known() -> None:
    votes = Null().votes(0, fallen=3)
    for frame in (
        votes.drop("time"),
        votes.with_columns(time=pl.lit(3)),
        votes.with_columns(time=pl.when(pl.col("time") > 5).then("time")),
    ):
        summary = describe_votes(frame.lazy())
        assert summary.facts["drift"] is None
        assert dict(summary.lines)["drift"].startswith("not known")


def test_an_item_with_few_votes_before_the_moment_is_not_accused() -> None:
    votes = Null().votes(0)
    late = named(["1"] * 60, ["new"] * 60, tie=False, time=range(540, 600))
    assert found(pl.concat([votes, late])).items == []


def test_the_line_is_marked_and_says_item_size_and_time() -> None:
    line = dict(describe_votes(Null().votes(0, fallen=3).lazy()).lines)["drift"]
    assert line.startswith("1: 'i3' (-")
    assert "log-odds from 300 on; won " in line
    assert line.endswith("0% after) (votes taken as independent)  !")
    assert dict(describe_votes(Null().votes(0).lazy()).lines)["drift"].startswith("no item changes significantly")


def test_a_long_log_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankbench.descriptions import drift as module

    monkeypatch.setattr(module, "_SAMPLE", 1000)
    what = found(Null(n=4000).votes(0, fallen=3))
    assert what.sampled == 1 / 4
    assert [one.item for one in what.items] == ["i3"]
