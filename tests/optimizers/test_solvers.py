from typing import ClassVar

import numpy as np
import pytest
from minima import step_to_minimum
from scipy.optimize import minimize

from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.surrogate import PairwiseSurrogate
from rankbench.optimizers.composite import Proximal
from rankbench.optimizers.newton import LBFGS, Exact, Newton
from rankbench.optimizers.problems import Gram, PairwiseProblem, QuadraticProblem
from rankbench.surrogates.pairwise import PairwiseLogistic

SURROGATE = PairwiseLogistic()
SOLVERS = [Newton(), Newton(reuse=0.0), LBFGS(), LBFGS(memory=3), Proximal()]


def quadratic(l2=0.1, condition=1e3):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    return QuadraticProblem(Gram(basis * np.geomspace(1 / condition, 1, 8) @ basis.T), 0.1 * rng.normal(size=8), l2)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1.0])
def test_logistic_is_least_by_its_formula(judged, solver, l2):
    x, offsets, comparisons = judged
    query = np.repeat(np.arange(4), comparisons.counts)
    d = x[offsets[query] + comparisons.winners] - x[offsets[query] + comparisons.losers]
    w = comparisons.weights
    fit = solver.solve(PairwiseProblem(x, offsets, comparisons, SURROGATE, l2))
    assert fit.converged
    assert fit.optimality <= 1e-8
    step = step_to_minimum(lambda t: w @ np.log1p(np.exp(-d @ t)) / len(w) + l2 / 2 * t @ t, fit.theta)
    np.testing.assert_allclose(fit.theta + step, fit.theta, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", [*SOLVERS, Exact()], ids=str)
def test_quadratic_minimizer(solver):
    problem = quadratic()
    fit = solver.solve(problem)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, problem.minimizer(), atol=1e-7)
    assert fit.optimality == pytest.approx(np.linalg.norm(problem.value_and_gradient(fit.theta)[1]), abs=1e-15)


def test_newton_starts_where_it_is_told(judged):
    problem = PairwiseProblem(*judged, SURROGATE, 0.01)
    best = Newton().solve(problem)
    again = Newton().solve(problem, best.theta)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.theta, best.theta)
    elsewhere = Newton().solve(problem, best.theta + 1)
    assert elsewhere.iterations > 0
    np.testing.assert_allclose(elsewhere.theta, best.theta, atol=1e-6)


def test_exact_refuses_what_is_not_quadratic(judged):
    with pytest.raises(SpecError, match="quadratic"):
        Exact().solve(PairwiseProblem(*judged, SURROGATE))


@pytest.mark.parametrize("solver", [Newton(tolerance=1e-30), LBFGS(tolerance=1e-30)], ids=str)
def test_a_tolerance_below_rounding_is_not_claimed(judged, solver):
    fit = solver.solve(PairwiseProblem(*judged, SURROGATE, 1e-2))
    assert not fit.converged
    assert 0 < fit.optimality < 1e-6


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_separable_judgments_without_a_penalty(solver):
    # Item 0 always wins: the infimum is at infinity, the gradient falls below any tolerance.
    comparisons = Comparisons(np.array([0, 3]), np.zeros(3, np.int32), np.array([1, 1, 2], np.int32), np.ones(3))
    fit = solver.solve(PairwiseProblem(np.diag([2.0, 1.0, 1.0]), np.array([0, 3]), comparisons, SURROGATE))
    assert np.isfinite(fit.theta).all()
    assert fit.converged == (fit.optimality <= 1e-8)
    assert fit.theta[0] > 3


@pytest.mark.parametrize("solver", [*SOLVERS, Exact()], ids=str)
def test_numbers_that_are_not_finite_are_a_typed_error(solver):
    with pytest.raises(ContenderDiverged, match=solver.name), np.errstate(all="ignore"):
        solver.solve(QuadraticProblem(Gram(np.eye(2)), np.array([1.0, np.nan]), 1.0))


def test_a_far_minimum_needs_the_line_search():
    # Steep walls that a full Newton step overshoots: sqrt(1 + t^2) from far away.
    class Valley:
        dimension = 1

        def value_and_gradient(self, theta):
            off = theta - 7.0
            root = np.sqrt(1 + off**2)
            return float(root[0]), off / root

        def hessian(self, theta):
            return np.diag((1 + (theta - 7.0) ** 2) ** -1.5)

    fit = Newton().solve(Valley())
    assert fit.converged
    assert fit.theta[0] == pytest.approx(7.0)


class SmoothHinge(PairwiseSurrogate):
    """The hinge with its corner rounded off between 1 - width and 1: straight at theta = 0."""

    name: ClassVar[str] = "smooth-hinge"
    source: ClassVar[str] = "S. Shalev-Shwartz and T. Zhang 2013, section 2"
    properties: ClassVar[frozenset[Property]] = frozenset({"convex", "smooth"})
    width: float = 0.5

    def phi(self, margin):
        below = np.clip(1 - margin, 0, None)
        return np.where(below < self.width, below**2 / (2 * self.width), below - self.width / 2)

    def dphi(self, margin):
        return -np.clip((1 - margin) / self.width, 0, 1)

    def ddphi(self, margin):
        return np.where((margin > 1 - self.width) & (margin < 1), 1 / self.width, 0.0)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_newton_leaves_a_start_without_curvature(judged, size, l2):
    """Every second derivative of phi is 0 at theta = 0; a peer starts where they are not."""
    x, offsets, comparisons = judged
    problem = PairwiseProblem(x * size, offsets, comparisons, SmoothHinge(), l2)
    assert not (problem.hessian(np.zeros(problem.dimension)) - l2 * np.eye(problem.dimension)).any()
    fit = Newton().solve(problem)
    peer = minimize(problem.value_and_gradient, fit.theta + 0.1 / size, jac=True, method="L-BFGS-B", tol=1e-14)
    assert problem.value_and_gradient(fit.theta)[0] <= peer.fun + 1e-9 * abs(peer.fun)
    assert fit.optimality <= 1e-8 * size
