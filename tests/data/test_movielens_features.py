"""MovieLens: compiled features against slow ones, folds, and pairs with the law that they should have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.data.movielens.features import Ratings, draw_pairs, rated_features, raw_features, standardized
from rankbench.data.movielens.kernels import deal_folds
from rankbench.errors import InputError
from rankbench.kernels.random import seed_state


@pytest.fixture(scope="module")
def ratings():
    return Ratings.from_items(
        rankbench.get(rankbench.Dataset, "movielens-like:users=60,movies=90,ratings=2000,seed=5").scan()
    )


def folds_of(ratings, seed):
    return (np.random.default_rng(seed).permutation(len(ratings)) % 5).astype(np.int8)


def slow(ratings, known, row):
    """Return the features of one row from the known (user, movie, rating) triples, by definition."""
    user, movie = ratings.user_of[row], ratings.movies[row]
    table = {}
    for other in np.flatnonzero(known):
        table.setdefault(ratings.user_of[other], {})[ratings.movies[other]] = ratings.ratings[other]
    everything = [r for own in table.values() for r in own.values()]
    overall = np.mean(everything) if everything else 0.0
    own = table.get(user, {})
    mine = np.mean(list(own.values())) if own else overall
    genre_means = []
    for genre in np.flatnonzero(ratings.genres[movie]):
        rated = [r for m, r in own.items() if ratings.genres[m, genre]]
        if rated:
            genre_means.append(np.mean(rated))
    raters = {who: rated[movie] for who, rated in table.items() if movie in rated}
    movie_mean = np.mean(list(raters.values())) if raters else overall
    similar = []
    for who, rating in raters.items():
        common = [m for m in own if m in table[who]]
        if who == user or len(common) < 3:
            continue
        a = np.array([own[m] for m in common]) - mine
        b = np.array([table[who][m] for m in common]) - np.mean(list(table[who].values()))
        scale = np.sqrt((a @ a) * (b @ b))
        if scale > 1e-9:
            similar.append((a @ b / scale * len(common) / (len(common) + 10), rating))

    def nearest(sign):
        found = sorted(((sign * s, r) for s, r in similar if sign * s > 0), reverse=True)[:20]
        return sum(s * r for s, r in found) / sum(s for s, _ in found) if found else movie_mean

    return [
        1998 - ratings.years[movie],
        *ratings.genres[movie],
        np.mean(genre_means) if genre_means else mine,
        movie_mean,
        nearest(+1),
        nearest(-1),
    ]


def features_of(ratings, *arguments, neighbors):
    return raw_features(ratings, rated_features(ratings, *arguments, neighbors=neighbors))


@pytest.mark.full
@pytest.mark.parametrize("leakage", part_of(["crossfit", "loo", "insample"], 2))
def test_equals_the_definition(ratings, leakage):
    folds = folds_of(ratings, 1)
    training = (0, 2, 3)
    fast = features_of(ratings, folds, training, leakage, neighbors=True)
    assert fast.shape == (len(ratings), 24)
    learned = np.isin(folds, training)
    for row in np.random.default_rng(2).choice(len(ratings), size=60, replace=False):
        known = learned.copy()
        if learned[row] and leakage == "crossfit":
            known &= folds != folds[row]
        if leakage == "loo":
            known[row] = False
        np.testing.assert_allclose(fast[row], slow(ratings, known, row), atol=1e-9, err_msg=f"row {row}")
    few = features_of(ratings, folds, training, leakage, neighbors=False)
    np.testing.assert_array_equal(few, fast[:, :22])


def test_fallbacks_of_new_users_and_movies(ratings):
    # Nothing is known but the ratings of two users.
    folds = np.where(ratings.user_of < 2, 0, 1).astype(np.int8)
    fast = features_of(ratings, folds, (0,), "insample", neighbors=True)
    learned = folds == 0
    for row in np.flatnonzero(~learned)[::97]:
        np.testing.assert_allclose(fast[row], slow(ratings, learned, row), atol=1e-9)
    new = ~learned & ~np.isin(ratings.movies, ratings.movies[learned])
    assert new.any()
    np.testing.assert_allclose(fast[new][:, 20:], ratings.ratings[learned].mean())


def changed(ratings, rows):
    other = ratings.ratings.copy()
    other[rows] = 6 - other[rows]
    other[rows] = np.where(other[rows] == ratings.ratings[rows], 1, other[rows])
    return replace(ratings, ratings=other)


@examples(15)
@given(seed=st.integers(0, 10**6))
def test_crossfit_never_looks_where_it_must_not(ratings, seed):
    folds = folds_of(ratings, seed)
    training = (1, 2, 4)
    before = features_of(ratings, folds, training, "crossfit", neighbors=True)
    # Validation and test ratings change no feature at all.
    held = np.flatnonzero(~np.isin(folds, training))
    np.testing.assert_array_equal(
        before, features_of(changed(ratings, held), folds, training, "crossfit", neighbors=True)
    )
    # A training fold's ratings change no feature of that fold, but do change others'.
    fold = np.flatnonzero(folds == 2)
    after = features_of(changed(ratings, fold), folds, training, "crossfit", neighbors=True)
    np.testing.assert_array_equal(before[fold], after[fold])
    assert (before != after)[~np.isin(np.arange(len(ratings)), fold)].any()


def test_equal_similarities_share_the_last_places():
    # 30 users agree with user 0 alike; they rate movie 3 with 1 (first half) or 5 (second half).
    users, movies = 31, 4
    table = np.full((users, movies), 3.0)
    table[:, :3] = [1, 3, 5]
    table[1:16, 3], table[16:, 3] = 1, 5
    rows = np.ones((users, movies), bool)
    rows[0, 3] = True
    ratings = Ratings(
        tuple(map(str, range(users))),
        np.arange(users + 1) * movies,
        np.tile(np.arange(movies), users).astype(np.int32),
        table.ravel(),
        np.full(movies, 1990.0),
        np.ones((movies, 1), np.uint8),
    )
    folds = np.zeros(users * movies, np.int8)
    folds[3] = 1
    features = features_of(ratings, folds, (0,), "crossfit", neighbors=True)[3]
    # Crossfit features of the held-out row 3: two values of the similarity, one for each half.
    known = folds == 0
    assert features[4] == pytest.approx(slow_shared(ratings, known))


def slow_shared(ratings, known):
    """Return the similar users' mean of user 0 for movie 3, ties sharing the last places."""
    own = np.array([1.0, 3, 5])
    weights, values = [], []
    for user in range(1, 31):
        rated = ratings.ratings[4 * user : 4 * user + 4]
        a, b = own - own.mean(), rated[:3] - rated.mean()
        weights.append(a @ b / np.sqrt((a @ a) * (b @ b)) * 3 / 13)
        values.append(rated[3])
    weights, values = np.round(weights, 12), np.array(values)
    last = np.sort(weights)[-20]
    share = np.where(weights > last, 1.0, (20 - (weights > last).sum()) / (weights == last).sum() * (weights == last))
    return (share * weights) @ values / (share @ weights)


@pytest.mark.parametrize("center", ["global", "user", "none"])
def test_standardized(center):
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.normal(3, 2, size=(200, 3)), np.ones(200)])
    learned, groups = rng.random(200) < 0.6, rng.integers(0, 9, size=200)
    x = standardized(raw, learned, groups, center).astype(float)
    assert x.dtype == float
    scale = np.append(raw[learned, :3].std(axis=0), 1)
    for group in range(9):
        inside = groups == group
        np.testing.assert_allclose(x[inside] - x[inside][0], (raw[inside] - raw[inside][0]) / scale, atol=1e-5)
        if center == "user":
            np.testing.assert_allclose(x[inside].mean(axis=0), 0, atol=1e-5)
    if center == "global":
        np.testing.assert_allclose(x[learned].mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(x[learned, :3].std(axis=0), 1, atol=1e-5)
    if center == "none":
        np.testing.assert_allclose(x, raw / scale, rtol=1e-5)


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
