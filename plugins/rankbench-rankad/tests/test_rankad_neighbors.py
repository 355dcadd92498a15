import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from rankbench_rankad.neighbors import leave_one_out, levels_of, mean_distance, same_ranks


@pytest.fixture
def points():
    draw = np.random.default_rng(3)
    distinct = draw.normal(size=(60, 3))
    return np.concatenate([distinct, distinct[:20], distinct[:5]])


def test_leaving_a_point_out_of_its_own_neighbors_is_scikit_learns(points):
    expected = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(points).kneighbors()[0].mean(axis=1)
    # Brute force by matrix products gives duplicates a distance of about 1e-8.
    np.testing.assert_allclose(leave_one_out(points, 4), expected, atol=1e-7)


def test_distances_to_others_are_those_of_all_pairs(points):
    queries = np.random.default_rng(4).normal(size=(10, 3))
    every = np.sort(np.linalg.norm(queries[:, None] - points[None], axis=2), axis=1)
    np.testing.assert_allclose(mean_distance(queries, points, 6), every[:, :6].mean(axis=1))


def test_duplicates_share_a_level_whatever_the_number_of_levels(points):
    density = -leave_one_out(points, 4)
    for m in (2, 3, 7, 50, 1000):
        levels = levels_of(density, m)
        np.testing.assert_array_equal(levels[60:80], levels[:20])
        np.testing.assert_array_equal(levels[80:], levels[:5])


@settings(deadline=None, max_examples=100)
@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=40), m=st.integers(2, 60))
def test_levels_follow_the_density_and_never_split_a_tie(values, m):
    density = np.array(values, dtype=float)
    levels = levels_of(density, m)
    assert levels.min() >= 0
    assert levels.max() < max(m, len(set(values)))
    for i, j in zip(*np.triu_indices(len(values), 1), strict=True):
        assert (levels[i] - levels[j]) * (density[i] - density[j]) >= 0
        if density[i] == density[j]:
            assert levels[i] == levels[j]


def test_without_ties_levels_are_of_equal_size():
    levels = levels_of(np.random.default_rng(0).permutation(90).astype(float), 3)
    np.testing.assert_array_equal(np.bincount(levels), [30, 30, 30])


def test_rounding_does_not_break_a_tie():
    assert (same_ranks(np.array([0.1 + 0.2, 0.3, 1.0])) == [1.5, 1.5, 3.0]).all()
