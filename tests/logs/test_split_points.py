"""Graded votes: one row is one vote, whose points are split, against formulas and NumPy."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from data_files import rejected
from drawn_votes import two_items
from scipy.stats import t as student

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.data.convert import convert
from rankbench.descriptions.describe import describe
from rankbench.errors import SpecError
from rankbench.logs.open import open_log
from rankbench.logs.votes import load_votes
from rankbench.protocols.folds import sizes_of
from rankbench.protocols.log_votes import group_votes
from rankbench.protocols.steps import cut_steps
from rankbench.ranking.categories import category_votes
from rankbench.ranking.covariates import offered_controls
from rankbench.ranking.over_time import scores_over_time
from rankbench.ranking.pooled import pooled_rankings
from rankbench.ranking.question import OverTimeQuestion

LEVEL = pl.DataFrame({"left": ["x"] * 100, "right": ["y"] * 100, "points": [0.6, 0.8] * 50})
"""The left has 70 of 100 points; the standard deviation of a vote's is .1."""


def graded(n: int = 300, m: int = 5, seed: int = 0) -> pl.DataFrame:
    """Return votes of all kinds: split points, whole ones, ties."""
    rng = np.random.default_rng(seed)
    i, j = two_items(rng, n, m)
    points = 1 / (1 + np.exp(-(0.4 * (j - i) + 0.5 + rng.normal(size=n))))
    points = np.where(rng.random(n) < 0.2, rng.choice([0, 0.5, 1], n), points.round(2))
    return pl.DataFrame(
        {
            "left": [f"i{k}" for k in i],
            "right": [f"i{k}" for k in j],
            "points": points,
            "judge": [f"j{k}" for k in rng.integers(0, 20, n)],
            "time": np.arange(n) // 3,
        }
    )


def half_widths(found: rankbench.Aggregation) -> np.ndarray:
    table = found.table.sort("item")
    return ((table["upper"] - table["lower"]) / 2).to_numpy()


def test_a_row_varies_as_its_points_do() -> None:
    found = rankbench.aggregate(LEVEL, "win-rate", intervals="bootstrap", replicates=4000)
    assert found.facts["n"] == 100
    assert dict(found.table.select("item", "score").rows()) == pytest.approx({"x": 0.2, "y": -0.2})
    assert found.table["votes"].to_list() == [100, 100]
    error = np.std(LEVEL["points"].to_numpy(), ddof=1) / np.sqrt(100)
    np.testing.assert_allclose(half_widths(found), student.ppf(0.975, 99) * error, rtol=0.05)


def test_the_sandwich_takes_both_halves_of_a_row_together() -> None:
    found = rankbench.aggregate(LEVEL, "bradley-terry:ridge=0", intervals="sandwich")
    # Of two items: the slope of a vote is g - p, and a vote's pull on the fit is 1/n of it.
    points, p = LEVEL["points"].to_numpy(), 0.7
    error = np.sqrt(100 / 99 * ((points - p) ** 2).sum()) / (100 * p * (1 - p))
    np.testing.assert_allclose(half_widths(found), student.ppf(0.975, 99) * error / 2, rtol=1e-5)
    expected = np.log(p / (1 - p)) / 2
    assert dict(found.table.select("item", "score").rows()) == pytest.approx({"x": expected, "y": -expected})


def test_effects_of_covariates_have_the_variance_of_rows() -> None:
    log, m = graded().drop("judge"), 5
    found = rankbench.aggregate(log, "bradley-terry:ridge=0", control="side", intervals="sandwich")
    assert found.effects is not None
    left, right = (log[name].str.slice(1).cast(pl.Int64).to_numpy() for name in ("left", "right"))
    rows = np.column_stack([np.eye(m)[left] - np.eye(m)[right], np.ones(len(log))])
    scores = dict(found.table.select("item", "score").rows())
    theta = np.array([*(scores[f"i{k}"] for k in range(m)), *found.effects["effect"]])
    chance = 1 / (1 + np.exp(-rows @ theta))
    residual, bend = log["points"].to_numpy() - chance, chance * (1 - chance)
    np.testing.assert_allclose(residual @ rows, 0, atol=1e-6)
    bread = np.linalg.pinv(rows.T * bend @ rows)
    pull = bend * np.einsum("ni,ij,nj->n", rows, bread, rows)
    covariance = bread @ (rows.T * (residual**2 / (1 - pull)) @ rows) @ bread
    half = student.ppf(0.975, len(log) - 1) * np.sqrt(covariance[-1, -1])
    wide = found.effects.select((pl.col("upper") - pl.col("lower")) / 2).item()
    assert wide == pytest.approx(half, rel=1e-4)


