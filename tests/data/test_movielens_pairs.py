"""Folds are even, pairs have the law that they should, and the loss is what its words say."""

from __future__ import annotations

import numpy as np
import pytest

from rankbench.data.movielens.features import draw_pairs
from rankbench.data.movielens.kernels import deal_folds
from rankbench.errors import InputError
from rankbench.kernels.random import seed_state

# User 0: groups 0 (1, 1, 3) and 1 (2, 5); user 1: group 2 (4, 4), no pair; user 3: group 3 (1, 2, 3).
RATINGS = np.array([1.0, 1, 3, 2, 5, 4, 4, 1, 2, 3])
OFFSETS = np.array([0, 3, 5, 7, 10])
USERS = np.array([0, 0, 1, 3])
LAW = {(2, 0): (0, 2), (2, 1): (0, 2), (4, 3): (0, 3), (8, 7): (3, 1), (9, 7): (3, 2), (9, 8): (3, 1)}


def counted(pairs):
    found = {}
    for pair in zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True):
        found[pair] = found.get(pair, 0) + 1
    return found


@pytest.mark.parametrize("by_user", [True, False])
def test_law_of_pairs(by_user):
    n = 60_000
    pairs = draw_pairs(RATINGS, OFFSETS, USERS, n, by_user, [1])
    found = counted(pairs)
    assert set(found) == set(LAW)
    for pair, (_user, weight) in LAW.items():
        # Both users have three pairs: either law is uniform over the six.
        assert found[pair] / n == pytest.approx(1 / 6, abs=0.01)
        chosen = (pairs.better == pair[0]) & (pairs.worse == pair[1])
        assert set(pairs.weights[chosen]) == {float(weight)}


def test_users_count_alike_or_by_their_pairs():
    ratings, offsets, users = np.array([1.0, 2, 1, 2, 3, 4]), np.array([0, 2, 6]), np.array([0, 1])
    for by_user, expected in ((True, 1 / 2), (False, 1 / 7)):
        pairs = draw_pairs(ratings, offsets, users, 40_000, by_user, [2])
        assert np.mean(pairs.better == 1) == pytest.approx(expected, abs=0.01)


def test_shorter_draws_are_prefixes_and_entropies_differ():
    long, short, other = (draw_pairs(RATINGS, OFFSETS, USERS, n, True, [e]) for n, e in ((500, 3), (80, 3), (500, 4)))
    np.testing.assert_array_equal(long.better[:80], short.better)
    np.testing.assert_array_equal(long.worse[:80], short.worse)
    assert (long.better != other.better).any()


def test_comparisons_are_the_first_pairs_by_group():
    pairs = draw_pairs(RATINGS, OFFSETS, USERS, 200, True, [5])
    said = pairs.comparisons(120, OFFSETS)
    assert len(said) == 120
    rows = []
    for group in range(4):
        for judgment in range(said.offsets[group], said.offsets[group + 1]):
            winner, loser = said.winners[judgment] + OFFSETS[group], said.losers[judgment] + OFFSETS[group]
            assert OFFSETS[group] <= min(winner, loser)
            assert max(winner, loser) < OFFSETS[group + 1]
            assert said.weights[judgment] == RATINGS[winner] - RATINGS[loser] > 0
            rows.append((winner, loser))
    assert sorted(rows) == sorted(zip(pairs.better[:120], pairs.worse[:120], strict=True))


def test_no_pair_to_draw():
    with pytest.raises(InputError, match="no user has two different ratings"):
        draw_pairs(np.array([3.0, 3, 4]), np.array([0, 2, 3]), np.array([0, 1]), 5, True, [0])


def test_disagreement_by_its_words():
    pairs = draw_pairs(RATINGS, OFFSETS, USERS, 300, True, [6])
    scores = np.array([0.0, 1, 1, 2, 1, 0, 0, 5, 5, 4])
    total = 0.0
    for i, j, a in zip(pairs.better, pairs.worse, pairs.weights, strict=True):
        total += a * (1.0 if scores[i] < scores[j] else 0.5 if scores[i] == scores[j] else 0.0)
    assert pairs.disagreement(scores) == pytest.approx(total / 300)
    assert pairs.disagreement(RATINGS) == 0
    assert pairs.disagreement(-RATINGS) == pytest.approx(pairs.weights.mean())
    assert pairs.disagreement(np.zeros(10)) == pytest.approx(pairs.weights.mean() / 2)


def test_deal_is_even_and_uniform():
    dealt = []
    for seed in range(400):
        folds = np.empty(23, np.int8)
        deal_folds(seed_state([seed]), 5, folds)
        assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
        dealt.append(folds)
    share = np.mean(np.array(dealt) == 0, axis=0)
    # 5 of 23 places are of fold 0, wherever the row stands.
    np.testing.assert_allclose(share, 5 / 23, atol=0.08)
