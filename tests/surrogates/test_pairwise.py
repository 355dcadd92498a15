import math
from typing import ClassVar

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.core.component import Property
from rankbench.surrogates.pairwise import (
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)

CLASSES = [PairwiseLogistic, PairwiseHinge, PairwiseExponential, PairwiseSquaredHinge, PairwiseSquared]
FORMULAS = {
    "pairwise-logistic": lambda t: math.log(1 + math.exp(-t)),
    "pairwise-hinge": lambda t: max(0.0, 1 - t),
    "pairwise-exponential": lambda t: math.exp(-t),
    "pairwise-squared-hinge": lambda t: max(0.0, 1 - t) ** 2,
    "pairwise-squared": lambda t: (1 - t) ** 2,
}
SHAPES = [
    {},
    {"power": 0.0},
    {"power": 0.5},
    {"form": "margin"},
    {"form": "margin", "power": 0.0, "scale": 2.0},
    {"form": "margin", "power": 2.0, "scale": 0.25},
    {"h": "log1p"},
    {"form": "margin", "h": "log1p", "scale": 0.5},
]


def h_of(surrogate, weight):
    """Return h of a weight above 0."""
    return surrogate.scale * (math.log1p(weight) if surrogate.h == "log1p" else weight**surrogate.power)


def risk(surrogate, alpha, graph):
    """Return the surrogate of a graph the way every runner computes it."""
    i, j = np.nonzero(graph)
    factors, offsets = surrogate.edges(graph[i, j])
    return float(factors @ surrogate.phi(alpha[i] - alpha[j] - offsets))


def test_what_is_not_smooth_has_no_second_derivative():
    assert PairwiseHinge().phi_kernels()[2] is None
    with pytest.raises(TypeError, match=r"not twice differentiable: it has no ddphi$"):
        PairwiseHinge().ddphi(np.zeros(1))

    class Declared(PairwiseHinge):
        properties: ClassVar[frozenset[Property]] = frozenset({"smooth"})

    with pytest.raises(TypeError, match="no ddphi, which its property 'smooth' promises"):
        Declared().ddphi(np.zeros(1))


def test_far_margins_of_the_logistic_neither_overflow_nor_vanish():
    t = np.array([-1e4, 1e4, 700.0, -700.0])
    surrogate = PairwiseLogistic()
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(surrogate.phi(t), [1e4, 0.0, math.exp(-700), 700.0])
        np.testing.assert_allclose(surrogate.dphi(t), [-1.0, 0.0, -math.exp(-700), -1.0])
        np.testing.assert_allclose(surrogate.ddphi(t), [0.0, 0.0, math.exp(-700), math.exp(-700)])


@pytest.mark.parametrize("cls", CLASSES)
def test_slopes_and_bends_are_differences_of_the_formula(cls):
    t, step, phi = np.array([-3.0, -0.5, 0.25, 2.0]), 1e-3, np.vectorize(FORMULAS[cls.name])
    before, here, after = phi(t - step), phi(t), phi(t + step)
    np.testing.assert_allclose(cls().dphi(t), (after - before) / (2 * step), rtol=1e-5)
    if "smooth" in cls.properties:
        np.testing.assert_allclose(cls().ddphi(t), (after - 2 * here + before) / step**2, rtol=1e-5)


def test_far_margins_of_the_exponential_cost_infinitely_much():
    far = np.array([-800.0, 800.0])
    np.testing.assert_array_equal(PairwiseExponential().phi(far), [np.inf, 0.0])
    np.testing.assert_array_equal(PairwiseExponential().dphi(far), [-np.inf, 0.0])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 50)), max_size=20))
@examples(40)
def test_edges_are_weighed_by_h_compiled_and_not(shape, weights):
    surrogate, weights = PairwiseLogistic(**shape), np.array(weights, dtype=np.float64)
    h = [h_of(surrogate, w) if w > 0 else 0.0 for w in weights]
    there = [float(w > 0) for w in weights]
    expected = (there, h) if surrogate.form == "margin" else (h, [0.0] * len(h))
    for got, wanted in zip(surrogate.edges(weights), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    kernel, offsets = surrogate.edges_kernel(), np.full(len(weights), np.nan)
    kernel.function(weights, kernel.params, offsets)
    for got, wanted in zip((weights, offsets), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_the_sum_over_the_graph(cls, shape):
    surrogate = cls(**shape)
    rng = np.random.default_rng(3)
    graph = np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)) * 3, 0.0) * (1 - np.eye(6))
    alpha, phi = rng.normal(size=6), FORMULAS[cls.name]
    expected = 0.0
    for i in range(6):
        for j in range(6):
            if graph[i, j] > 0:
                h = h_of(surrogate, graph[i, j])
                t = alpha[i] - alpha[j]
                expected += phi(t - h) if surrogate.form == "margin" else h * phi(t)
    assert risk(surrogate, alpha, graph) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_linear_means_linear_in_the_structure(shape):
    surrogate = PairwiseHinge(**shape)
    rng = np.random.default_rng(5)
    one, two = (rng.random((2, 5, 5)) + 0.1) * (rng.random((2, 5, 5)) < 0.5)
    alpha = rng.normal(size=5)
    mean = risk(surrogate, alpha, (one + 3 * two) / 4)
    apart = (risk(surrogate, alpha, one) + 3 * risk(surrogate, alpha, two)) / 4
    assert surrogate.linear == (mean == pytest.approx(apart, rel=1e-9))