def test_one_step_ahead_counts_rows() -> None:
    votes = load_votes(open_log(graded()).frame)
    assert votes.times is not None
    steps = cut_steps(votes, votes.times)
    # Three rows a time, whatever points they have.
    assert [steps.votes_before(row) for row in steps.starts.tolist()] == list(range(0, 301, 3))
    assert steps.weights.sum() == pytest.approx(300)


def test_folds_count_rows_and_keep_both_halves() -> None:
    votes = load_votes(open_log(graded()).frame)
    pairs, pair = votes.pairs()
    decisive = int((graded()["points"] != 0.5).sum())
    for kind in ("judge", "pair", "time", "vote"):
        total, decisive_of = sizes_of(votes, kind)
        assert (total.sum(), decisive_of.sum()) == (300, decisive)
        found = group_votes(votes, kind, pairs, pair)
        assert found.count.sum() == 300
        assert found.weight.sum() == pytest.approx(300)
    assert sizes_of(votes, "vote")[0].tolist() == [1] * 300


@pytest.mark.full
@pytest.mark.parametrize("intervals", part_of(["sandwich", "judges+queries", None], 2))
def test_every_answer_counts_rows(intervals: str | None) -> None:
    log = graded().with_columns(query=pl.Series([f"q{k % 9}" for k in range(300)]))
    assert rankbench.aggregate(log, intervals=intervals).facts["n"] == 300
    assert rankbench.aggregate(log, "elo").facts["n"] == 300
    assert rankbench.aggregate(log, by="query").facts["n"] == 300
    assert rankbench.aggregate(log, by="query", intervals="bootstrap", replicates=2).facts["n"] == 300
    assert rankbench.aggregate(log, by="query", pool=True).facts["n"] == 300


@pytest.mark.full
def test_describe_counts_rows_and_points() -> None:
    log = LEVEL.with_columns(judge=pl.Series([f"j{k}" for k in range(100)]), time=pl.Series(range(100)))
    source = open_log(log)
    found = describe(source.frame)
    lines = dict(found.lines)
    assert (lines["rows"], lines["weights"], lines["votes cast again"]) == ("100", "none", "none")
    assert lines["left wins"].startswith("70.0% of the points of 100 decisive votes (95%: ")
    assert found.facts["drift"] is not None
    assert found.facts["drift"].items == []
    alone = describe(open_log(LEVEL).frame).facts["position"]
    assert alone is not None
    half = student.ppf(0.975, 99) * 0.1 * np.sqrt(100 / 99) / 10
    assert (alone.upper - alone.lower) / 2 == pytest.approx(half, rel=0.03)
    swapped = pl.concat([LEVEL, LEVEL.rename({"left": "right", "right": "left"}).select(LEVEL.columns)])
    source = open_log(swapped)
    position = describe(source.frame).facts["position"]
    assert not position.lower <= 0.5 <= position.upper
    assert offered_controls(source, True) == ["side"]


def test_a_judge_contradicts_another_vote_and_not_a_vote_itself() -> None:
    log = pl.DataFrame(
        {"left": ["x", "x", "x"], "right": ["y", "y", "z"], "points": [0.9, 0.3, 0.2], "judge": ["j", "j", "k"]}
    )
    found = describe(open_log(log).frame).facts["repeats"]
    assert (found.votes, found.contradictions) == (1, 1)
    agreed = describe(open_log(log.with_columns(points=pl.Series([0.9, 0.7, 0.2]))).frame).facts["repeats"]
    assert (agreed.votes, agreed.contradictions) == (1, 0)


@pytest.mark.parametrize("ending", part_of(["csv", "ndjson", "parquet"]))
def test_a_converted_log_has_the_same_votes(ending: str, tmp_path: Path) -> None:
    log = graded()
    log.write_csv(tmp_path / "log.csv")
    convert(tmp_path / "log.csv", tmp_path / f"out.{ending}")
    for method, intervals in (("", "sandwich"), ("win-rate", "bootstrap"), ("elo", "bootstrap")):
        first = rankbench.aggregate(log, method, intervals=intervals)
        again = rankbench.aggregate(tmp_path / f"out.{ending}", method, intervals=intervals)
        assert again.table.equals(first.table)
        assert again.facts["n"] == 300
    kept = rankbench.scan(tmp_path / f"out.{ending}").filter(pl.col("judge") != "j3")
    some = rankbench.aggregate(kept, intervals="sandwich")
    assert some.table.equals(rankbench.aggregate(log.filter(pl.col("judge") != "j3"), intervals="sandwich").table)


def test_half_a_vote_is_refused() -> None:
    halves = rankbench.scan(LEVEL).filter(pl.col("winner") == "y").collect()
    with rejected(r"\[rest_of_vote\]: the row before is no vote of the other item", row=1):
        rankbench.aggregate(halves)


