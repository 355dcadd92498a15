"""Intervals by judge and query at once, against their definitions, and how often they cover."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from competing import cells
from drawn_votes import two_items
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from scipy.special import expit

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.bradley_terry import PairFit
from rankbench.aggregators.likelihood.davidson_firth import pseudo_votes
from rankbench.aggregators.rates import WinRate
from rankbench.core import system as resources
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, WithCovariance
from rankbench.interfaces.cell import MAY_BE_FIRST, RANKING, BlockKey
from rankbench.interfaces.protocol import BlockTask
from rankbench.logs.open import log_file
from rankbench.protocols.items import Items
from rankbench.ranking import interval_kinds as crossed
from rankbench.ranking.interval_kinds import CrossedVotes, crossed_votes
from rankbench.ranking.rank import rank
from rankbench.ranking.rank_ranges import score_intervals
from rankbench.stats.contender_ranks import ranges_from_first

M = 5


def log(
    seed: int, votes: int, judges: int, queries: int, *, by_judge: float = 0.7, by_query: float = 0.7, ties: float = 0.0
) -> pl.DataFrame:
    """Return votes on equal items, of which each judge, and each query, prefers some."""
    rng = np.random.default_rng([seed, votes, judges, queries])
    a, b = two_items(rng, votes, M)
    judge, query = rng.integers(judges, size=votes), rng.integers(queries, size=votes)
    taste, kind = by_judge * rng.normal(size=(judges, M)), by_query * rng.normal(size=(queries, M))
    won = rng.random(votes) < expit(taste[judge, a] - taste[judge, b] + kind[query, a] - kind[query, b])
    winners, losers = np.where(won, a, b), np.where(won, b, a)
    names = {"query_id": query, "winner": winners, "loser": losers, "judge": judge}
    frame = pl.DataFrame(names).with_columns(pl.all().cast(pl.String).str.zfill(4))
    return frame.with_columns(tie=pl.Series(rng.random(votes) < ties))


def naive(frame: pl.DataFrame, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two-way sandwich vote by vote, with dense matrices."""
    loaded = crossed_votes(frame.lazy())
    winners, losers = (frame[name].cast(pl.Int64).to_numpy() for name in ("winner", "loser"))
    ties, weights = (
        frame["tie"].to_numpy(),
        frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(len(frame)),
    )
    rows = np.zeros((len(frame), M))
    rows[np.arange(len(frame)), winners], rows[np.arange(len(frame)), losers] = 1, -1
    p = expit(rows @ scores)
    half = pseudo_votes(loaded.counts, PairFit(scores, loaded.counts.connected, 0.0))[0]
    pairs = np.zeros((len(half), M))
    pairs[np.arange(len(half)), loaded.counts.low], pairs[np.arange(len(half)), loaded.counts.high] = 1, -1
    chance = expit(pairs @ scores)
    bread = np.linalg.pinv(
        rows.T * (weights * p * (1 - p)) @ rows + pairs.T * (2 * half * chance * (1 - chance)) @ pairs
    )
    pseudo = pairs.T * (half * (chance**2 + (1 - chance) ** 2)) @ pairs
    both = frame["judge"] + "/" + frame["query_id"]
    total = np.zeros((M, M))
    for sign, unit in ((1, frame["judge"]), (1, frame["query_id"]), (-1, both)):
        meat = pseudo.copy()
        for one in unit.unique():
            own = (unit == one).to_numpy()
            root = np.sqrt((weights * p * (1 - p))[own])
            scaled = rows[own] * root[:, None]
            left = np.linalg.inv(sqrtm(np.eye(own.sum()) - scaled @ bread @ scaled.T).real)
            u = scaled.T @ left @ (((np.where(ties, 0.5, 1) - p) * weights)[own] / root)
            meat += np.outer(u, u)
        total += sign * bread @ meat @ bread
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_the_two_way_sandwich_is_its_definition(weighted: bool) -> None:
    frame = log(1, 300, 12, 15, ties=0.2)
    if weighted:
        frame = frame.with_columns(weight=np.random.default_rng(0).random(300) + 0.5)
    method, loaded = BradleyTerry(penalty="firth"), crossed_votes(frame.lazy())
    scores = loaded.scores(method)
    found, notes = loaded.covariance(method, scores)
    assert notes == []
    np.testing.assert_allclose(found, naive(frame, scores), rtol=1e-4, atol=1e-7)


