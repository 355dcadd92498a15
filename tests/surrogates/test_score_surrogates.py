"""Laws that every score surrogate must obey: what it declares, and compiled equals NumPy."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

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
def test_properties_are_declared_by_those_that_have_them(surrogate):
    rng = np.random.default_rng(2)
    alpha, (one, other) = rng.normal(size=6), (surrogate.target(rng.normal(size=6)) for _ in range(2))
    value, gradient = surrogate.value_and_gradient(alpha, one)
    mean = surrogate.value_and_gradient(alpha, 0.3 * one + 0.7 * other)[1]
    parts = 0.3 * gradient + 0.7 * surrogate.value_and_gradient(alpha, other)[1]
    found = {
        "shift-invariant": surrogate.value_and_gradient(alpha + 3.0, one)[0] == pytest.approx(value, rel=1e-9),
        "quadratic": value == pytest.approx(((alpha - one) ** 2).sum() / 12, rel=1e-9),
        "target-linear": np.allclose(mean, parts, atol=1e-12),
    }
    assert {name for name, holds in found.items() if holds} == surrogate.properties & found.keys()
