import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel as theirs

from rankbench_rankad.rbf import CHUNK, RbfMap, median_distance, rbf_kernel


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(120, 4))


def test_the_kernel_is_scikit_learns(points):
    np.testing.assert_allclose(rbf_kernel(points, points[:9], 1.7), theirs(points, points[:9], 1 / (2 * 1.7**2)))


def test_no_distance_is_negative_far_from_the_origin(points):
    assert rbf_kernel(points + 1e6, points + 1e6, 1.0).max() <= 1.0


def test_with_all_points_coordinates_give_the_kernel_back(points):
    psi = RbfMap.from_landmarks(points, 0.8).coordinates(points)
    np.testing.assert_allclose(psi @ psi.T, theirs(points, gamma=1 / (2 * 0.8**2)), atol=1e-6)


def test_with_some_points_it_is_the_nystroem_approximation(points):
    landmarks, gamma = points[:25], 1 / (2 * 1.1**2)
    psi = RbfMap.from_landmarks(landmarks, 1.1).coordinates(points)
    across = theirs(points, landmarks, gamma)
    expected = across @ np.linalg.pinv(theirs(landmarks, gamma=gamma)) @ across.T
    np.testing.assert_allclose(psi @ psi.T, expected, atol=1e-8)


def test_scores_by_chunks_are_the_functions_values():
    draw = np.random.default_rng(1)
    points = draw.normal(size=(2 * CHUNK + 3, 3))
    rbf = RbfMap.from_landmarks(points[:30], 1.0)
    theta = draw.normal(size=rbf.root.shape[1])
    expected = rbf.coordinates(points) @ theta
    np.testing.assert_allclose(rbf.evaluate(points, rbf.weights(theta)), expected, atol=1e-9)
    assert rbf.evaluate(points[:0], rbf.weights(theta)).shape == (0,)


def test_the_scale_is_the_median_distance(points):
    assert median_distance(points, np.random.default_rng(2)) == pytest.approx(np.median(pdist(points)), rel=0.05)
    assert median_distance(np.ones((5, 2)), np.random.default_rng(2)) == 1.0