def test_what_is_not_positive_is_clipped_and_said() -> None:
    """Two judges and two queries, each of whom says one thing only about most pairs."""
    frame = log(3, 60, 2, 2, by_judge=0, by_query=0)
    method, loaded = BradleyTerry(penalty="firth"), crossed_votes(frame.lazy())
    scores = loaded.scores(method)
    plain = naive(frame, scores)
    values, vectors = np.linalg.eigh(plain)
    negative = int((values < -1e-10 * values[-1]).sum())
    assert negative
    found, notes = loaded.covariance(method, scores)
    np.testing.assert_allclose(found, (vectors * np.maximum(values, 0)) @ vectors.T, rtol=1e-3, atol=1e-5)
    assert notes == [
        f"the sandwich by judge and query had {negative} negative eigenvalue{'s' * (negative > 1)} of 5. "
        "rankbench sets them to 0: some intervals may be a little too wide"
    ]


def test_crossed_resamples_are_products_of_draws() -> None:
    frame = log(4, 200, 10, 14, ties=0.1)
    loaded = crossed_votes(frame.lazy())
    from rankbench.interfaces.resamples import crossed_resamples

    drawn = crossed_resamples(loaded.counts, (loaded.judge, loaded.query), loaded.cell, loaded.weight, 30, 7)
    assert drawn.crossed is not None
    together = {first + r: sums.copy() for first, batch in drawn.batches() for r, sums in enumerate(batch)}
    for r, counts in enumerate(drawn):
        kept = together[r][:, together[r].any(axis=0)]
        np.testing.assert_array_equal(kept, [counts.forward, counts.backward, counts.ties])
        times = drawn.draws.times(r)[loaded.judge] * drawn.crossed[0].times(r)[loaded.query]
        again = frame[np.repeat(np.arange(200), times)]
        wins = again.filter(~pl.col("tie"))["winner"].value_counts().sort("winner")
        by_item = np.zeros(M)
        np.add.at(by_item, counts.low, counts.forward)
        np.add.at(by_item, counts.high, counts.backward)
        assert dict(zip(wins["winner"].cast(pl.Int64), wins["count"], strict=True)) == {
            i: n for i, n in enumerate(by_item) if n
        }
    square = crossed_resamples(loaded.counts, (loaded.judge, loaded.judge), loaded.cell, loaded.weight, 1, 7)
    assert square.crossed is not None
    assert (square.draws.times(0) != square.crossed[0].times(0)).any()


@pytest.mark.parametrize("method", ["bradley-terry:penalty=firth", "davidson:penalty=firth", "win-rate"])
def test_items_of_runs_are_those_of_aggregate(tmp_path: Path, method: str) -> None:
    path = tmp_path / "log.csv"
    log(5, 500, 20, 30, ties=0.2).write_csv(path)
    expected = rankbench.aggregate(path, method, intervals="judges+queries", replicates=60, seed=5).table.sort("item")
    protocol, dataset = Items(replicates=60, intervals="judges+queries"), log_file(path)
    prepared = protocol.prepare(dataset, 5)
    key, metrics = BlockKey(str(protocol), str(dataset), 1, 0, 5), (*RANKING, MAY_BE_FIRST)
    (result,) = protocol.execute(prepared, BlockTask(key, 0, metrics, cells(Aggregator, {"cell": method})))
    assert result.status == "done", result.reason
    values = {metric.replace("-", "_"): result.losses[metric, "design"] for metric in metrics}
    ends = values["rank_low"], values["rank_high"], values["may_be_first"] == 1
    values["rank_low"], values["rank_high"] = ranges_from_first(*ends)
    for column in ("score", "lower", "upper", "rank_low", "rank_high"):
        np.testing.assert_array_equal(values[column], expected[column].to_numpy())
    assert prepared.notes[-2].startswith("20 judges (effective number ")


