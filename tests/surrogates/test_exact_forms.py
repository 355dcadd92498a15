"""Surrogates in exact numbers are the functions that they compute, and gains, discounts and chances their tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import rankbench
from rankbench.core.gains import discounts, exact_discounts, exact_gains, exact_satisfaction, gains, satisfaction
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate

PAIRS = [
    f"pairwise-{phi}{parameters}"
    for phi in ("logistic", "exponential", "hinge", "squared-hinge", "squared")
    for parameters in ("", ":power=2", ":form=margin", ":form=margin,power=0,scale=0.5")
]
SCORES = [
    *("regression:discount=reciprocal", "regression:normalize=false", "regression:gain=identity,discount=reciprocal"),
    *("order-preserving:discount=reciprocal,phi=exponential", "order-preserving-err", "linear:nu=0.5", "linear-power"),
    *("order-preserving-as-printed:discount=reciprocal", "cross-entropy:discount=reciprocal,cutoff=2"),
    "linear-power:power=3",
]


def phi_of(phi: ConvexPhi, t: float) -> float:
    """Evaluate a phi naively."""
    if phi.pieces:
        coefficients = next(c for end, c in phi.pieces if end is None or t <= end)
        return float(sum(float(c) * t**power for power, c in enumerate(coefficients)))
    return float(eval(phi.expression, {"exp": np.exp, "log": np.log, "abs": abs, "t": t}))


def value(stated: ExactSurrogate, alpha: np.ndarray) -> float:
    """Evaluate a surrogate in exact numbers naively."""
    total = float(np.dot([float(b) for b in stated.linear], alpha))
    total += float(stated.entropy) * float(np.log(np.exp(alpha).sum()))
    for term in stated.terms:
        total += float(term.factor) * phi_of(term.phi, float(np.dot(term.coefficients, alpha)) - float(term.offset))
    return total


@pytest.mark.parametrize("name", PAIRS)
def test_of_pairs(name):
    surrogate = rankbench.get(rankbench.PairwiseSurrogate, name)
    rng = np.random.default_rng(1)
    graph = {(0, 1): Fraction(3, 2), (2, 0): Fraction(1, 3), (1, 2): Fraction(2)}
    stated = surrogate.exact(3, graph)
    tails, heads = zip(*graph, strict=True)
    factor, offset = surrogate.edges(np.array([float(w) for w in graph.values()]))
    for _ in range(10):
        alpha = rng.normal(size=3)
        own = float(factor @ surrogate.phi(alpha[list(tails)] - alpha[list(heads)] - offset))
        assert value(stated, alpha) == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("scores", [(2, 0, 1), (4, 4, 0), (0, 0, 0), (-1, 2, 0)])
def test_of_scores(name, scores):
    surrogate = rankbench.get(rankbench.ScoreSurrogate, name)
    stated = surrogate.exact(tuple(map(Fraction, scores)))
    target = surrogate.target(np.array(scores, dtype=np.float64))
    rng = np.random.default_rng(2)
    at = [rng.normal(size=3) for _ in range(8)]
    own = np.array([surrogate.value_and_gradient(alpha, target)[0] for alpha in at])
    told = np.array([value(stated, alpha) for alpha in at])
    np.testing.assert_allclose(told - told[0], own - own[0], rtol=1e-10, atol=1e-12)


def test_tables_are_those_in_floats():
    grades = (Fraction(3), Fraction(0), Fraction(5))
    floats = np.array([3.0, 0.0, 5.0])
    for name in ("exp2", "identity"):
        np.testing.assert_array_equal([float(g) for g in exact_gains(name, grades)], gains(name, floats))
    np.testing.assert_array_equal(
        [float(c) for c in exact_satisfaction("exp2", grades, 4.0)], satisfaction("exp2", floats, 4.0)
    )
    for name in ("log", "log2", "reciprocal"):
        table = [float(d) for d in exact_discounts(name, 5, 3)]
        np.testing.assert_allclose(table, discounts(name, 5, 3), atol=5e-7 if name != "reciprocal" else 1e-16)
