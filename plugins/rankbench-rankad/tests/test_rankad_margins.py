import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rankbench
from rankbench_rankad.margins import LOSSES, ROUNDED

scores = arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5, width=16))
grid = np.linspace(-4, 4, 8001)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=60)
@given(upper=scores, lower=scores)
def test_a_sum_across_two_sets_is_that_over_all_pairs(name, upper, lower):
    loss, upper, lower = LOSSES[name], np.sort(upper), np.sort(lower)
    margins = upper[:, None] - lower[None, :]
    total, by_upper, by_lower = loss.across(upper, lower)
    largest = 1.0 + np.abs(loss.value(margins)).max() + np.abs(loss.derivative(margins)).max()
    size = largest * margins.size * 1e-11
    assert total == pytest.approx(loss.value(margins).sum(), rel=1e-10, abs=size)
    np.testing.assert_allclose(by_upper, loss.derivative(margins).sum(axis=1), rtol=1e-9, atol=size)
    np.testing.assert_allclose(by_lower, -loss.derivative(margins).sum(axis=0), rtol=1e-9, atol=size)


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_meets_the_conditions_of_proposition_3(name):
    loss = LOSSES[name]
    value = loss.value(grid)
    assert (value >= 0).all()
    assert (np.diff(value) <= 1e-12).all(), "not increasing"
    assert (value[:-2] + value[2:] - 2 * value[1:-1] >= -1e-9).all(), "convex"
    at_zero, step = loss.derivative(np.zeros(1))[0], 1e-7
    assert at_zero < 0
    left, middle, right = loss.value(np.array([-step, 0.0, step]))
    assert [(middle - left) / step, (right - middle) / step] == pytest.approx([at_zero] * 2, rel=1e-5), "differentiable"


@pytest.mark.parametrize("name", LOSSES)
def test_each_derivative_is_that_of_its_loss(name):
    loss, step = LOSSES[name], 1e-6
    differences = (loss.value(grid + step) - loss.value(grid - step)) / (2 * step)
    smooth = grid != 1.0 if name == "hinge" else slice(None)
    # A truncated square's derivative is continuous: an error at a knot is of the order of the step.
    np.testing.assert_allclose(loss.derivative(grid)[smooth], differences[smooth], rtol=1e-6, atol=2e-5)


def test_hinges_and_the_exponential_are_rankbenchs():
    for ours, theirs in (
        ("hinge", "pairwise-hinge"),
        ("squared-hinge", "pairwise-squared-hinge"),
        ("exponential", "pairwise-exponential"),
    ):
        surrogate = rankbench.get(rankbench.Surrogate, theirs)
        np.testing.assert_allclose(LOSSES[ours].value(grid), surrogate.phi(grid), rtol=1e-12)
        np.testing.assert_allclose(LOSSES[ours].derivative(grid), surrogate.dphi(grid), rtol=1e-12)


def test_the_smooth_hinge_is_the_hinge_but_for_its_corner():
    hinge = np.maximum(0.0, 1.0 - grid)
    value = LOSSES["smooth-hinge"].value(grid)
    assert np.abs(value - hinge).max() == pytest.approx(ROUNDED / 2)
    np.testing.assert_allclose(value[grid >= 1], 0.0, atol=1e-12)
    flat = grid <= 1 - ROUNDED
    np.testing.assert_allclose(value[flat], hinge[flat] - ROUNDED / 2, atol=1e-12)
