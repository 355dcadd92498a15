"""Links from scores to chances, against scikit-learn and numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
import votewise
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from rankbench.protocols.links import (
    LINKS,
    PairOutcomes,
    calibration_error,
    fit_link,
    fit_tie_link,
    margin_disagreement,
    middle,
    tie_log_loss,
    win_log_loss,
)


def outcomes(margins, weights=None, ties=None) -> PairOutcomes:
    """Return votes, each on a pair of its own; the winner comes first."""
    margins = np.asarray(margins, dtype=np.float64)
    weights = np.ones(len(margins)) if weights is None else np.asarray(weights, dtype=np.float64)
    tied = np.zeros(len(margins), bool) if ties is None else np.asarray(ties, bool)
    one = np.ones(len(margins))
    return PairOutcomes(margins, weights * ~tied, 0 * one, weights * tied, one * ~tied, one)


def as_votes(pairs: PairOutcomes) -> votewise.Outcomes:
    """Return the same as one vote a pair and outcome."""
    sides = ((pairs.margins, pairs.won, False), (-pairs.margins, pairs.lost, False), (pairs.margins, pairs.tied, True))
    return votewise.Outcomes(
        np.concatenate([margins[weight > 0] for margins, weight, _ in sides]),
        np.concatenate([weight[weight > 0] for _, weight, _ in sides]),
        np.concatenate([np.full(int((weight > 0).sum()), tie) for _, weight, tie in sides]),
    )


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
    assert fit_link(outcomes(np.where(won, d, -d)), link)[0] == pytest.approx(1.7, rel=0.03)


def test_scores_that_separate_all_votes_get_a_finite_scale() -> None:
    assert 0 < fit_link(outcomes([1.0, 2.0, 3.0]), "logistic")[0] < 10
    assert fit_link(outcomes([-1.0, -2.0, -3.0]), "logistic")[0] == 0
    assert fit_link(outcomes([0.0, 0.0]), "logistic")[0] == 0


def test_davidson_chances_sum_to_one() -> None:
    b, nu, d = 1.3, 0.8, 0.4
    chances = [np.exp(-tie_log_loss(outcomes([x], ties=[t]), b, nu)) for x, t in ((d, False), (-d, False), (d, True))]
    assert sum(chances) == pytest.approx(1)
    assert chances[0] / chances[1] == pytest.approx(np.exp(b * d))


def test_calibration_by_hand() -> None:
    # Two votes at p = .75 (one won, one lost, which is won at .25), logistic link.
    d = np.log(3)
    assert calibration_error(outcomes([d, -d]), 1.0, "logistic") == pytest.approx(0.25)
    assert calibration_error(outcomes([d, d, d, -d]), 1.0, "logistic") == pytest.approx(0, abs=1e-12)
    assert np.isnan(calibration_error(outcomes([d], ties=[True]), 1.0, "logistic"))


def random_pairs(seed: int, n: int, spread: float) -> PairOutcomes:
    """Return pairs with several votes each, of which some go against the margin; margins of many sizes."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=n) * 10.0 ** rng.uniform(-spread, spread, n)
    margins[rng.random(n) < 0.1] = 0.0
    counts = rng.integers(0, 4, (3, n)).astype(np.float64)
    counts[0] *= rng.random(n) < special.expit(margins)
    counts[1] *= rng.random(n) < special.expit(-margins)
    return PairOutcomes(margins, *counts, counts[0] + counts[1], counts.sum(axis=0))


PAIRS = st.builds(random_pairs, st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.0, 0.5, 3.0]))


@given(PAIRS, st.sampled_from(LINKS))
@examples(150)
def test_the_fitted_scale_is_the_minimum(pairs: PairOutcomes, link: str) -> None:
    """SciPy's bounded search of the same padded loss finds nothing better; the scale follows the unit of the scores."""
    b, loss = fit_link(pairs, link)
    assert loss == pytest.approx(win_log_loss(pairs, b, link), rel=1e-12, nan_ok=True)
    sizes = np.repeat(np.abs(pairs.margins), pairs.decided.astype(int))
    if not sizes.any():
        assert b == 0
        return
    unit = np.median(sizes[sizes > 0])
    votes = as_votes(pairs)
    padded = votewise.Outcomes(
        np.concatenate([votes.margins / unit, [1.0, -1.0]]),
        np.concatenate([votes.weights, [1.0, 1.0]]),
        np.concatenate([votes.ties, [False, False]]),
    )

    def value(x: float) -> float:
        return votewise.win_log_loss(padded, np.exp(x), link)

    best = min(
        optimize.minimize_scalar(value, bounds=bounds, method="bounded", options={"xatol": 1e-10}).fun
        for bounds in ((-30, -5), (-5, 0), (0, 5))
    )
    assert votewise.win_log_loss(padded, b * unit, link) <= best + 2e-12
    other = PairOutcomes(7 * pairs.margins, pairs.won, pairs.lost, pairs.tied, pairs.decided, pairs.votes)
    assert fit_link(other, link)[0] * 7 == pytest.approx(b, rel=1e-5)


