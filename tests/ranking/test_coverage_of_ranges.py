"""How often the places that items may hold are wrong, counted by simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from amounts import trials
from drawn_votes import named, two_items

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.rates import WinRate
from rankbench.interfaces.aggregator import Aggregator, WithCovariance
from rankbench.logs.count import count_clusters
from rankbench.ranking.rank import Ranking, normal_deviations, rank
from rankbench.ranking.rank_ranges import item_rank_ranges
from rankbench.ranking.ranked_log import CountedVotes

M = 8


def log(seed: int, votes: int, judges: int, mixed: bool = True) -> pl.DataFrame:
    """Return votes on eight equal items.

    Without judges they are coins. Judges have a taste of their own each, normal of deviation 0.7
    in log-odds and nothing on average, and cast lognormal shares of the votes; in an order that
    mixes them, or one judge after the other.
    """
    rng = np.random.default_rng([seed, votes, judges])
    a, b = two_items(rng, votes, M)
    if not judges:
        return named(a, b)
    shares = rng.lognormal(size=judges)
    judge = rng.choice(judges, size=votes, p=shares / shares.sum())
    if not mixed:
        judge.sort()
    taste = 0.7 * rng.normal(size=(judges, M))
    won = rng.random(votes) < 1 / (1 + np.exp(taste[judge, b] - taste[judge, a]))
    return named(a, b, won, judge=[f"j{j}" for j in judge])


def wrong(method: str, logs: int, votes: int, judges: int, *, mixed: bool = True, replicates: int = 1000) -> float:
    """Return the share of logs with a range that leaves out a place: each of equal items may hold every one."""
    found = 0
    for seed in range(logs):
        drawn = log(seed, votes, judges, mixed)
        asked = {"columns": "time=", "intervals": "auto", "replicates": replicates}
        table = rankbench.aggregate(drawn, method, **asked).table
        found += bool((table["rank_low"] > 1).any() or (table["rank_high"] < M).any())
    return found / logs


@pytest.mark.long
@pytest.mark.parametrize(
    ("votes", "judges", "most"), [(30, 0, 0.04), (200, 0, 0.04), (200, 10, 0.07), (600, 30, 0.04), (2480, 124, 0.085)]
)
@pytest.mark.parametrize("method", ["bradley-terry", "win-rate"])
def test_sums_of_wins(method: str, votes: int, judges: int, most: float) -> None:
    """Some range is wrong in 2 to 3% of 300 logs, with 10 judges in 3 to 5%, with 124 in 6 to 8%.

    A share of 5% has a standard deviation of 1.3% here.
    """
    assert wrong(method, 300, votes, judges) <= most


def counted(seed: int, judges: int, gap: float) -> CountedVotes:
    """Return twenty votes a judge, of lognormal shares, on eight items whose log-odds are a gap apart."""
    rng = np.random.default_rng([seed, judges, 15])
    a, b = two_items(rng, 20 * judges, M)
    shares = rng.lognormal(size=judges)
    judge = rng.choice(judges, size=len(a), p=shares / shares.sum())
    level = gap * np.arange(M) + 0.7 * rng.normal(size=(judges, M))
    won = rng.random(len(a)) < 1 / (1 + np.exp(level[judge, b] - level[judge, a]))
    return CountedVotes(count_clusters(np.where(won, a, b), np.where(won, b, a), judge, m=M), by_judge=True)


def ranges_of(log: CountedVotes, method: Aggregator) -> Ranking:
    """Rank a log by judge, as ``auto`` does."""
    formula = isinstance(method, WithCovariance) and method.prefers_covariance()
    return rank(log, method, intervals="sandwich" if formula else "judges", seed=1)


MANY_JUDGES = [BradleyTerry(penalty="firth"), WinRate()]


@pytest.mark.long
@pytest.mark.parametrize("judges", [124, 250, 300])
@pytest.mark.parametrize("method", MANY_JUDGES, ids=str)
def test_many_unequal_judges(method: Aggregator, judges: int) -> None:
    """Some range is wrong in at most 6% of 3,000 logs; a share of 5% has a standard deviation of .4%."""
    found, logs = 0, 3000
    for seed in range(logs):
        log = counted(seed, judges, 0.0)
        ranking = ranges_of(log, method)
        found += bool((ranking.low > 1).any() or (ranking.high < M).any())
    print(f"\n| {method} | {judges} | {found / logs:.1%} |")
    assert found <= 0.06 * logs


def test_moderation_makes_ranges_narrower() -> None:
    """Of ten judges, at least a tenth narrower than ranges by the degrees of freedom of the judges alone."""
    method, places = BradleyTerry(penalty="firth"), np.zeros(2)
    for seed in range(trials(60)):
        log = counted(seed, 10, 0.6)
        scores = log.scores(method)
        covariance = log.covariance(method, scores)[0]
        alone = item_rank_ranges(scores, covariance, log.scales(method), log.units, normal_deviations(covariance, 1))
        ranking = ranges_of(log, method)
        places += [(alone[1] - alone[0] + 1).sum(), (ranking.high - ranking.low + 1).sum()]
    print(f"\n| {places[1] / places[0]:.3f} times as wide |")
    assert places[1] <= 0.9 * places[0]


@pytest.mark.long
def test_smoothed_log_odds_of_few_votes() -> None:
    """Some range of `mean-log-odds` is wrong in 10% of 300 logs with three or four votes a pair."""
    assert 0.06 < wrong("mean-log-odds", 300, 100, 0) < 0.14


@pytest.mark.long
@pytest.mark.parametrize("mixed", [True, False])
def test_elo(mixed: bool) -> None:
    """Some range of `elo` is wrong in 1 to 2% of 100 logs of 30 judges, mixed or one after the other."""
    assert wrong("elo", 100, 2480, 30, mixed=mixed, replicates=200) <= 0.05
