"""Calibration functions of squares: closed forms, quadratic programs by SciPy, the shortest vector of a polyhedron."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from amounts import part_of
from certify_laws import RELEVANCE
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

import rankbench
from rankbench.certificates.calibration import MINORANT_ERROR
from rankbench.certificates.law_cells import dot
from rankbench.certificates.squares_modulus import least_norm


def test_28_has_a_quadratic_calibration_function():
    """eps^2 / (2 m |D|^2), D_i = 1/F(i) - 1/F(m + 1 - i), is a bound for any laws, and attained for small eps."""
    inverse = 1 / np.log(1 + np.arange(1, 4))
    difference = inverse - inverse[::-1]
    units = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    found = rankbench.calibration("regression", "ndcg", structures=units, eps=[0.1, 0.2, 0.3])
    assert found.exact
    assert found.consistent
    formula = np.array([0.01, 0.04, 0.09]) / (6 * difference @ difference)
    np.testing.assert_allclose(np.array(found.lower, dtype=float), formula, rtol=1e-5)  # discounts have 6 decimals


@pytest.mark.full
@pytest.mark.parametrize("items", part_of([3, 4], 2))
def test_linear_has_a_quadratic_calibration_function_in_low_noise(items):
    """3 eps^2 / (2 (m^2 - 1)): attained, and no law of random ones is below it."""
    found = rankbench.calibration("linear", items=items)
    assert found.exact
    assert found.lower == tuple(3 * eps**2 / (2 * (items**2 - 1)) for eps in found.eps)
    below = found.biconjugate(found.eps) / np.array(found.lower, dtype=float)
    assert (below <= 1 + 1e-9).all()
    assert (below >= 1 - 1e-9).all()
    between = np.linspace(0, float(found.largest), 101)
    exact = 3 * between**2 / (2 * (items**2 - 1))
    assert (found.biconjugate(between) <= exact + 1e-12).all()
    assert (found.biconjugate(between) >= exact - float(MINORANT_ERROR)).all()


EDGES = list(itertools.permutations(range(3), 2))


def lead_rows(noise: str) -> list[np.ndarray]:
    """Return, for each polyhedron of laws of one vote in which no item leads an earlier one, rows not below 0."""
    lead = {(i, j): np.array([(e == (i, j)) - 1.0 * (e == (j, i)) for e in EDGES]) for i, j in EDGES}
    basic = [lead[0, 1], lead[0, 2], lead[1, 2]]
    if noise == "dag":
        return [np.array(basic)]
    chain = lead[0, 2] - lead[0, 1] - lead[1, 2]
    return [np.array([*basic, chain]), np.array([*basic, -lead[0, 1]]), np.array([*basic, -lead[1, 2]])]


def least_square_excess(targets: np.ndarray, factor: float, gaps: dict, cells: list, eps: float) -> float:
    """Return the least excess of squares over weights and scores in a wrong order, by SciPy's SLSQP."""
    m, k, found = targets.shape[1], len(targets), []
    for rows, (order, gap) in itertools.product(cells, gaps.items()):

        def excess(x: np.ndarray) -> float:
            return factor * float(np.square(x[k:] - x[:k] @ targets).sum())

        order_rows = np.array([np.eye(m)[a] - np.eye(m)[b] for a, b in itertools.pairwise(order)])
        limits = [
            {"type": "eq", "fun": lambda x: x[:k].sum() - 1},
            {"type": "ineq", "fun": lambda x, gap=gap: gap @ x[:k] - eps},
            {"type": "ineq", "fun": lambda x, rows=order_rows: rows @ x[k:]},
        ]
        if len(rows):
            limits.append({"type": "ineq", "fun": lambda x, rows=rows: rows @ x[:k]})
        start = np.concatenate([np.full(k, 1 / k), np.zeros(m)])
        bounds = [(0, 1)] * k + [(-3, 3)] * m
        done = minimize(excess, start, method="SLSQP", bounds=bounds, constraints=limits, options={"ftol": 1e-13})
        if done.success:
            found.append(done.fun)
    return min(found)


@pytest.mark.full
@pytest.mark.parametrize("noise", ["low", "dag"])
def test_linear_has_the_least_excess_that_scipy_finds(noise):
    """Quadratic programs over weights of six votes and scores, one for each polyhedron and wrong order."""
    found = rankbench.calibration("linear", noise=noise, eps=[0.35, 0.6, 0.95])
    targets = np.array([[1.0 * (e[0] == i) - (e[1] == i) for i in range(3)] for e in EDGES])
    orders = list(itertools.permutations(range(3)))
    losses = {o: np.array([1.0 * (o.index(i) > o.index(j)) for i, j in EDGES]) for o in orders}
    gaps = {o: losses[o] - losses[0, 1, 2] for o in orders[1:]}
    for eps, value in zip(found.eps, found.lower, strict=True):
        other = least_square_excess(targets, 1 / 6, gaps, lead_rows(noise), float(eps))
        assert float(value) == pytest.approx(other, abs=2e-7)
    assert found.zero == (0 if noise == "low" else Fraction(1, 3))


@pytest.mark.full
@pytest.mark.parametrize("name", ["regression", "regression:normalize=false"])
def test_regression_has_the_least_excess_that_scipy_finds(name):
    """Normalized gains or gains of seven binary grades; the excess of NDCG is that of normalized gains."""
    found = rankbench.calibration(name, "ndcg", eps=[0.15, 0.4])
    inverse = 1 / np.log(1 + np.arange(1, 4))
    shares = np.array([grades / (np.sort(grades)[::-1] @ inverse) for grades in RELEVANCE])
    orders = list(itertools.permutations(range(3)))
    earned = {o: shares[:, o] @ inverse for o in orders}
    gaps = {o: earned[0, 1, 2] - earned[o] for o in orders[1:]}
    targets = shares if name == "regression" else np.array(RELEVANCE)
    right = [np.array([earned[0, 1, 2] - earned[o] for o in orders[1:]])]
    for eps, value in zip(found.eps, found.lower, strict=True):
        other = least_square_excess(targets, 1 / 6, gaps, right, float(eps))
        assert float(value) == pytest.approx(other, abs=1e-6)
    assert found.consistent == (name == "regression")


@given(
    points=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=7),
    rays=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=3),
)
def test_the_shortest_vector_is_that_of_nonnegative_least_squares(points, rays):
    """SciPy's NNLS with a heavy row for the sum of shares; and the conditions of Wolfe's theorem, exactly."""
    exact = [[tuple(map(Fraction, vector)) for vector in side] for side in (points, rays)]
    x = least_norm(*exact)
    assert all(dot(point, x) >= dot(x, x) for point in exact[0])
    assert all(dot(ray, x) >= 0 for ray in exact[1])
    heavy = 1e4
    columns = [[*point, heavy] for point in points] + [[*ray, 0.0] for ray in rays]
    shares, _ = nnls(np.array(columns, dtype=float).T, np.array([0.0, 0.0, 0.0, heavy]))
    other = np.array(columns)[:, :3].T @ shares
    np.testing.assert_allclose(np.array(x, dtype=float), other, atol=2e-4)