@pytest.mark.parametrize(
    ("change", "method", "says"),
    [
        (lambda frame: frame.drop("judge"), "", "does not say who judged"),
        (lambda frame: frame.with_columns(judge=pl.lit("j")), "", "all votes are of one judge; take intervals=.boot"),
        (
            lambda frame: frame.with_columns(query_id=pl.lit("q")),
            "",
            "all votes are of one query; take intervals=.jud",
        ),
        (lambda frame: frame, "elo", "'elo' goes by single votes"),
    ],
)
def test_what_cannot_be(change: Callable[[pl.DataFrame], pl.DataFrame], method: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        rankbench.aggregate(change(log(6, 100, 10, 10)), method, intervals="judges+queries")


def test_more_votes_than_there_is_memory_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = log(6, 100, 10, 10).with_columns(weight=pl.lit(2.0))
    monkeypatch.setattr(resources, "free_memory", lambda: 7999)
    with pytest.raises(SpecError, match=r"the judge and the query of 100 votes takes .* take fewer votes, or interv"):
        crossed_votes(frame.lazy())
    monkeypatch.setattr(resources, "free_memory", lambda: 8000)
    assert crossed_votes(frame.lazy()).weight.tolist() == [2.0] * 100


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", part_of([BradleyTerry(penalty="firth"), Davidson(penalty="firth"), BradleyTerry()]))
@pytest.mark.parametrize("at_once", part_of([1, 40, 250], 2))
def test_what_is_put_in_order_part_by_part_is_what_all_of_it_is(
    method: Aggregator, weighted: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One judge casts half of the votes, and some judge has one on one query."""
    frame = log(9, 300, 12, 15, ties=0.2)
    frame = frame.with_columns(judge=pl.when(pl.int_range(300) < 150).then(pl.lit("0003")).otherwise("judge"))
    frame = frame.with_columns(judge=pl.when(pl.int_range(300) == 299).then(pl.lit("alone")).otherwise("judge"))
    if weighted:
        frame = frame.with_columns(weight=np.random.default_rng(0).random(300) + 0.5)
    whole = crossed_votes(frame.lazy())
    scores = whole.scores(method)
    expected, units = whole.covariance(method, scores)[0], whole.units
    monkeypatch.setattr(crossed, "_AT_ONCE", at_once)
    parts = crossed_votes(frame.lazy())
    for unit in (parts.judge, parts.query):
        given = list(parts.parts(unit))
        assert len(given) > 1
        assert sum(len(part.clusters) for part in given) == len(np.unique(unit))
        assert max(len(part.cells) for part in given) <= max(at_once, np.bincount(unit).max())
    for name in ("judge", "query", "cell", "weight"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    np.testing.assert_allclose(parts.covariance(method, scores)[0], expected, rtol=1e-9, atol=1e-13)
    for name in ("count", "effective", "items", "votes", "df_units"):
        np.testing.assert_allclose(getattr(parts.units, name), getattr(units, name), rtol=1e-12)


def covered(method: Aggregator, logs: int, by_judge: float, by_query: float, replicates: int = 200) -> float:
    """Return how often an item's interval covers the mean, of equal items."""
    found = 0.0
    for seed in range(logs):
        loaded = crossed_votes(log(seed, 1500, 40, 60, by_judge=by_judge, by_query=by_query).lazy())
        lower, upper = bounds(loaded, method, replicates)
        truth = loaded.scores(method).mean()
        found += float(((lower <= truth) & (truth <= upper)).mean())
    return found / logs


def bounds(
    loaded: CrossedVotes, method: Aggregator, replicates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not isinstance(method, WithCovariance):
        ranking = rank(loaded, method, intervals="judges+queries", resamples=replicates)
        return ranking.lower, ranking.upper
    scores = loaded.scores(method)
    return score_intervals(scores, np.sqrt(np.diag(loaded.covariance(method, scores)[0])), loaded.units)


TASTES = [(0.0, 0.0), (0.7, 0.0), (0.0, 0.7), (0.7, 0.7)]


@pytest.mark.full
@pytest.mark.parametrize(("method", "tastes"), part_of(product([BradleyTerry(penalty="firth"), WinRate()], TASTES), 5))
def test_intervals_cover(method: Aggregator, tastes: tuple[float, float]) -> None:
    logs = trials(200)
    by_judge, by_query = tastes
    share = covered(method, logs, by_judge, by_query)
    print(f"\n| {method}, tastes of judges {by_judge}, of queries {by_query} | {share:.3f} |")
    # Items of one log hang together: as if there were two of them.
    noise = 3 * np.sqrt(0.05 * 0.95 / (2 * logs))
    assert 0.93 - noise <= share <= 0.98 + noise


@pytest.mark.full
def test_resamples_have_the_variance_of_the_ways_added_up() -> None:
    """Each way's variance of win rates by formula: of sums over units, with the number of votes known."""
    frame = log(8, 3000, 60, 80, by_judge=1.0, by_query=0.3)
    loaded, method = crossed_votes(frame.lazy()), WinRate()
    scores, level = loaded.scores(method), 0.5
    winners, losers = (frame[name].cast(pl.Int64).to_numpy() for name in ("winner", "loser"))
    won = np.where(frame["tie"].to_numpy(), 0.5, 1.0)
    share = np.zeros((len(frame), M))
    share[np.arange(len(frame)), winners] = won - scores[winners] - level
    share[np.arange(len(frame)), losers] = (1 - won) - scores[losers] - level
    share /= np.bincount(np.concatenate([winners, losers]))

    def naive(unit: pl.Series) -> NDArray[np.float64]:
        sums = np.stack([share[(unit == one).to_numpy()].sum(axis=0) for one in unit.unique()])
        return (sums**2).sum(axis=0) * len(sums) / (len(sums) - 1)

    by_judge, by_query = naive(frame["judge"]), naive(frame["query_id"])
    expected = by_judge + by_query - naive(frame["judge"] + "/" + frame["query_id"])
    drawn = loaded.replicates(method, scores, 3000, 1)
    found = drawn.var(axis=0, ddof=1) * 60 / 59
    np.testing.assert_allclose(found, np.maximum(expected, np.maximum(by_judge, by_query)), rtol=0.12)
