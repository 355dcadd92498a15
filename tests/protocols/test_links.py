"""Links from scores to chances, against scikit-learn and numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from rankbench.protocols.links import Outcomes, calibration_error, fit_link, fit_tie_link, tie_log_loss, win_log_loss


def outcomes(margins, weights=None, ties=None) -> Outcomes:
    margins = np.asarray(margins, dtype=np.float64)
    weights = np.ones(len(margins)) if weights is None else np.asarray(weights, dtype=np.float64)
    return Outcomes(margins, weights, np.zeros(len(margins), bool) if ties is None else np.asarray(ties, bool))


def test_the_log_loss_by_hand() -> None:
    votes = outcomes([1.0, -2.0, 5.0], [1, 3, 10], [False, False, True])
    expected = (np.log1p(np.exp(-0.5)) + 3 * np.log1p(np.exp(1.0))) / 4
    assert win_log_loss(votes, 0.5, "logistic") == pytest.approx(expected)
    expected = -(stats.norm.logcdf(0.5) + 3 * stats.norm.logcdf(-1.0)) / 4
    assert win_log_loss(votes, 0.5, "probit") == pytest.approx(expected)
    assert win_log_loss(votes, 0.0, "logistic") == pytest.approx(np.log(2))
    assert np.isnan(win_log_loss(outcomes([1.0], ties=[True]), 1.0, "logistic"))


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_scale_is_found_again(link) -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(size=40_000)
    p = 1 / (1 + np.exp(-1.7 * d)) if link == "logistic" else stats.norm.cdf(1.7 * d)
    won = rng.random(len(d)) < p
    assert fit_link(outcomes(np.where(won, d, -d)), link) == pytest.approx(1.7, rel=0.03)


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=30), st.floats(0.1, 10))
@settings(max_examples=50, deadline=None)
def test_the_fitted_scale_is_the_best_and_follows_the_unit_of_the_scores(margins, unit) -> None:
    margins = np.round(margins, 3)
    b = fit_link(outcomes(margins), "logistic")
    assert np.isfinite(b)
    assert b >= 0
    assert fit_link(outcomes(margins * unit), "logistic") * unit == pytest.approx(b, rel=1e-3, abs=1e-6)
    sizes = np.abs(margins[margins != 0])
    if len(sizes):
        scale = np.median(sizes)
        padded = outcomes(np.concatenate([margins, [scale, -scale]]))
        best = optimize.minimize_scalar(lambda x: win_log_loss(padded, x, "logistic"), bounds=(0, 50), method="bounded")
        assert win_log_loss(padded, b, "logistic") <= best.fun + 1e-6


def test_scores_that_separate_all_votes_get_a_finite_scale() -> None:
    assert 0 < fit_link(outcomes([1.0, 2.0, 3.0]), "logistic") < 10
    assert fit_link(outcomes([-1.0, -2.0, -3.0]), "logistic") == 0
    assert fit_link(outcomes([0.0, 0.0]), "logistic") == 0


def test_davidson_chances_sum_to_one_and_are_found_again() -> None:
    b, nu, d = 1.3, 0.8, np.array([0.4, -2.0])
    chances = [
        np.exp(-tie_log_loss(outcomes([x], ties=[t]), b, nu)) for x, t in ((d[0], False), (-d[0], False), (d[0], True))
    ]
    assert sum(chances) == pytest.approx(1)
    assert chances[0] / chances[1] == pytest.approx(np.exp(b * d[0]))
    rng = np.random.default_rng(4)
    d = rng.normal(size=30_000)
    weight = np.stack([np.exp(b * d / 2), np.exp(-b * d / 2), np.full(len(d), nu)])
    u = rng.random(len(d)) * weight.sum(axis=0)
    won, lost = u < weight[0], (u >= weight[0]) & (u < weight[0] + weight[1])
    votes = outcomes(np.where(lost, -d, d), ties=~won & ~lost)
    assert fit_tie_link(votes) == pytest.approx((b, nu), rel=0.05)


def test_calibration_by_hand() -> None:
    # Two votes at p = .75 (one won, one lost, which is won at .25), logistic link.
    d = np.log(3)
    assert calibration_error(outcomes([d, -d]), 1.0, "logistic") == pytest.approx(0.25)
    assert calibration_error(outcomes([d, d, d, -d]), 1.0, "logistic") == pytest.approx(0, abs=1e-12)
    assert np.isnan(calibration_error(outcomes([d], ties=[True]), 1.0, "logistic"))