@given(PAIRS)
@examples(100)
def test_the_tie_link_is_the_minimum(pairs: PairOutcomes) -> None:
    b, nu = fit_tie_link(pairs)
    assert b >= 0
    assert nu > 0
    votes = as_votes(pairs)
    sizes = np.repeat(np.abs(pairs.margins), pairs.votes.astype(int))
    unit = np.median(sizes[sizes > 0]) if sizes.any() else 1.0
    padded = votewise.Outcomes(
        np.concatenate([votes.margins / unit, [1.0, -1.0, 1.0]]),
        np.concatenate([votes.weights, np.ones(3)]),
        np.concatenate([votes.ties, [False, False, True]]),
    )

    def value(x: np.ndarray) -> float:
        return votewise.tie_log_loss(padded, np.exp(x[0]), np.exp(x[1]))

    found = votewise.tie_log_loss(padded, b * unit, nu)
    for start in ([0.0, 0.0], [-3.0, 0.0], [np.log(max(b * unit, 1e-12)), np.log(nu)]):
        best = optimize.minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
        assert found <= best.fun + 2e-12


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(0, 3)), min_size=1, max_size=40))
@examples(100)
def test_the_middle_is_the_median_of_the_votes(drawn: list[tuple[float, int]]) -> None:
    margins, numbers = np.array([d for d, _ in drawn]), np.array([float(k) for _, k in drawn])
    sizes = np.repeat(np.abs(margins), numbers.astype(int))
    sizes = sizes[sizes != 0]
    assert middle(margins, numbers) == (np.median(sizes) if len(sizes) else 0.0)


@pytest.mark.parametrize("x", [0.0, 0.3, 2.0, 8.0, 29.0, 31.0, 37.0, 60.0, 400.0])
def test_tails_of_the_normal_distribution(x: float) -> None:
    """One vote against a margin of x: the loss, and its derivatives by differences of SciPy's."""
    from rankbench.protocols.kernels import probit

    out = np.zeros(3)
    probit(np.ones(1), np.zeros(1), np.ones(1), x, True, out)
    assert out[2] == pytest.approx(-stats.norm.logcdf(-x), rel=1e-12)
    ratio = np.exp(stats.norm.logpdf(x) - stats.norm.logcdf(-x))
    assert out[0] == pytest.approx(ratio, rel=1e-9)
    assert 0 < out[1] <= 1 + 1e-6
    out = np.zeros(3)
    probit(np.ones(1), np.ones(1), np.zeros(1), x, True, out)
    assert out[2] == pytest.approx(-stats.norm.logcdf(x), rel=1e-10, abs=1e-190)


@pytest.mark.parametrize("far", [1e30, 1e100, 1e200])
@pytest.mark.parametrize("link", LINKS)
def test_margins_of_very_different_sizes_get_a_finite_scale(link: str, far: float) -> None:
    pairs = outcomes([1.0, -1.0, 1.0, far, -far, 1 / far])
    assert np.isfinite(fit_link(pairs, link)).all()


@pytest.mark.parametrize("far", [1e14, 1e16, 1e18, 1e25])
def test_one_margin_that_is_far_larger_hides_no_other(far: float) -> None:
    """Decided long before the others: the scale is that of the log without it, whatever rounding hides at 0."""
    margins, won, lost, tied = np.array(
        [[1.0, 1, 1, 1, 2, far], [3, 2, 4, 1, 2, 1], [1, 1, 1, 1, 1, 0], [1, 0, 1, 0, 1, 0]]
    )
    whole, rest = (
        PairOutcomes(*(column[:n] for column in (margins, won, lost, tied, won + lost, won + lost + tied)))
        for n in (6, 5)
    )
    for link in LINKS:
        assert fit_link(whole, link)[0] == pytest.approx(fit_link(rest, link)[0], rel=1e-9)
    assert fit_tie_link(whole) == pytest.approx(fit_tie_link(rest), rel=1e-6)


@given(PAIRS, st.sampled_from([1e-6, 0.25, 7.0, 1e9]))
@examples(60)
def test_the_unit_of_weights_means_nothing(pairs: PairOutcomes, unit: float) -> None:
    other = PairOutcomes(
        pairs.margins, unit * pairs.won, unit * pairs.lost, unit * pairs.tied, pairs.decided, pairs.votes
    )
    for link in LINKS:
        b, loss = fit_link(pairs, link)
        again, padded = fit_link(other, link)
        assert win_log_loss(pairs, again, link) == pytest.approx(loss, rel=1e-9, nan_ok=True)
        assert padded == pytest.approx(loss, rel=1e-9, nan_ok=True)
        assert again == pytest.approx(b, rel=1e-5)
    if pairs.votes.any():
        expected = tie_log_loss(pairs, *fit_tie_link(pairs))
        assert tie_log_loss(pairs, *fit_tie_link(other)) == pytest.approx(expected, rel=1e-9)


def test_every_coarse_log_has_a_tie_link() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        margins = rng.integers(-5, 6, 4) * 0.1
        won, lost, tied = rng.integers(0, [[4], [4], [3]], (3, 4)).astype(float)
        b, nu = fit_tie_link(PairOutcomes(margins, won, lost, tied, won + lost, won + lost + tied))
        assert 0 <= b < np.inf
        assert 0 < nu < np.inf


def test_a_tie_link_whose_scale_rounding_hides_is_still_found() -> None:
    # The large margin went either way as often: the best b is 1e-10 of its unit, and no step is relatively small.
    won, lost, tied = np.array([[4.0, 5], [2, 5], [2, 3]])
    pairs = PairOutcomes(np.array([6e-5, -2e5]), won, lost, tied, won + lost, won + lost + tied)
    b, nu = fit_tie_link(pairs)
    assert 0 <= b * 2e5 < 1e-6
    assert nu == pytest.approx(2 * 6 / 18)


def test_equal_scores_count_half() -> None:
    assert margin_disagreement(outcomes([0.0, 1.0, -1.0, -2.0], [2, 1, 1, 1])) == pytest.approx((1 + 1 + 1) / 5)
    assert np.isnan(margin_disagreement(outcomes([1.0], ties=[True])))
