"""`rankbench.aggregate` against choix and evalica, brute force, and laws of its own."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from data_files import written
from drawn_votes import named, two_items

import rankbench
from rankbench.errors import InputError, SpecError, Unread
from rankbench.logs.open import open_log
from rankbench.ranking.pictures import judgments_text

choix = pytest.importorskip("choix")

LLMFAO = Path(__file__).parents[2] / "datasets" / "llmfao" / "llmfao.csv"


@pytest.fixture(scope="module")
def llmfao() -> pl.DataFrame:
    return pl.read_csv(LLMFAO)


def scores(found: rankbench.Aggregation, items: list[str]) -> np.ndarray:
    by_name = dict(found.table.select("item", "score").iter_rows())
    return np.array([by_name[item] for item in items])


@pytest.mark.full
def test_plain_maximum_likelihood_is_where_choix_says_that_it_is_level(llmfao: pl.DataFrame) -> None:
    decisive = llmfao.filter(pl.col("winner") != "tie")
    items = sorted({*llmfao["left"], *llmfao["right"]})
    left, right = (decisive[side].cast(pl.Enum(items)).to_physical().to_numpy() for side in ("left", "right"))
    won = (decisive["winner"] == "left").to_numpy()
    pairs = list(zip(np.where(won, left, right), np.where(won, right, left), strict=True))
    found = rankbench.aggregate(decisive.select("left", "right", "winner"), "bradley-terry:ridge=0")
    # The likelihood is concave: its maximum is where choix says that it is level.
    slope = choix.opt.PairwiseFcts(pairs, 0.0).gradient(scores(found, items))
    np.testing.assert_allclose(slope / len(pairs), 0, atol=1e-12)
    assert found.table["scale"].unique().to_list() == [1]


def random_log(votes: int, items: int, judges: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = np.linspace(1, -1, items)
    a, b = two_items(rng, votes, items)
    won = rng.random(votes) < 1 / (1 + np.exp(truth[b] - truth[a]))
    queries, judge = (
        [f"{word}{at}" for at in rng.integers(most, size=votes)] for word, most in (("q", 3), ("j", judges))
    )
    return named(a, b, won, query_id=queries, judge=judge, tie=rng.random(votes) < 0.2)


@pytest.mark.parametrize("method", ["bradley-terry", "davidson", "win-rate", "borda", "kemeny", "elo"])
def test_scores_are_those_of_the_aggregator(method: str) -> None:
    log = random_log(400, 6, 10)
    aggregator = rankbench.get(rankbench.Aggregator, method)
    number = {f"i{i}": i for i in range(6)}
    votes = rankbench.Comparisons(
        np.array([0, 400]),
        np.array([number[name] for name in log["winner"]], dtype=np.int32),
        np.array([number[name] for name in log["loser"]], dtype=np.int32),
        np.ones(400),
        log["tie"].to_numpy(),
    )
    found = rankbench.aggregate(log, method, columns="time=")
    np.testing.assert_allclose(scores(found, list(number)), aggregator.from_comparisons(votes, 6), atol=1e-8)
    order = found.table["score"].to_numpy()
    assert (np.diff(order) <= 0).all()


@pytest.mark.full
def test_by_query_is_one_log_for_each() -> None:
    log = random_log(600, 6, 10)
    for kwargs in ({}, {"intervals": "bootstrap", "replicates": 50}, {"method": "elo", "columns": "time="}):
        found = rankbench.aggregate(log, by="query", **kwargs).table
        assert found["query"].unique(maintain_order=True).to_list() == ["q0", "q1", "q2"]
        for (query,), part in found.group_by("query"):
            alone = rankbench.aggregate(log.filter(query_id=query), **kwargs).table
            expected = part.drop("query")
            assert expected.drop("score", "lower", "upper").equals(alone.drop("score", "lower", "upper"))
            np.testing.assert_allclose(
                expected.select("score", "lower", "upper").to_numpy().astype(float),
                alone.select("score", "lower", "upper").to_numpy().astype(float),
                atol=1e-9,
            )


@pytest.mark.parametrize("kind", ["bootstrap", "judges", "sandwich"])
def test_intervals_agree_where_judgments_are_independent(kind: str) -> None:
    log = random_log(6000, 6, 300, seed=3).drop("tie")
    by_formula = rankbench.aggregate(log.drop("judge"), intervals="sandwich").table.sort("item")
    found = rankbench.aggregate(log, intervals=kind, replicates=2000).table.sort("item")
    widths, expected = (t["upper"] - t["lower"] for t in (found, by_formula))
    np.testing.assert_allclose(widths / expected, 1, atol=0.12)
    np.testing.assert_allclose((found["upper"] + found["lower"]) / 2, found["score"], atol=1e-12)
    assert (found["rank_low"] <= found["rank_high"]).all()
    truth = np.linspace(1, -1, 6)
    assert (found["lower"].to_numpy() < truth).all()
    assert (truth < found["upper"].to_numpy()).all()
    for item, (low, high) in enumerate(found.select("rank_low", "rank_high").iter_rows()):
        assert low <= item + 1 <= high


def test_weighted_votes_are_units_of_their_own() -> None:
    log = random_log(800, 4, 10, seed=6).drop("judge").with_columns(weight=2.0)
    plain = rankbench.aggregate(log.drop("weight"), "bradley-terry:ridge=1", intervals="sandwich").table.sort("item")
    twice = rankbench.aggregate(log, "bradley-terry:ridge=2", intervals="sandwich").table.sort("item")
    for column in ("score", "lower", "upper"):
        np.testing.assert_allclose(twice[column], plain[column], atol=1e-9)


def test_few_judges_are_noted() -> None:
    few = rankbench.aggregate(random_log(500, 4, 5), intervals="judges")
    assert any("only 5 judges" in note for note in few.notes)


def test_the_seed_alone_decides() -> None:
    log = random_log(300, 4, 40)
    for method in ("bradley-terry", "borda", "elo"):
        first, again, other = (
            rankbench.aggregate(log, method, columns="time=", intervals="bootstrap", replicates=40, seed=seed).table
            for seed in (1, 1, 2)
        )
        assert first.equals(again)
        assert not first.equals(other)


BALLOTS = [[["a"], ["b"], ["c"]]] * 5 + [[["b"], ["c"], ["a"]]] * 3 + [[["c"], ["a", "b"]]] * 2


def test_ballots() -> None:
    log = pl.DataFrame({"query_id": ["q"] * 10, "ranking": BALLOTS})
    found = rankbench.aggregate(log, "borda").table
    assert found["item"].to_list() == ["b", "a", "c"]  # wins less losses over voters: 4, 2, -6
    packed = pl.DataFrame({"query_id": ["q"] * 3, "ranking": BALLOTS[::4][:3], "count": [5, 3, 2]})
    packed = packed.with_columns(ranking=pl.Series([BALLOTS[0], BALLOTS[5], BALLOTS[8]]))
    one = rankbench.aggregate(log, "plackett-luce", intervals="bootstrap", replicates=400)
    other = rankbench.aggregate(packed, "plackett-luce", intervals="bootstrap", replicates=400)
    assert [judgments_text(found.facts) for found in (one, other)] == ["10 ballots", "10 ballots"]
    assert (one.facts["voters"], other.facts["voters"], one.facts["judges"]) == (10, 10, None)
    # A ballot of count 5 is five voters: the same units in the same order.
    for column in ("score", "lower", "upper"):
        np.testing.assert_allclose(one.table[column], other.table[column], atol=1e-9)
    with pytest.raises(SpecError, match="do not say whose"):
        rankbench.aggregate(log, "plackett-luce", intervals="judges")
    with pytest.raises(SpecError, match="for votes only"):
        rankbench.aggregate(log, "plackett-luce", intervals="sandwich")


def test_ballots_of_judges() -> None:
    log = pl.DataFrame({"query_id": ["q"] * 10, "ranking": BALLOTS, "judge": [f"j{i}" for i in range(10)]})
    voters = rankbench.aggregate(log, "plackett-luce", intervals="bootstrap", replicates=100).table
    judges = rankbench.aggregate(log, "plackett-luce", intervals="judges", replicates=100).table
    assert judges.equals(voters)
    echoed = pl.concat([log] * 4)
    again = rankbench.aggregate(echoed, "plackett-luce:ridge=4", intervals="judges", replicates=100).table
    np.testing.assert_allclose(again["upper"], judges["upper"], atol=1e-6)


def test_ballots_that_share_nothing_are_kept_apart() -> None:
    log = pl.DataFrame({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"]], [["x"], ["y"]]]})
    found = rankbench.aggregate(log, "plackett-luce")
    assert found.table["scale"].to_list() == [1, 1, 2, 2]
    assert "cannot be compared" in found.notes[1]


def test_queries_that_say_nothing_are_left_out_and_named() -> None:
    log = pl.DataFrame({"query_id": ["q", "r"], "ranking": [[["a"], ["b"]], [["x"]]]})
    found = rankbench.aggregate(log, "plackett-luce", by="query")
    assert found.table["query"].unique().to_list() == ["q"]
    assert "rankbench leaves out query 'r'" in found.notes[1]
    with pytest.raises(InputError, match="say nothing"):
        rankbench.aggregate(log.tail(1), "plackett-luce", by="query")
    votes = random_log(30, 3, 3)
    with pytest.raises(Unread, match="no column says when they were cast"):
        rankbench.aggregate(votes, "elo", by="query")


def test_clicks(tmp_path: Path) -> None:
    sessions = [
        {"query_id": q, "session_id": f"{q}{i}", "shown": list(order), "clicked": [list(order).index("b") + 1]}
        for q in ("p", "q")
        for i, order in enumerate(itertools.permutations("abc"))
    ]
    path = written(tmp_path / "clicks.ndjson", "".join(json.dumps(session) + "\n" for session in sessions))
    found = rankbench.aggregate(path, "cascade", by="query").table
    # b is taken whenever it is seen, the others never; all are of one scale.
    assert found.filter(query="p").select("item", "score").rows()[0] == ("b", 1.0)
    assert found["score"].to_list() == [1.0, 0.0, 0.0] * 2
    assert found["rank_low"].to_list() == [1, 2, 2] * 2
    assert found["rank_high"].to_list() == [1, 3, 3] * 2
    pooled = rankbench.aggregate(path, "coec", intervals="bootstrap", replicates=50).table
    assert pooled["item"].to_list()[0] == "b"
    assert (pooled["lower"] <= pooled["score"]).all()
    with pytest.raises(SpecError, match="clicks have no judges"):
        rankbench.aggregate(path, "cascade", intervals="judges")
    with pytest.raises(SpecError, match="'borda' aggregates comparisons"):
        rankbench.aggregate(path, "borda")


SEVERAL_CLICKS = [("s1", "AB", [1]), ("s2", "AB", [2]), ("s3", "BA", [1]), ("s4", "AC", [1, 2])]
"""Positions are clicked 3 and 2 times of 4; A is clicked in 2 of 4 lists, B in 2 of 3, C in its only one."""


@pytest.mark.parametrize(
    ("method", "scores"),
    [
        ("click-through-rate", {"A": 2 / 4, "B": 2 / 3, "C": 1.0}),
        # A stood at the top three times, and once below; B at the top once, and twice below; C once below.
        ("coec", {"A": 2 / (3 * 3 / 4 + 2 / 4), "B": 2 / (3 / 4 + 2 * 2 / 4), "C": 1 / (2 / 4)}),
        ("coec:smoothing=1", {"A": 3 / 3.75, "B": 3 / 2.75, "C": 2 / 1.5}),
    ],
)
@pytest.mark.parametrize("rows", ["lists", "impressions"])
def test_every_click_of_a_list_counts(method: str, scores: dict[str, float], rows: str) -> None:
    if rows == "lists":
        names = ["query_id", "session_id", "shown", "clicked"]
        log = pl.DataFrame([("q", name, list(shown), at) for name, shown, at in SEVERAL_CLICKS], names, orient="row")
    else:
        shows = [
            (name, place, item, place in at)
            for name, shown, at in SEVERAL_CLICKS
            for place, item in enumerate(shown, 1)
        ]
        log = pl.DataFrame(shows, ["session", "position", "doc", "clicked"], orient="row")
    found = rankbench.aggregate(log, method)
    assert dict(found.table.select("item", "score").rows()) == pytest.approx(scores)
    assert dict(found.table.select("item", "wins").rows()) == {"A": 2, "B": 2, "C": 1}
    assert [note.split(":")[0] for note in found.notes] == ["read as clicks"]


def test_clicks_that_are_not_used_are_counted() -> None:
    columns = {"session_id": ["1", "2", "3"], "shown": [["A", "B"]] * 3, "clicked": [[2, 1], [3, 1, 1], [2]]}
    log = pl.DataFrame({"query_id": ["q"] * 3, **columns})
    found = rankbench.aggregate(log, "cascade")
    # The topmost click of session 1 is on A, though B was clicked before; only session 3 looks at B.
    assert dict(found.table.select("item", "score").rows()) == pytest.approx({"A": 2 / 3, "B": 1.0})
    assert found.notes[1:] == (
        "cascade does not use all clicks; it leaves out 1 outside of the shown list, 1 on what a session had clicked "
        "before, 1 below the topmost of a list (cascade takes one click a list)",
    )
    assert not any("topmost" in note for note in rankbench.aggregate(log, "coec").notes)
    counted = pl.DataFrame({"session": ["1", "1"], "position": [1, 2], "doc": ["A", "B"], "clicked": [3, 0]})
    said = "rankbench counts 1 item shown once with several clicks as clicked once"
    assert said in rankbench.aggregate(counted, "coec").notes


@pytest.mark.parametrize(
    ("method", "unseen"),
    [("cascade", "'C', 'D'"), ("cascade:smoothing=1", "'C', 'D'"), ("coec", "'D'"), ("position-debiased", "'D'")],
)
def test_items_without_an_observation_are_named(method: str, unseen: str) -> None:
    """Users of the cascade model never get down to C and D; nobody clicked at the lowest position, where D stands."""
    shown = {"query_id": ["q"] * 4, "session_id": list("1234"), "shown": [["A", "B", "C", "D"]] * 4}
    log = pl.DataFrame(shown | {"clicked": [[1], [1, 3], [2], [2]]})
    noted = f"{method.split(':')[0]} has no observation of {unseen}"
    assert any(note.startswith(noted) for note in rankbench.aggregate(log, method).notes)
    assert not any("no observation" in note for note in rankbench.aggregate(log, "click-through-rate").notes)
    seen = log.with_columns(clicked=pl.Series([[1], [], [4], [2, 3]], dtype=pl.List(pl.UInt32)))
    assert not any("no observation" in note for note in rankbench.aggregate(seen, method).notes)


def test_items_with_features_are_no_log() -> None:
    with pytest.raises(SpecError, match="not judgments"):
        rankbench.aggregate("web10k-like:queries=2,features=9")


def test_what_cannot_be_asked_for() -> None:
    log = pl.DataFrame({"winner": ["a"], "loser": ["b"]})
    with pytest.raises(SpecError, match="replicates must be 2 or more, not 1"):
        rankbench.aggregate(log, replicates=1)
    with pytest.raises(InputError, match="there is no column 'judge' for the query"):
        rankbench.aggregate(log, by="judge")
    with pytest.raises(InputError, match="no such file"):
        rankbench.aggregate("nothing.csv")


@pytest.mark.full
def test_shipped_data_sets_are_ranked_by_any_column() -> None:
    found = rankbench.aggregate("international-results", by="tournament")
    cup = found.table.filter(query="FIFA World Cup")
    assert cup["item"][0] in ("Brazil", "Germany", "Argentina", "Italy")
    assert found.facts["n"] == 49_520


@pytest.mark.full
def test_a_column_may_be_called_by_its_role(llmfao: pl.DataFrame) -> None:
    """The column of judges is called worker: in a data set, in a frame, and in what an audit may name."""
    told = "query=prompt,judge=worker,ignore=id|model_?"
    by_worker = rankbench.aggregate(llmfao, "win-rate", columns=told, by="worker").table
    for log, columns in ((llmfao, told), ("llmfao", "")):
        assert rankbench.aggregate(log, "win-rate", columns=columns, by="judge").table.equals(by_worker)
    assert open_log("llmfao").columns["judge"] == "worker"


def test_data_sets_without_names_of_columns_say_so() -> None:
    with pytest.raises(SpecError, match="'web10k-like' is a data set, which has its columns; leave columns= and by="):
        rankbench.aggregate("web10k-like", by="tournament")


def test_ballots_are_ranked_by_any_column_and_clicks_by_query_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "ballots.csv", 'ranking,judge\n"[""a"",""b""]",x\n"[""b"",""a""]",y\n')
    found = rankbench.aggregate(path, by="judge").table.filter(pl.col("rank_low") == 1)
    assert dict(found.select("query", "item").rows()) == {"x": "a", "y": "b"}
    path.write_text("session,position,doc,clicked,place\n1,1,a,1,x\n1,2,b,0,x\n")
    with pytest.raises(SpecError, match='by="nowhere": rankings by another column than the query are of votes'):
        rankbench.aggregate(path, by="nowhere")


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("intervals", ["auto", "bootstrap"])
def test_weights_that_are_all_1_are_none(judged: bool, intervals: Literal["auto", "bootstrap"]) -> None:
    log, rng = random_log(400, 6, 12), np.random.default_rng(0)
    log = log if judged else log.drop("judge")
    found, same, other = (
        rankbench.aggregate(one, intervals=intervals, replicates=100).table
        for one in (
            log,
            log.with_columns(weight=1.0),
            log.with_columns(weight=pl.Series(1.0 + rng.integers(0, 2, 400))),
        )
    )
    assert same.equals(found)
    assert not other.equals(found)
