import numpy as np
import pytest
from scipy.stats import kendalltau

from rankbench_rankad.objective import minimize
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.rbf import RbfMap, median_distance
from rankbench_rankad.simulator import Mixture
from rankbench_rankad.tuning import choose


@pytest.fixture
def problem():
    points = Mixture.random(3, 2, np.random.default_rng(0)).draw(300, np.random.default_rng(1))
    return RankAD(anchored=True).problem((points - points.mean(axis=0)) / points.std(axis=0))


def chosen(problem, sigmas, lambdas):
    return choose(problem, problem.points[:100], sigmas, lambdas, 3, np.random.default_rng(2))


@pytest.mark.parametrize("turned", [1, -1])
def test_what_orders_left_out_points_well_is_chosen_over_what_cannot(problem, turned):
    unit = median_distance(problem.points, np.random.default_rng(0))
    # So narrow a kernel knows nothing of points that it was not learned from, so wide a one nothing at all.
    sigmas = (1e-3 * unit, 0.5 * unit, 1e4 * unit)[::turned]
    assert chosen(problem, sigmas, (1e-4,))[0] == 0.5 * unit


def test_the_penalty_is_chosen_by_left_out_pairs(problem):
    """Against fits from scratch, to the end, judged by Kendall's tau."""
    sigma, lambdas, folds = 0.3, (1e1, 1e-3, 1e-6, 1e-12), 3
    features = RbfMap.from_landmarks(problem.points[:100], sigma).coordinates(problem.points)
    fold = np.random.default_rng(2).permutation(len(features)) % folds
    tau = {}
    for l2 in lambdas:
        fits = [minimize(problem.objective(features, l2, np.flatnonzero(fold != f)), steps=5000) for f in range(folds)]
        tau[l2] = np.mean(
            [
                kendalltau(problem.density[fold == f], features[fold == f] @ fits[f].theta).statistic
                for f in range(folds)
            ]
        )
    assert max(tau.values()) - min(tau.values()) > 0.05, "there is something to choose"
    assert tau[chosen(problem, (sigma,), lambdas)[1]] >= max(tau.values()) - 0.01


def test_one_candidate_is_not_tried(problem):
    assert chosen(problem, (3.0,), (7.0,)) == (3.0, 7.0)


def test_the_same_folds_choose_the_same(problem):
    grid = (0.3, 0.6, 1.2), (1e-2, 1e-4)
    assert chosen(problem, *grid) == chosen(problem, *grid)