def brute_spread(groups: list[tuple[str, ...]], g: np.ndarray) -> float:
    """Return the sums of squared differences of points over those of whole votes, each group by its votes less one."""
    apart = whole = 0.0
    for group in set(groups):
        own = [points for name, points in zip(groups, g, strict=True) if name == group]
        for one, other in itertools.combinations(own, 2):
            apart += (one - other) ** 2 / (len(own) - 1)
            whole += (one + other - 2 * one * other) / (len(own) - 1)
    return apart / whole


def by_time(n: int = 400) -> tuple[pl.DataFrame, float]:
    """Return graded votes of four times, and how much their points vary within a time and pair."""
    frame = graded(n).drop("judge").with_columns(time=pl.int_range(n) * 4 // n)
    groups = [(min(a, b), max(a, b), str(t)) for a, b, t in frame.select("left", "right", "time").iter_rows()]
    points = frame["points"].to_numpy()
    low = np.where(frame["left"].to_numpy() < frame["right"].to_numpy(), points, 1 - points)
    return frame, brute_spread(groups, low)


def test_bands_over_time_are_those_of_as_many_whole_votes() -> None:
    frame, spread = by_time()
    method = "dynamic-bradley-terry:drift=0.05,variance=1"
    found = scores_over_time(frame, OverTimeQuestion(method=method))
    ends = {"left": ("left", "right", pl.col("points")), "right": ("right", "left", 1 - pl.col("points"))}
    whole = pl.concat(
        frame.select(winner=winner, loser=loser, weight=points / spread, time="time", query_id=pl.lit("q"))
        for winner, loser, points in ends.values()
    ).filter(pl.col("weight") > 0)
    expected = scores_over_time(whole, OverTimeQuestion(method=method))
    for column in ("score", "lower", "upper"):
        np.testing.assert_allclose(found.table[column], expected.table[column], atol=1e-6)
    changes = [one.now.sort("item")["change_lower"] for one in (found, expected)]
    np.testing.assert_allclose(*changes, atol=1e-6)
    assert f"400 graded votes are worth {400 / spread:,.0f} whole votes" in found.notes[-1]


def test_few_graded_votes_have_bands_of_whole_ones_and_it_is_said() -> None:
    found = scores_over_time(
        graded(20).drop("judge"), OverTimeQuestion(method="dynamic-bradley-terry:drift=0.05,variance=1")
    )
    assert "too wide" in found.notes[-1]


@pytest.mark.full
def test_pooled_intervals_of_graded_votes_cover() -> None:
    inside, variances = [], []
    categories, votes, m, spread, variance = 8, 60, 6, 0.1, 0.05
    for seed in range(6):
        rng = np.random.default_rng([20261125, seed])
        scores = 0.7 * rng.normal(size=m) + variance**0.5 * rng.normal(size=(categories, m))
        c, a = np.repeat(np.arange(categories), votes), rng.integers(m, size=categories * votes)
        b = (a + rng.integers(1, m, size=len(a))) % m
        p = 1 / (1 + np.exp(scores[c, b] - scores[c, a]))
        points = rng.beta(p * (1 / spread - 1), (1 - p) * (1 / spread - 1)).round(3)
        named = {"query_id": c, "left": a, "right": b}
        frame = pl.DataFrame(named).cast(pl.String).with_columns(points=points)
        rankings, facts, _ = pooled_rankings(
            category_votes(open_log(frame).judged().frame), BradleyTerry(penalty="firth"), "c", seed
        )
        variances.append(facts["pool"]["variance"])
        for name, ranking in rankings.items():
            truth = scores[int(name)][[int(item) for item in ranking.items]]
            truth = truth - truth.mean()
            inside.append(((ranking.lower <= truth) & (truth <= ranking.upper)).mean())
    # Taken for whole votes they covered in 72% of cases, and no category differed from another.
    assert np.mean(inside) >= 0.9
    assert np.mean(variances) == pytest.approx(variance, abs=0.03)


def test_a_cluster_says_that_graded_votes_are_counted_here(tmp_path: Path) -> None:
    LEVEL.write_parquet(tmp_path / "log.parquet")
    convert(tmp_path / "log.parquet", tmp_path / "shards")
    for log in (tmp_path / "log.parquet", tmp_path / "shards"):
        with pytest.raises(SpecError, match=r"needs ungraded votes in Parquet.*Leave executor= and address= out"):
            rankbench.aggregate(log, "bradley-terry", executor="dask", address="tcp://127.0.0.1:9")
        assert rankbench.aggregate(log, "bradley-terry").facts["n"] == 100
