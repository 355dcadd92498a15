"""U-statistics and disjoint batches of log-odds against subsets gone through one by one."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from rankbench.errors import InputError
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.methods.baselines import DisjointBatches, UStatistic

LAW = examples(50)
pairs_of_votes = st.lists(st.lists(st.booleans(), max_size=8), min_size=1, max_size=4)


def log_odds(votes, c):
    share = sum(votes) / len(votes)
    return math.log((share + c) / (1 - share + c))


def packed(votes):
    starts = np.cumsum([0, *(len(v) for v in votes)]).astype(np.int64)
    return np.array([w for v in votes for w in v], dtype=np.bool_), starts


@LAW
@given(pairs_of_votes, st.integers(1, 9), st.sampled_from([0.05, 1.0]))
def test_u_statistic_is_the_mean_over_subsets(votes, k, c):
    mean, square = UStatistic(smoothing=c).moments(*packed(votes), k)
    for p, own in enumerate(votes):
        terms = [log_odds(some, c) for some in combinations(own, min(k, len(own)))] if own else [0.0]
        assert mean[p] == pytest.approx(np.mean(terms), abs=1e-12)
        assert square[p] == pytest.approx(np.mean(np.square(terms)), abs=1e-12)


@LAW
@given(pairs_of_votes, st.integers(1, 9), st.integers(0, 31), st.integers(0, 3), st.booleans(), st.floats(-5, 5))
def test_lemma_9_one_changed_judgment_changes_the_risk_by_4kb_over_n(votes, k, which, query, winner, score):
    """The judgment gets another query, another winner, or both."""
    n = sum(map(len, votes))
    if not n:
        return

    def risk(of):
        mean, square = UStatistic().moments(*packed(of), k)
        return 0.5 * np.array([len(v) for v in of]) @ (score**2 - 2 * score * mean + square) / n

    place, changed = which % n, [list(v) for v in votes]
    for own in changed:
        if place < len(own):
            own.pop(place)
            break
        place -= len(own)
    changed[query % len(votes)].append(winner)
    largest = (abs(score) + math.log(11)) ** 2 / 2
    assert abs(risk(changed) - risk(votes)) <= 4 * k * largest / n + 1e-12


@LAW
@given(pairs_of_votes, st.integers(1, 9))
def test_batches_in_the_order_of_votes(votes, k):
    mean, square = DisjointBatches().moments(*packed(votes), k)
    for p, own in enumerate(votes):
        terms = [log_odds(own[i : i + k], 0.1) for i in range(0, len(own), k)] or [0.0]
        assert len(terms) == max(1, math.ceil(len(own) / k))
        assert mean[p] == pytest.approx(np.mean(terms), abs=1e-12)
        assert square[p] == pytest.approx(np.mean(np.square(terms)), abs=1e-12)


@pytest.mark.parametrize(("votes", "wins", "k"), [(50_000, 31_000, 300), (3_000, 2_999, 700), (10_000, 4, 9_999)])
def test_many_votes_are_hypergeometric(votes, wins, k):
    won = np.zeros(votes, np.bool_)
    won[:wins] = True
    mean, square = UStatistic().moments(won, np.array([0, votes]), k)
    w = np.arange(k + 1)
    chance = hypergeom(votes, wins, k).pmf(w)
    s = np.log((w / k + 0.1) / (1 - w / k + 0.1))
    assert mean[0] == pytest.approx(chance @ s, rel=1e-9)
    assert square[0] == pytest.approx(chance @ s**2, rel=1e-9)


def test_order_grows_as_a_power():
    assert [UStatistic(exponent=0.5).order(n) for n in (1, 100, 101, 1_000_000)] == [1, 10, 11, 1000]
    assert UStatistic(exponent=0).order(12345) == 1
    assert UStatistic(exponent=1).order(12345) == 12345


def block(n=4000, seed=3):
    """Two queries of 3 and 4 items, Bradley-Terry with linear scores."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, 2)).astype(np.float32)
    scores = x @ np.array([1.0, -0.5])
    winners, losers = [], []
    for first, m in ((0, 3), (3, 4)):
        for _ in range(n // 2):
            i, j = rng.permutation(m)[:2]
            if rng.random() > 1 / (1 + np.exp(scores[first + j] - scores[first + i])):
                i, j = j, i
            winners.append(i)
            losers.append(j)
    said = Comparisons(np.array([0, n // 2, n]), np.array(winners, np.int32), np.array(losers, np.int32), np.ones(n))
    queries = Queries(["a", "b"], np.array([0, 3, 7]), x, scores)
    return Block(queries, said, n, 0, (seed,)), scores


def test_fit_is_weighted_least_squares_over_pairs():
    made, _ = block(n=400)
    theta = UStatistic(exponent=1, **{"lambda": 1e-3}).fit(made).theta
    x = made.design.x.astype(float)
    rows, sides = [], []
    for q, (first, m) in enumerate(((0, 3), (3, 4))):
        part = slice(made.comparisons.offsets[q], made.comparisons.offsets[q + 1])
        won, lost = made.comparisons.winners[part], made.comparisons.losers[part]
        for i in range(m):
            for j in range(i + 1, m):
                first_wins, second_wins = ((won == a) & (lost == b) for a, b in ((i, j), (j, i)))
                votes = [*[True] * int(first_wins.sum()), *[False] * int(second_wins.sum())]
                root = math.sqrt(len(votes) / 400)
                rows.append(root * (x[first + i] - x[first + j]))
                sides.append(root * log_odds(votes, 0.1))
    rows += list(math.sqrt(1e-3) * np.eye(2))
    expected = np.linalg.lstsq(np.array(rows), np.array([*sides, 0, 0]), rcond=None)[0]
    assert theta == pytest.approx(expected, rel=1e-9)


def test_nothing_to_learn_from():
    made, _ = block(n=4)
    none = Comparisons(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    with pytest.raises(InputError, match="no comparisons"):
        UStatistic().fit(Block(made.design, none, 0, 0, (1,)))
