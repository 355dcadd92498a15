"""Laws that every score surrogate must obey: what it declares, and compiled equals NumPy."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.surrogates.cross_entropy import CrossEntropy, ListNet
from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingERR
from rankbench.surrogates.pairwise import Linear, LinearPower
from rankbench.surrogates.regression import Regression

ALL = [
    Regression(),
    Regression(normalize=False),
    Regression(gain="exp", normalize=False),
    Regression(gain="identity", normalize=False),
    *(OrderPreserving(phi=phi, gain=g) for phi, g in (("logistic", "exp2"), ("exponential", "exp"))),
    OrderPreserving(phi="squared-hinge", gain="identity", discount="reciprocal", cutoff=3),
    *(OrderPreservingERR(phi=phi) for phi in ("logistic", "exponential", "squared-hinge")),
    OrderPreservingERR(gain="logistic"),
    ListNet(),
    CrossEntropy(),
    CrossEntropy(gain="identity", discount="log2", cutoff=2),
    Linear(),
    Linear(nu=0.25),
    LinearPower(),
    LinearPower(power=1.5, nu=3),
]
every = pytest.mark.parametrize("surrogate", ALL, ids=str)
numbers = st.one_of(st.just(0.0), st.sampled_from([-1.5, 0.25, 2.0]), st.floats(-6, 6))
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=25)


def both(rows):
    alpha, scores = np.array(rows, dtype=np.float64).T.copy()
    return alpha, scores


@every
@given(pairs)
@examples(40)
def test_compiled_equals_numpy(surrogate, rows):
    alpha, scores = both(rows)
    target = surrogate.target(scores)
    kernel = surrogate.target_kernel()
    work, made = np.zeros(kernel.work(len(scores))), np.full(len(scores), np.nan)
    kernel.function(scores, kernel.params, work, made)
    assert not work.any(), "work must hold zeros on return"
    if np.abs(target).max() < 1e6:  # beyond, Z is a difference of nearly equal numbers
        np.testing.assert_allclose(made, target, rtol=1e-8, atol=1e-10)
        value, gradient = surrogate.value_and_gradient(alpha, target)
        kernel, out = surrogate.gradient_kernel(), np.full(len(alpha), np.nan)
        scale = max(1.0, np.abs(gradient).max(), abs(value))
        assert kernel.function(alpha, target, kernel.params, out) == pytest.approx(value, rel=1e-10, abs=1e-10 * scale)
        np.testing.assert_allclose(out, gradient, rtol=1e-10, atol=1e-10 * scale)


@every
def test_the_gradient_is_the_difference_quotient(surrogate):
    assert "smooth" in surrogate.properties
    rng = np.random.default_rng(1)
    for m in (1, 2, 7):
        alpha, target = rng.normal(size=m), surrogate.target(rng.normal(size=m))
        gradient, step = surrogate.value_and_gradient(alpha, target)[1], 1e-6
        quotients = [
            (
                surrogate.value_and_gradient(alpha + step * e, target)[0]
                - surrogate.value_and_gradient(alpha - step * e, target)[0]
            )
            / (2 * step)
            for e in np.eye(m)
        ]
        np.testing.assert_allclose(gradient, quotients, rtol=1e-5, atol=1e-6)


@every
@given(pairs, st.integers(0, 2**32 - 1))
@examples(40)
def test_convex_means_above_every_tangent(surrogate, rows, seed):
    assert "convex" in surrogate.properties
    alpha, scores = both(rows)
    target = surrogate.target(scores)
    if np.abs(target).max() > 1e6:
        return
    other = alpha + np.random.default_rng(seed).normal(size=len(alpha)) * 2
    value, gradient = surrogate.value_and_gradient(alpha, target)
    there = surrogate.value_and_gradient(other, target)[0]
    assert there >= value + gradient @ (other - alpha) - 1e-8 * max(1.0, abs(value), abs(there))


@every
@given(pairs, st.integers(0, 2**32 - 1))
@examples(40)
def test_equivariant_means_that_numbering_does_not_matter(surrogate, rows, seed):
    assert "equivariant" in surrogate.properties
    alpha, scores = both(rows)
    order = np.random.default_rng(seed).permutation(len(alpha))
    target = surrogate.target(scores)
    if np.abs(target).max() > 1e6:
        return
    np.testing.assert_allclose(surrogate.target(scores[order]), target[order], rtol=1e-8, atol=1e-10)
    value, gradient = surrogate.value_and_gradient(alpha, target)
    moved = surrogate.value_and_gradient(alpha[order], target[order])
    scale = max(1.0, abs(value), np.abs(gradient).max())
    assert moved[0] == pytest.approx(value, abs=1e-9 * scale)
    np.testing.assert_allclose(moved[1], gradient[order], atol=1e-9 * scale)


@every
def test_shift_invariant_is_declared_by_those_that_are(surrogate):
    rng = np.random.default_rng(2)
    alpha, target = rng.normal(size=6), surrogate.target(rng.normal(size=6))
    value, gradient = surrogate.value_and_gradient(alpha, target)
    same = surrogate.value_and_gradient(alpha + 3.0, target)[0] == pytest.approx(value, rel=1e-9)
    assert same == ("shift-invariant" in surrogate.properties)
    assert (abs(gradient.sum()) < 1e-9) == same


@every
def test_quadratic_is_declared_by_those_that_are(surrogate):
    rng = np.random.default_rng(3)
    alpha, target = rng.normal(size=6), surrogate.target(rng.normal(size=6))
    value, gradient = surrogate.value_and_gradient(alpha, target)
    same = value == pytest.approx(((alpha - target) ** 2).sum() / 12, rel=1e-9)
    assert same == ("quadratic" in surrogate.properties)
    if same:
        np.testing.assert_allclose(gradient, (alpha - target) / 6, rtol=1e-12)


@every
def test_target_linear_is_declared_by_those_that_are(surrogate):
    rng = np.random.default_rng(4)
    one, other = surrogate.target(rng.normal(size=6)), surrogate.target(rng.normal(size=6))
    alpha, mean = rng.normal(size=6), 0.3 * one + 0.7 * other
    gradients = [surrogate.value_and_gradient(alpha, target)[1] for target in (one, other, mean)]
    same = np.allclose(gradients[2], 0.3 * gradients[0] + 0.7 * gradients[1], atol=1e-12)
    assert same == ("target-linear" in surrogate.properties)


@every
def test_second_derivatives_are_differences_of_the_first(surrogate):
    rng = np.random.default_rng(5)
    for m in (1, 2, 7):
        alpha, target = rng.normal(size=m), surrogate.target(rng.normal(size=m))
        plain = ScoreSurrogate.hessian(surrogate, alpha, target)
        np.testing.assert_allclose(surrogate.hessian(alpha, target), plain, rtol=1e-6, atol=1e-8)


@every
def test_one_item_has_no_order(surrogate):
    one = np.array([0.7])
    target = surrogate.target(one)
    value, gradient = surrogate.value_and_gradient(one, target)
    assert np.isfinite([value, *target, *gradient]).all()
    if "shift-invariant" in surrogate.properties:
        assert gradient[0] == pytest.approx(0, abs=1e-12)
