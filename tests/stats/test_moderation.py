"""Moderated covariances against moments worked out by hand, and simulated tastes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import polygamma

from rankbench.stats.moderation import moderated


def drawn(seed: int, m: int, clusters: int, spread: np.ndarray) -> np.ndarray:
    """Return a covariance of means over clusters of normal tastes of so large standard deviations, shape (m, m)."""
    tastes = spread * np.random.default_rng(seed).normal(size=(clusters, m))
    tastes -= tastes.mean(axis=1, keepdims=True)
    return np.cov(tastes, rowvar=False) / clusters


def moderated_of(covariance: np.ndarray, single: float, clusters: int, **more: np.ndarray) -> tuple[np.ndarray, ...]:
    m = len(covariance)
    centered = np.eye(m) - 1 / m
    chosen = more.get("chosen", np.ones(m, np.bool_))
    return moderated(covariance, single * centered, np.full(m, float(clusters)), np.full(m, clusters - 1.0), chosen)


def test_equal_variances_have_the_degrees_of_freedom_of_all_estimates_together() -> None:
    m, clusters = 40, 10
    own = 0.3 * (np.eye(m) - 1 / m)
    found = moderated_of(own, 0.1, clusters)
    np.testing.assert_allclose(found.covariance, own, atol=1e-15)
    np.testing.assert_allclose(found.freedom, (clusters - 1.0) * (m - 1))


def test_moderated_errors_vary_less_about_the_true_ones() -> None:
    """The squared relative error of a variance is 2 / d by cluster, and less than half moderated."""
    m, clusters = 20, 10
    true = (1 - 1 / m) / clusters
    errors = np.zeros(2)
    for seed in range(50):
        own = drawn(seed, m, clusters, np.ones(m))
        both = np.stack([np.diag(own), np.diag(moderated_of(own, 1e-6, clusters)[0])])
        errors += ((both / true - 1) ** 2).mean(axis=1) / 50
    assert errors[0] == pytest.approx(2 / (clusters - 1), rel=0.2)
    assert errors[1] < errors[0] / 2


def test_the_matrix_is_the_mean_of_the_model_and_its_own_by_their_freedom() -> None:
    """By eq. (5), with the least-squares tau^2 worked out by hand: equal weights of equal variances."""
    m, clusters = 12, 8
    own = drawn(3, m, clusters, np.linspace(0.5, 3, m))
    found = moderated_of(own, 0.01, clusters)
    prior = found.freedom[0] - (clusters - 1)
    centered = np.eye(m) - 1 / m
    size = (np.diag(own) - 0.01 * np.diag(centered)).mean() / np.diag(centered / clusters).mean()
    model = (0.01 + size / clusters) * centered
    wanted = (prior * model + (clusters - 1) * own) / (prior + clusters - 1)
    np.testing.assert_allclose(found.covariance, wanted, atol=1e-12)


def test_variances_that_differ_have_few_degrees_of_freedom_of_a_model() -> None:
    """limma's moments: the excess of the variance of log F over psi'(d / 2) is psi'(d0 / 2)."""
    m, clusters, prior = 400, 11, 6.0
    rng = np.random.default_rng(5)
    spread = np.sqrt(prior / stats.chi2(prior).rvs(m, random_state=rng))
    found = moderated_of(drawn(6, m, clusters, spread), 1e-9, clusters)
    assert found.freedom[0] - (clusters - 1) == pytest.approx(prior, rel=0.35)
    d = np.full(m, clusters - 1.0)
    logs = np.log(np.diag(drawn(6, m, clusters, spread)))
    by_hand = logs.var(ddof=1) - polygamma(1, d / 2).mean() * (1 - np.sqrt(2 / (m - 1)))
    # The excess of differences is smaller here: tastes of two estimates average.
    assert polygamma(1, (found.freedom[0] - 10) / 2) == pytest.approx(by_hand, rel=0.05)


def test_without_tastes_the_model_is_that_of_single_judgments() -> None:
    found = moderated_of(np.diag(np.full(9, 0.5)), 1.0, 6)
    model = np.eye(9) - 1 / 9
    prior = found.freedom[0] - 5
    wanted = (prior * model + 5 * np.diag(np.full(9, 0.5))) / (prior + 5)
    np.testing.assert_allclose(found.covariance, wanted)


@pytest.mark.parametrize("kept", [2, 5])
def test_what_is_not_compared_stays_as_it_is(kept: int) -> None:
    own = drawn(2, 8, 6, np.ones(8))
    chosen = np.arange(8) < kept
    found = moderated_of(own, 0.1, 6, chosen=chosen)
    np.testing.assert_array_equal(found.covariance[~chosen], own[~chosen])
    np.testing.assert_array_equal(found.freedom[~chosen], 5.0)
    assert (found.freedom[chosen] > 5).all() == (kept > 2)


def test_a_variance_of_zero_stays_zero() -> None:
    own = drawn(2, 8, 6, np.ones(8))
    own[3], own[:, 3] = 0.0, 0.0
    found = moderated_of(own, 0.1, 6)
    assert found.covariance[3, 3] == 0.0
    assert np.isfinite(found.covariance).all()
