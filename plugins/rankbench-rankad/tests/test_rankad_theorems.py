"""The appendix's statements, where everything about the density is known."""

import numpy as np
import pytest
from scipy.stats import chi2, spearmanr

from rankbench_rankad.margins import LOSSES
from rankbench_rankad.neighbors import leave_one_out, levels_of
from rankbench_rankad.objective import Objective, minimize
from rankbench_rankad.pairs import LevelPairs, concordance
from rankbench_rankad.pvalues import false_alarm_bound, p_values
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.rbf import RbfMap
from rankbench_rankad.simulator import KnownDensity, Mixture

ROUND = Mixture(np.ones(1), np.zeros((1, 2)), np.ones(1))


def test_the_simulators_density_is_a_density_and_that_of_its_points():
    mixture = Mixture.random(3, 2, np.random.default_rng(1))
    side, step = np.linspace(-15, 15, 601, retstep=True)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert np.exp(mixture.log_density(grid)).sum() * step**2 == pytest.approx(1.0, abs=1e-4)
    points = mixture.draw(20_000, np.random.default_rng(2))
    center = mixture.weights @ mixture.centers
    np.testing.assert_allclose(points.mean(axis=0), center, atol=0.1)


def test_the_simulated_table_is_the_same_every_time_and_labeled():
    frame = KnownDensity(nominal=300, anomalies=20).scan().collect()
    assert frame.equals(KnownDensity(nominal=300, anomalies=20).scan().collect())
    assert frame["label"].to_list() == [0.0] * 300 + [1.0] * 20
    assert KnownDensity(seed=1).fingerprint() != KnownDensity().fingerprint()


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_lemma_4_the_share_below_tends_to_the_p_value(n):
    """With any G in the order of the density; for N(0, I) p(eta) = P(|x| >= |eta|) is chi-squared's."""
    draw = np.random.default_rng(n)
    nominal, eta = ROUND.draw(n, draw), draw.uniform(-4, 4, size=(500, 2))

    def g(x):
        return np.tanh(ROUND.log_density(x))

    found = p_values(g(eta), np.sort(g(nominal)))
    limit = chi2.sf(np.sum(eta**2, axis=1), 2)
    # Dvoretzky-Kiefer-Wolfowitz with Massart's constant, at a chance of 1e-6.
    assert np.abs(found - limit).max() <= np.sqrt(np.log(2 / 1e-6) / (2 * n))


@pytest.mark.parametrize("name", LOSSES)
def test_proposition_3_the_minimizer_orders_points_by_density(name):
    """Over functions that can be anything on the points, from pairs of all different densities."""
    draw = np.random.default_rng(0)
    points = draw.uniform(-2, 2, size=(14, 2))
    density = ROUND.log_density(points)
    levels = np.argsort(np.argsort(density))
    features = RbfMap.from_landmarks(points, 0.3).coordinates(points)
    found = minimize(Objective(features, LevelPairs(levels), LOSSES[name], 1e-7), tolerance=1e-10, steps=20_000)
    assert spearmanr(features @ found.theta, density).statistic == 1.0


def test_the_learned_order_approaches_that_of_the_density():
    """Lemma 4 and Proposition 3 together: from K-NN ranks alone, on points that nobody learned from."""
    mixture = Mixture.random(3, 2, np.random.default_rng(3))
    draw = np.random.default_rng(4)
    new = mixture.draw(2000, draw)
    truth = mixture.log_density(new)
    agreement = [
        concordance(
            truth, RankAD(levels=10, sigma=0.5, **{"lambda": 1e-5}).train(mixture.draw(n, draw), draw).score(new)
        )
        for n in (50, 300, 2000)
    ]
    assert agreement == sorted(agreement)
    assert agreement[-1] > 0.9


@pytest.mark.full
def test_theorem_3_bounds_the_mass_scored_far_below_the_mth_point():
    """With a bound that says something: few landmarks, many points; 40 draws at delta = 0.05."""
    n, m, gamma, delta, l2 = 6000, 300, 0.1, 0.05, 1e-2
    new = ROUND.draw(50_000, np.random.default_rng(1))
    masses, at_the_point = [], []
    for repetition in range(40):
        draw = np.random.default_rng([2, repetition])
        points = ROUND.draw(n, draw)
        levels = levels_of(-leave_one_out(points, 5), 3)
        rbf = RbfMap.from_landmarks(points[:6], 1.5)
        features = rbf.coordinates(points)
        found = minimize(Objective(features, LevelPairs(levels), LOSSES["squared-hinge"], l2), tolerance=1e-5)
        radius = np.sqrt(1 / l2)
        assert np.linalg.norm(found.theta) <= radius, "a minimizer has |g|^2 <= L(0) / lambda"
        scores, threshold = rbf.evaluate(new, rbf.weights(found.theta)), np.sort(features @ found.theta)[m - 1]
        masses.append(np.mean(scores < threshold - 2 * gamma))
        at_the_point.append(np.mean(scores < threshold))
    bound = false_alarm_bound(m, n, 6, radius, gamma, delta)
    assert bound < 0.08, "a bound of more would say little about a level of 0.05"
    assert np.mean(np.array(masses) > bound) <= delta
    assert np.mean(at_the_point) == pytest.approx(m / n, abs=0.005), "without the margin the level is m/n"


def test_a_fits_radius_is_within_what_the_bound_assumes():
    draw = np.random.default_rng(5)
    learned = RankAD(sigma=0.5, **{"lambda": 1e-3}).train(ROUND.draw(400, draw), draw).learned
    assert learned.info["radius"] <= np.sqrt(1 / 1e-3)
