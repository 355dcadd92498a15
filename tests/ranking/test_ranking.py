"""Rankings of items: coverage of ranks, clusters, scales, and sums by pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from drawn_votes import named, two_items
from ranked_logs import log_of, rank_items

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.rates import Kemeny, WinRate
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import LARGEST_SCORE, ComparisonAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.votes import Votes
from rankbench.ranking.aggregate import aggregate
from rankbench.ranking.rank import rank
from rankbench.ranking.ranked_log import CountedVotes
from rankbench.ranking.sampling_units import effective, units_of_votes


def log(winners, losers, m, judges=None, ties=None, weights=None) -> Votes:
    winners, losers = np.asarray(winners, np.int32), np.asarray(losers, np.int32)
    n = len(winners)
    return Votes(
        [f"item {i}" for i in range(m)], winners, losers,
        np.zeros(n, bool) if ties is None else np.asarray(ties, bool),
        np.ones(n) if weights is None else np.asarray(weights, float),
        None if judges is None else np.asarray(judges, np.int64),
        (np.minimum(winners, losers) * m + np.maximum(winners, losers)).astype(np.int32), None,
    )  # fmt: skip


def changed(change: Callable[[PairCounts, np.ndarray], np.ndarray]) -> WinRate:
    """Return the win rate with scores that a function makes of sums by pair and of win rates."""

    class Changed(WinRate):
        name = "changed"

        def kernel(self):
            return None

        def from_counts(self, counts):
            return change(counts, super().from_counts(counts))

    return Changed()


def drawn(truth: np.ndarray, n: int, rng: np.random.Generator, judges: int | None = None, taste: float = 0.0) -> Votes:
    m = len(truth)
    a, b = two_items(rng, n, m)
    judge = rng.integers(0, judges or 1, n)
    scores = truth + taste * rng.normal(size=(judges or 1, m))
    won = rng.random(n) < 1 / (1 + np.exp(scores[judge, b] - scores[judge, a]))
    return log(np.where(won, a, b), np.where(won, b, a), m, judge if judges else None)


@pytest.mark.full
def test_rank_ranges_cover_the_true_ranks_all_at_once() -> None:
    """In 95% of logs at least all ranges of a log cover; of 100 logs 89 or more (probability .99)."""
    truth = np.linspace(0, 1.2, 6)
    place = 6 - np.argsort(np.argsort(truth))
    covered = told_apart = 0
    for seed in range(100):
        found = rank_items(drawn(truth, 400, np.random.default_rng(seed)), BradleyTerry(ridge=0.1), replicates=200)
        covered += bool(((found.low <= place) & (place <= found.high)).all())
        told_apart += int((found.high - found.low).sum() < 30)
    assert covered >= 89
    assert told_apart >= 95


def test_score_intervals_of_clusters_are_wider_where_judges_have_tastes() -> None:
    rng = np.random.default_rng(0)
    votes = drawn(np.zeros(4), 2000, rng, judges=20, taste=1.0)
    judges = rank_items(votes, BradleyTerry(), replicates=300, cluster="judge")
    single = rank_items(votes, BradleyTerry(), replicates=300, cluster="vote")
    assert (judges.units.count, single.units.count) == (20, 2000)
    assert ((judges.upper - judges.lower) > 1.5 * (single.upper - single.lower)).all()
    # Where votes are independent: the inverse of the Fisher information n/6 (I - 11'/4), chances near 1/2.
    width = 2 * 1.96 * np.sqrt((1 - 1 / 4) * 6 / 2000)
    assert (single.upper - single.lower).mean() == pytest.approx(width, rel=0.1)


def test_what_was_never_compared_is_never_told_apart() -> None:
    votes = log([0] * 40 + [2] * 40, [1] * 40 + [3] * 40, 4)
    found = rank_items(votes, BradleyTerry(), replicates=100)
    assert found.scales.tolist() == [0, 0, 1, 1]
    assert (votes.counts().connected.scale_of == found.scales).all()
    assert found.low.tolist() == [1, 2, 1, 2]
    assert found.high.tolist() == [3, 4, 3, 4]


def test_nothing_to_resample() -> None:
    found = rank_items(log([0], [1], 2), BradleyTerry())
    assert np.isnan(found.lower).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])
    # Without intervals ranks are places by score.
    found = rank_items(log([0, 0], [1, 1], 2), BradleyTerry(), replicates=0)
    assert np.isnan(found.lower).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2], [1, 2])


def test_scores_that_are_no_numbers_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ContenderDiverged):
        rank_items(log([0, 1], [1, 0], 2), changed(lambda _, rates: rates * np.nan))


@pytest.mark.parametrize("most", [1e101, 1.7e308])
def test_scores_whose_differences_are_no_numbers_are_an_error(most: float) -> None:
    class FarVotes(ComparisonAggregator):
        name = "far-away-votes"
        source = "test"

        def aggregate(self, winners, losers, weights, m):
            return np.array([most, -most])

    votes = log([0, 1, 0, 1], [1, 0, 1, 0], 2)
    said = f"too far apart, or from 0: one is {most:.1e}".replace("+", r"\+")
    for aggregator in (changed(lambda *_: np.array([most, -most])), FarVotes()):
        with pytest.raises(ContenderDiverged, match=said):
            rank_items(votes, aggregator, replicates=0)


def test_resamples_whose_scores_are_no_numbers_are_left_out() -> None:
    fragile = changed(lambda counts, rates: rates * (1e200 if counts.forward[0] > 20 else 1))
    votes = log([0, 1] * 20, [1, 0] * 20, 2)
    ranking = rank(CountedVotes(votes.counts()), fragile, intervals="bootstrap", resamples=60)
    assert any("of 60 resamples without scores" in note for note in ranking.notes)
    assert np.isfinite(ranking.lower).all()


@pytest.mark.filterwarnings("error")
def test_intervals_of_the_largest_scores_are_numbers() -> None:
    votes = drawn(np.linspace(0, 1, 4), 200, np.random.default_rng(2))
    found = rank_items(votes, changed(lambda _, rates: LARGEST_SCORE * rates), replicates=50)
    unit = rank_items(votes, WinRate(), replicates=50)
    np.testing.assert_allclose(found.lower / LARGEST_SCORE, unit.lower, rtol=1e-6)
    np.testing.assert_array_equal(found.high, unit.high)


@pytest.mark.full
def test_equal_items_are_hardly_ever_told_apart_in_small_logs() -> None:
    """At 5%, in 8 of 60 logs at most (probability .995): items of five votes that agree are not certain."""
    wrong = 0
    for seed in range(60):
        found = rank_items(drawn(np.zeros(8), 30, np.random.default_rng(seed)), WinRate(), replicates=100)
        wrong += bool((found.low > 1).any() or (found.high < 8).any())
    assert wrong <= 8


def test_what_a_few_votes_agree_in_is_unknown() -> None:
    found = rank_items(log([0] * 5, [1] * 5, 2), WinRate(), replicates=50)
    assert np.isnan(found.lower).all()
    assert np.isnan(found.upper).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])
    # Forty votes that agree: the order is certain, how far apart is not.
    found = rank_items(log([0] * 40, [1] * 40, 2), WinRate(), replicates=50)
    assert np.isnan(found.lower).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2], [1, 2])
    # Of two judges, who agree by chance half of the time: nothing is.
    found = rank_items(log([0] * 40, [1] * 40, 2, judges=np.arange(40) % 2), WinRate(), replicates=50)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])


def test_an_item_of_few_votes_may_hold_any_place_and_leaves_the_others_alone() -> None:
    votes = drawn(np.array([0.0, 2.0, 4.0]), 900, np.random.default_rng(0))
    with_new = log([*votes.winners, 3, 3, 3], [*votes.losers, 0, 1, 2], 4)
    found = rank_items(with_new, BradleyTerry(), replicates=200)
    assert np.isnan(found.lower).tolist() == [False, False, False, True]
    assert (found.low[3], found.high[3]) == (1, 4)
    assert (found.low[:3].tolist(), found.high[:3].tolist()) == ([3, 2, 1], [4, 3, 2])


def test_one_large_judge_among_small_ones_counts_for_few() -> None:
    rng = np.random.default_rng(3)
    votes = drawn(np.linspace(0, 1, 4), 600, rng)
    even = log(votes.winners, votes.losers, 4, judges=np.arange(600) % 20)
    uneven = log(votes.winners, votes.losers, 4, judges=np.where(np.arange(600) < 300, 0, 1 + np.arange(600) % 19))
    units = units_of_votes(uneven, uneven.judges)
    assert units.count == 20
    assert units.effective == pytest.approx(effective(np.bincount(uneven.judges)))
    assert units.effective < 5
    wide, narrow = (rank_items(v, BradleyTerry(), replicates=300) for v in (uneven, even))
    assert (wide.upper - wide.lower).mean() > 1.3 * (narrow.upper - narrow.lower).mean()


@pytest.mark.full
def test_both_bootstraps_have_the_spread_of_the_mean() -> None:
    """Four judges: without the factor G / (G - 1) intervals are 13% too short."""
    rng = np.random.default_rng(1)
    votes = drawn(np.array([0.0, 0.5]), 4000, rng, judges=4, taste=0.5)
    rates = np.array([(votes.winners == 1)[votes.judges == j].mean() for j in range(4)])
    shares = np.bincount(votes.judges) / len(votes)
    # The win rate is a ratio of sums over judges: linearized.
    se = np.sqrt(4 / 3 * ((shares * (rates - shares @ rates)) ** 2).sum())
    frame = named(votes.winners, votes.losers, judge=[f"j{j}" for j in votes.judges])
    table = aggregate(frame, "win-rate", intervals="judges", replicates=4000).table.sort("item")
    mine = rank_items(votes, WinRate(), replicates=4000)
    from scipy.stats import t

    half = t.ppf(0.975, effective(np.bincount(votes.judges)) - 1) * se
    assert (mine.upper[1] - mine.lower[1]) / 2 == pytest.approx(half, rel=0.05)
    assert (table["upper"][1] - table["lower"][1]) / 2 == pytest.approx(half, rel=0.05)


def test_scores_that_jump_have_no_intervals() -> None:
    votes = drawn(np.linspace(0, 2, 3), 300, np.random.default_rng(0))
    found = rank_items(votes, Kemeny(), replicates=50)
    assert np.isnan(found.lower).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 1], [3, 3, 3])
    frame = pl.DataFrame({"query_id": ["q"] * 4, "winner": list("aaab"), "loser": list("bbbc")})
    said = aggregate(frame, "kemeny", intervals="bootstrap")
    assert said.table["lower"].null_count() == 3
    assert "jump" in said.notes[1]


@pytest.mark.parametrize("scale", [1, 2])
def test_intervals_of_shares_stay_between_no_wins_and_all(scale):
    """Wilson's, of 1 win less than all of 29 votes: by Student's interval A would win up to 1.04 of its votes."""
    winners, losers = np.repeat([[0, 0, 1, 1, 2], [1, 2, 0, 2, 1]], np.array([14, 14, 1, 13, 1]) * scale, axis=1)
    ranking = rank_items(log(winners, losers, 3), WinRate())
    n, won = 29 * scale, 28 * scale
    low, high = by_wilson(won, n)
    assert ranking.lower[0] + 0.5 == pytest.approx(low, abs=0.02)
    assert ranking.upper[0] + 0.5 == pytest.approx(high, abs=0.005)
    assert (ranking.lower > -0.5).all()
    middle = (ranking.lower[1] + ranking.upper[1]) / 2
    assert middle == pytest.approx(ranking.scores[1])  # far from both ends intervals stay symmetric


METHODS_FROM_A_LEAST_SCORE = [
    (PageRank(), 0.15),
    (RankCentrality(smoothing=0.1), 0.0),
    (Eigenvector(smoothing=0.1), 0.0),
    (GeometricMean(smoothing=0.1), 0.0),
]


@pytest.mark.parametrize(("method", "least"), METHODS_FROM_A_LEAST_SCORE, ids=str)
def test_intervals_stay_above_the_least_score(method, least):
    """By Student's t, the last items' intervals begin below the score that each item has at least, and some below 0."""
    votes = drawn(np.linspace(4, -4, 6), 60, np.random.default_rng(6))
    ranking = rank_items(votes, method)
    assert np.isfinite(ranking.lower).all()
    assert (ranking.lower > least).all()
    assert (ranking.upper - ranking.scores > 1.2 * (ranking.scores - ranking.lower)).any()


def by_wilson(won: int, n: int) -> tuple[float, float]:
    """Return the ends of Wilson's interval: where (won / n - p)^2 = z^2 p (1 - p) / n."""
    p, c = won / n, 1.959964**2 / n
    low, high = sorted(np.roots([1 + c, -(2 * p + c), p**2]))
    return low, high


def test_a_missing_interval_has_its_reason():
    winners, losers = [0] * 20 + [1] * 20 + [2] * 5, [1, 2] * 10 + [2] * 20 + [1] * 5
    votes = log_of(log(winners, losers, 3), WinRate(), False)
    ranking = rank(votes, WinRate(), intervals="bootstrap", resamples=100)
    assert np.isnan(ranking.lower).tolist() == [True, False, False]
    assert any("1 of 3 items get no interval: no resample changes their score" in note for note in ranking.notes)
