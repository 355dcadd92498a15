"""Rankings of items: coverage of ranks, clusters, scales, and sums by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.aggregators import BradleyTerry, Davidson, Elo, WinRate
from rankbench.errors import ContenderDiverged
from rankbench.logs.ranking import by_pair, rank_items, scales_of
from rankbench.logs.votes import Votes


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


def drawn(truth: np.ndarray, n: int, rng: np.random.Generator, judges: int | None = None, taste: float = 0.0) -> Votes:
    m = len(truth)
    a = rng.integers(0, m, n)
    b = (a + rng.integers(1, m, n)) % m
    judge = rng.integers(0, judges or 1, n)
    scores = truth + taste * rng.normal(size=(judges or 1, m))
    won = rng.random(n) < 1 / (1 + np.exp(scores[judge, b] - scores[judge, a]))
    return log(np.where(won, a, b), np.where(won, b, a), m, judge if judges else None)


@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_sums_by_pair_say_the_same(m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = drawn(rng.normal(size=m), n, rng)
    votes = log(votes.winners, votes.losers, m, ties=rng.random(n) < 0.3, weights=rng.random(n) + 0.1)
    for aggregator in (BradleyTerry(), Davidson(), WinRate()):
        whole = aggregator.from_comparisons(votes.comparisons(), m)
        np.testing.assert_allclose(aggregator.from_comparisons(by_pair(votes.comparisons(), m), m), whole, atol=1e-7)


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
    assert (judges.clusters, single.clusters) == (20, 2000)
    assert ((judges.upper - judges.lower) > 1.5 * (single.upper - single.lower)).all()
    # Where votes are independent: the inverse of the Fisher information n/6 (I - 11'/4), chances near 1/2.
    width = 2 * 1.96 * np.sqrt((1 - 1 / 4) * 6 / 2000)
    assert (single.upper - single.lower).mean() == pytest.approx(width, rel=0.1)


def test_what_was_never_compared_is_never_told_apart() -> None:
    votes = log([0] * 40 + [2] * 40, [1] * 40 + [3] * 40, 4)
    found = rank_items(votes, BradleyTerry(), replicates=100)
    assert found.scales.tolist() == [0, 0, 1, 1]
    assert (scales_of(votes) == found.scales).all()
    assert found.low.tolist() == [1, 2, 1, 2]
    assert found.high.tolist() == [3, 4, 3, 4]


def test_nothing_to_resample() -> None:
    found = rank_items(log([0], [1], 2), BradleyTerry())
    assert np.isnan(found.lower).all()
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])
    found = rank_items(log([0, 0], [1, 1], 2), BradleyTerry(), replicates=0)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])


def test_the_same_seed_gives_the_same_ranking_and_elo_keeps_its_order() -> None:
    votes = drawn(np.array([0.0, 1.0, 2.0]), 60, np.random.default_rng(5))
    one, two = (rank_items(votes, Elo(), replicates=50, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.lower, two.lower)
    np.testing.assert_array_equal(one.scores, Elo().from_comparisons(votes.comparisons(), 3))


def test_scores_that_are_no_numbers_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WinRate, "from_comparisons", lambda self, said, m: np.full(m, np.nan))
    with pytest.raises(ContenderDiverged):
        rank_items(log([0, 1], [1, 0], 2), WinRate())
