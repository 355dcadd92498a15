import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.surrogates.pairwise import Linear, LinearPower

KINDS = [Linear(), Linear(nu=0.3), LinearPower(power=4), LinearPower(power=3, nu=2), LinearPower(power=1.5)]
R = {"linear": lambda s: lambda a: a**2 / 2, "linear-power": lambda s: lambda a: abs(a) ** s.power / s.power}


def net(graph):
    return graph.sum(axis=1) - graph.sum(axis=0)


def by_the_formula(surrogate, alpha, graph):
    """(14), edge by edge."""
    r = R[surrogate.name](surrogate)
    edges = sum(graph[i, j] * (alpha[j] - alpha[i]) for i in range(len(alpha)) for j in range(len(alpha)))
    return edges + surrogate.nu * sum(r(a) for a in alpha)


@pytest.mark.parametrize("surrogate", KINDS, ids=str)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@examples(30)
def test_is_the_formula_less_its_minimum_and_scaled(surrogate, m, seed):
    rng = np.random.default_rng(seed)
    graph = np.where(rng.random((m, m)) < 0.6, rng.random((m, m)), 0.0)
    best = surrogate.minimizer(net(graph))
    for alpha in (rng.normal(size=m), np.zeros(m), best):
        lost = by_the_formula(surrogate, alpha, graph) - by_the_formula(surrogate, best, graph)
        assert lost >= -1e-12
        assert surrogate.value_and_gradient(alpha, surrogate.target(net(graph)))[0] == pytest.approx(
            lost / (m * surrogate.nu), abs=1e-10
        )


@pytest.mark.parametrize("surrogate", KINDS, ids=str)
def test_the_closed_form_is_where_the_convex_formula_is_level(surrogate):
    """The derivative of (14) in item i is what it lost less what it won, and nu r'."""
    graph = np.random.default_rng(8).random((4, 4))
    best = surrogate.minimizer(net(graph))
    power = 2 if surrogate.name == "linear" else surrogate.power
    slopes = graph.sum(axis=0) - graph.sum(axis=1) + surrogate.nu * np.sign(best) * np.abs(best) ** (power - 1)
    np.testing.assert_allclose(slopes, 0, atol=1e-12)
