"""Order-preserving surrogates, as they are right and as they are printed; softmax ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankbench.surrogates.cross_entropy import CrossEntropy, ListNet
from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingAsPrinted, OrderPreservingERR
from rankbench.surrogates.regression import Regression

PHI = {
    "logistic": lambda t: math.log(1 + math.exp(-t)),
    "exponential": lambda t: math.exp(-t),
    "squared-hinge": lambda t: max(0.0, 1 - t) ** 2,
}


@pytest.mark.parametrize("phi", PHI)
def test_the_value_is_the_formula_with_the_sign_turned(phi):
    rng = np.random.default_rng(4)
    alpha, s = rng.normal(size=5), rng.uniform(0, 3, size=5)
    gain, order = 2**s - 1, np.sort(2**s - 1)[::-1]
    z = sum(g / math.log(1 + j) for j, g in enumerate(order, 1))
    expected = sum(gain[j] / z * PHI[phi](alpha[j] - alpha[i]) for j in range(5) for i in range(5))
    surrogate = OrderPreserving(phi=phi)
    gradient = surrogate.value_and_gradient(np.zeros(5), surrogate.target(s))[1]
    # At a tie, descending pushes the item of the largest gain up the most.
    np.testing.assert_array_equal(np.argsort(-gradient), np.argsort(gain))
    assert surrogate.value_and_gradient(alpha, surrogate.target(s))[0] == pytest.approx(expected, rel=1e-12)
    err = sum((2 ** s[j] - 1) / 16 * PHI[phi](alpha[j] - alpha[i]) for j in range(5) for i in range(5))
    twin = OrderPreservingERR(phi=phi)
    assert twin.value_and_gradient(alpha, twin.target(s))[0] == pytest.approx(err, rel=1e-12)


def test_the_cross_entropy_is_smallest_at_the_logarithm_of_the_mean_gains():
    """The slope of the mean over structures is 0 there, and each is convex."""
    rng, surrogate = np.random.default_rng(0), CrossEntropy()
    for _ in range(5):
        structures, probabilities = rng.uniform(0, 3, size=(3, 4)), rng.dirichlet(np.ones(3))
        targets = [surrogate.target(s) for s in structures]
        best = np.log(probabilities @ np.array(targets))
        slopes = [surrogate.value_and_gradient(best + 5, target)[1] for target in targets]
        np.testing.assert_allclose(probabilities @ slopes, 0, atol=1e-13)


def test_listnet_is_the_cross_entropy_of_top_one_probabilities():
    s, alpha = np.array([1.0, 0.0, -2.0]), np.array([0.3, 0.1, 2.0])
    p, q = np.exp(s) / np.exp(s).sum(), np.exp(alpha) / np.exp(alpha).sum()
    surrogate = ListNet()
    assert surrogate.value_and_gradient(alpha, surrogate.target(s))[0] == pytest.approx(-(p * np.log(q)).sum())
    far = surrogate.target(np.array([2000.0, 1999.0]))
    np.testing.assert_allclose(far, [1 / (1 + math.exp(-1)), 1 / (1 + math.e)], rtol=1e-12)
    assert surrogate.value_and_gradient(np.array([-3000.0, 3000.0]), far)[0] == pytest.approx(far[0] * 6000)


@pytest.mark.parametrize("surrogate", [OrderPreserving(), CrossEntropy()], ids=str)
def test_structures_that_say_nothing_cost_nothing(surrogate):
    for s in (np.zeros(3), np.array([-1.0, -2.0, -0.5])):
        value, gradient = surrogate.value_and_gradient(np.array([1.0, 2.0, 3.0]), surrogate.target(s))
        assert value == 0
        assert not gradient.any()


def test_negative_gains_raise_all_weights_of_a_structure_alike():
    s = np.array([0.5, -0.2, -0.3])
    raised, plain = OrderPreserving(gain="identity").target(s), Regression(gain="identity").target(s)
    assert raised.min() == 0
    np.testing.assert_allclose(np.diff(raised), np.diff(plain), rtol=1e-12)


@pytest.mark.parametrize("phi", ["logistic", "exponential", "squared-hinge"])
def test_printed_is_right_at_minus_alpha(phi: str) -> None:
    rng = np.random.default_rng(0)
    printed, right = OrderPreservingAsPrinted(phi=phi), OrderPreserving(phi=phi)
    alpha, scores = rng.normal(size=4), rng.normal(size=4)
    target = right.target(scores)
    assert printed.target(scores).tolist() == target.tolist()
    value, gradient = printed.value_and_gradient(alpha, target)
    expected = right.value_and_gradient(-alpha, target)
    assert value == expected[0]
    assert gradient.tolist() == (-expected[1]).tolist()
