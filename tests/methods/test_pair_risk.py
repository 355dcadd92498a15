"""The three losses of Table 1: where their formulas are least, and scikit-learn's ranking SVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from minima import step_to_minimum
from sklearn.svm import LinearSVC
from small_blocks import make_block, reweighted

import rankbench
from rankbench.errors import SpecError
from rankbench.methods.pair_risk import PairRisk


@pytest.fixture(scope="module")
def block():
    sizes = np.random.default_rng(8).integers(3, 12, size=40)
    return reweighted(make_block(list(sizes), 1000, seed=8), [1.0, 2.0, 3.0, 1.0])


def pairs(block):
    base = np.repeat(block.design.offsets[:-1], block.comparisons.counts)
    x = block.design.x.astype(float)
    return x[base + block.comparisons.winners], x[base + block.comparisons.losers], block.comparisons.weights


def test_hinge_is_the_ranking_svm(block):
    better, worse, a = pairs(block)
    rows, ridge = better - worse, 0.02
    fitted = PairRisk(loss="hinge", **{"lambda": ridge}).fit(block)
    svc = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-8, max_iter=500_000)
    # a/n of the hinge beside lambda |w|^2: C = a / (2 lambda n), halved for the mirrored half.
    weight = np.tile(a, 2) / (2 * ridge * len(a)) / 2
    svc.fit(np.concatenate([rows, -rows]), np.repeat([1, -1], len(rows)), sample_weight=weight)
    risk = lambda w: a @ np.maximum(1 - rows @ w, 0) / len(a) + ridge * w @ w  # noqa: E731
    assert fitted.converged
    assert risk(fitted.theta) - risk(svc.coef_[0]) <= fitted.optimality + 1e-9 <= 1e-6 + 1e-9


def test_logistic_is_logistic_regression_on_differences(block):
    better, worse, a = pairs(block)
    rows, ridge = better - worse, 0.003
    fitted = PairRisk(loss="logistic", **{"lambda": ridge}).fit(block)
    risk = lambda w: a @ np.log1p(np.exp(-rows @ w)) / len(a) + ridge * w @ w  # noqa: E731
    assert fitted.converged
    assert fitted.optimality <= 1e-7
    assert np.abs(step_to_minimum(risk, fitted.theta)).max() < 1e-5


@pytest.mark.parametrize("theta", [0.0, 1e-4, 0.3])
def test_linear_is_the_minimizer_of_its_formula(block, theta):
    better, worse, a = pairs(block)
    ridge = 0.05
    fitted = PairRisk(loss="linear", theta=theta, **{"lambda": ridge}).fit(block)

    # The risk is (-a @ ((better - worse) @ w) + theta (|better @ w|^2 + |worse @ w|^2)) / n + ridge w @ w.
    bend = 2 * (theta * (better.T @ better + worse.T @ worse) / len(a) + ridge * np.eye(5))
    np.testing.assert_allclose(fitted.theta, np.linalg.solve(bend, a @ (better - worse) / len(a)), rtol=1e-9)


def test_theta_and_nothing_else_sees_a_shift(block):
    shifted = replace(block, design=replace(block.design, x=block.design.x + np.float32(1)))
    for loss in ("hinge", "logistic"):
        before, after = (PairRisk(loss=loss).fit(b).theta for b in (block, shifted))
        np.testing.assert_allclose(before, after, atol=2e-3)
    before, after = (PairRisk(loss="linear", theta=0.1).fit(b).theta for b in (block, shifted))
    assert np.abs(before - after).max() > 0.05


@pytest.mark.parametrize("loss", ["hinge", "logistic", "linear"])
def test_a_path_ends_where_single_fits_do(block, loss):
    points = [PairRisk(loss=loss, **{"lambda": ridge}) for ridge in (10.0, 0.1, 1e-3)]
    along = PairRisk.fit_path(block, points)
    for point, fitted in zip(points, along, strict=True):
        alone = point.fit(block)
        # Two points within the gap of a 2 lambda-strongly convex minimum.
        atol = 2 * np.sqrt(1e-6 / point.ridge) if loss == "hinge" else 1e-5
        np.testing.assert_allclose(fitted.theta, alone.theta, atol=atol)
        assert fitted.converged


def test_scores_are_linear_and_parameters_checked(block):
    fitted = PairRisk().fit(block)
    np.testing.assert_allclose(fitted.score(block.design), block.design.x @ fitted.theta)
    with pytest.raises(SpecError, match="lambda"):
        rankbench.get(rankbench.Method, "pair-risk:lambda=0")


def test_feature_baseline(block):
    fitted = rankbench.get(rankbench.Method, "feature:index=2").fit(block)
    np.testing.assert_array_equal(fitted.score(block.design), block.design.x[:, 2])
    with pytest.raises(SpecError, match="items have the features 0 to 4"):
        rankbench.get(rankbench.Method, "feature:index=5").fit(block)
