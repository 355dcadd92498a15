import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.svm import SVC

from rankbench_rankad.margins import LOSSES, TruncatedSquares
from rankbench_rankad.objective import Objective, minimize
from rankbench_rankad.pairs import LevelPairs
from rankbench_rankad.rbf import RbfMap, rbf_kernel

SIGMA, L2 = 1.0, 1e-2


@pytest.fixture
def problem():
    draw = np.random.default_rng(5)
    points = draw.normal(size=(30, 2))
    levels = np.argsort(np.argsort(-np.sum(points**2, axis=1))) * 3 // 30
    return points, levels


def pairs_of(levels):
    return np.nonzero(levels[:, None] > levels[None, :])


@pytest.mark.parametrize("anchors", [0, 7])
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_are_naive_ones_with_the_anchors_as_rows(problem, naive, name, anchors):
    points, levels = problem
    features = RbfMap.from_landmarks(points, SIGMA).coordinates(points)
    theta = np.random.default_rng(0).normal(size=features.shape[1])
    value, gradient = Objective(features, LevelPairs(levels), LOSSES[name], L2, anchors)(theta)
    rows = np.concatenate([features, np.zeros((anchors, features.shape[1]))])
    all_levels = np.concatenate([levels, np.full(anchors, -1)])
    total, slopes = naive(rows @ theta, all_levels, LOSSES[name])
    count = len(pairs_of(all_levels)[0])
    assert value == pytest.approx(total / count + L2 * theta @ theta)
    np.testing.assert_allclose(gradient, rows.T @ slopes / count + 2 * L2 * theta, atol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_the_minimum_has_no_gradient_and_nothing_near_it_is_lower(problem, name):
    points, levels = problem
    objective = Objective(
        RbfMap.from_landmarks(points, SIGMA).coordinates(points), LevelPairs(levels), LOSSES[name], L2
    )
    found = minimize(objective)
    assert found.optimality < 1e-5
    draw = np.random.default_rng(1)
    for _ in range(20):
        assert objective(found.theta + 0.1 * draw.normal(size=found.theta.shape))[0] > found.value


def test_it_is_the_minimum_over_the_whole_kernel_expansion(problem):
    """The representer theorem, by hand: g = sum beta_i k(x_i, .), |g|^2 = beta' K beta, all pairs one by one."""
    points, levels = problem
    gram = rbf_kernel(points, points, SIGMA)
    i, j = pairs_of(levels)
    loss = LOSSES["squared-hinge"]

    def direct(beta):
        margins = gram[i] @ beta - gram[j] @ beta
        slope = (gram[i] - gram[j]).T @ loss.derivative(margins) / len(i)
        return loss.value(margins).mean() + L2 * beta @ gram @ beta, slope + 2 * L2 * gram @ beta

    rbf = RbfMap.from_landmarks(points, SIGMA)
    found = minimize(Objective(rbf.coordinates(points), LevelPairs(levels), loss, L2), tolerance=1e-9)
    # It is convex, and level at ours.
    beta = rbf.weights(found.theta)
    value, slope = direct(beta)
    assert found.value == pytest.approx(value, rel=1e-8)
    assert np.abs(slope).max() < 1e-7
    elsewhere = np.random.default_rng(2).normal(size=(50, 2))
    np.testing.assert_allclose(rbf.evaluate(elsewhere, beta), rbf_kernel(elsewhere, points, SIGMA) @ beta, atol=1e-8)


def test_the_hinge_is_what_the_dual_solver_of_pair_differences_finds(problem):
    """scikit-learn's SVC solves the dual for the hinge; pairs come in both directions, so its bias is 0."""
    points, levels = problem
    gram = rbf_kernel(points, points, SIGMA)
    i, j = pairs_of(levels)
    first, second = np.concatenate([i, j]), np.concatenate([j, i])
    signs = np.repeat([1.0, -1.0], len(i))
    kernel = gram[np.ix_(first, first)] - gram[np.ix_(first, second)]
    kernel += gram[np.ix_(second, second)] - gram[np.ix_(second, first)]
    # 1/2 |g|^2 + C sum over 2 |P| mirrored pairs = (|g|^2 lambda + mean over |P|) / (2 lambda).
    peer = SVC(kernel="precomputed", C=1 / (4 * L2 * len(i)), tol=1e-6).fit(kernel, signs)
    dual = np.zeros(len(first))
    dual[peer.support_] = peer.dual_coef_[0]
    oracle = (gram[:, first] - gram[:, second]) @ dual
    norm = dual @ kernel @ dual
    hinge = np.maximum(0, 1 - (oracle[i] - oracle[j])).mean() + L2 * norm
    width = 1e-4  # what is minimized lies below the hinge, by half of that at most
    sharp = TruncatedSquares(((0.5 / width, 1.0), (-0.5 / width, 1.0 - width)))
    features = RbfMap.from_landmarks(points, SIGMA).coordinates(points)
    found = minimize(Objective(features, LevelPairs(levels), sharp, L2), steps=5000)
    ours = features @ found.theta
    reached = np.maximum(0, 1 - (ours[i] - ours[j])).mean() + L2 * found.theta @ found.theta
    assert -1e-7 <= reached - hinge <= width / 2 + 1e-7
    # |g - g*|^2 is at most what g's risk lacks over L2, and no function of this kernel is above its norm.
    assert np.abs(ours - oracle).max() <= np.sqrt(width / 2 / L2) + np.sqrt(1e-7 / L2)
    exact = features @ minimize(Objective(features, LevelPairs(levels), LOSSES["hinge"], L2), tolerance=1e-8).theta
    assert np.abs(exact - oracle).max() <= 2 * np.sqrt(1e-7 / L2)
    squared = minimize(Objective(features, LevelPairs(levels), LOSSES["squared-hinge"], L2)).theta
    assert spearmanr(features @ squared, oracle).statistic > 0.95
