import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.core.spec import parse
from rankbench.errors import SpecError
from rankbench.interfaces.method import Method, Penalty
from rankbench.optimizers.composite import Composite, Proximal
from rankbench.optimizers.problems import Gram, QuadraticProblem
from rankbench.optimizers.score_problem import PenalizedProblem
from rankbench.plugin.manager import get

PENALTIES = [
    Penalty(),
    Penalty(0.3),
    Penalty(0.0, 0.2),
    Penalty(0.3, 0.2),
    Penalty(radius=0.7),
    Penalty(0.1, 0.2, radius=0.7),
    Penalty(box=0.4),
    Penalty(0.1, 0.2, box=0.4),
]
vectors = st.lists(st.floats(-5, 5), min_size=1, max_size=6).map(np.array)


def feasible(penalty, theta, slack=1e-12):
    return np.linalg.norm(theta) <= penalty.radius * (1 + slack) and np.abs(theta).max() <= penalty.box


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@given(vectors, st.floats(0.01, 10), st.integers(0, 2**32 - 1))
@examples(60)
def test_no_feasible_point_beats_the_proximal_map(penalty, point, size, seed):
    def objective(theta):
        return penalty.value(theta) + np.sum((theta - point) ** 2) / (2 * size)

    best = penalty.prox(point, size)
    assert feasible(penalty, best)
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 0.1, 1.0):
        other = best + scale * rng.normal(size=len(point))
        other = np.clip(other, -penalty.box, penalty.box)
        other = other * min(1.0, penalty.radius / max(np.linalg.norm(other), 1e-300))
        assert objective(best) <= objective(other) + 1e-9


def test_the_ball_holds_however_large_the_point():
    np.testing.assert_allclose(Penalty(radius=1.0).prox(np.array([3e200, -4e200]), 1.0), [0.6, -0.8])
    np.testing.assert_array_equal(Penalty(radius=1.0).prox(np.zeros(3), 1.0), np.zeros(3))


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_numbers_that_are_not_numbers_stay_so(penalty):
    optimizer = Composite(c=0.3)
    gradient = np.array([[1.0, np.nan, 2.0]])
    theta = np.zeros((1, 3))
    kernel = optimizer.kernel(penalty)
    kernel.function(theta, gradient, 1, kernel.params[None].copy(), np.zeros((1, 0)))
    assert np.isnan(theta[0, 1])
    assert np.isnan(optimizer.step(np.zeros(3), gradient[0], 1, penalty, np.zeros(0))[1])


def least_squares(seed=3, n=40, d=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, x @ np.array([1.0, -0.5, 0.0, 0.0, 0.3, 0.0]) + 0.3 * rng.normal(size=n)


def off_the_conditions(penalty, theta, gradient):
    """Return by how much the conditions of a minimum are missed, whose risk with the l2 penalty has this gradient.

    Where nothing holds theta back, the gradient is -l1 sign(theta), or within l1 where theta is 0; at a bound of
    the box it may point further out; on the ball it points straight out.
    """
    if penalty.radius < math.inf:
        assert np.linalg.norm(theta) <= penalty.radius * (1 + 1e-12)
        out = (
            max(0.0, -(gradient @ theta) / (theta @ theta)) if np.linalg.norm(theta) > 0.999999 * penalty.radius else 0
        )
        return np.abs(gradient + out * theta).max()
    slack = np.where(theta == 0, np.maximum(np.abs(gradient) - penalty.l1, 0), gradient + penalty.l1 * np.sign(theta))
    at = np.abs(theta) >= penalty.box
    return np.abs(np.where(at, np.maximum(slack * np.sign(theta), 0), slack)).max()


SOLVED = pytest.mark.parametrize(
    "penalty",
    [Penalty(0.1), Penalty(0.0, 0.2), Penalty(0.1, 0.2), Penalty(0.1, radius=0.5), Penalty(0.1, box=0.3)],
    ids=str,
)


@SOLVED
def test_the_solver_ends_where_the_conditions_of_a_minimum_hold(penalty):
    x, y = least_squares()
    problem = QuadraticProblem(Gram(x.T @ x / len(y)), x.T @ y / len(y), penalty.l2)
    fit = Proximal().solve(PenalizedProblem(problem, penalty.rest))
    assert fit.converged
    gradient = x.T @ (x @ fit.theta - y) / len(y) + penalty.l2 * fit.theta
    assert off_the_conditions(penalty, fit.theta, gradient) < 1e-7
    assert fit.optimality == penalty.optimality(fit.theta, problem.value_and_gradient(fit.theta)[1])


@pytest.mark.parametrize("condition", [1e2, 1e5])
def test_the_solver_converges_on_badly_conditioned_risks(condition):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    gram = Gram(basis * np.geomspace(1 / condition, 1, 30) @ basis.T)
    penalty = Penalty(0.0, 0.03)
    problem = QuadraticProblem(gram, 0.05 * rng.normal(size=30))
    fit = Proximal().solve(PenalizedProblem(problem, penalty))
    assert fit.converged
    assert 0 < np.count_nonzero(fit.theta) < 30
    assert off_the_conditions(penalty, fit.theta, problem.value_and_gradient(fit.theta)[1]) < 2e-8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("erm:l1=0.1", "exact.*l1.*proximal"),
        ("erm:radius=1,optimizer=newton", "newton.*radius"),
        ("erm:radius=1,box=1,optimizer=composite", "exclude"),
        ("erm:l1=-1,optimizer=composite", "l1"),
        ("erm:box=0,optimizer=composite", "box"),
    ],
)
def test_penalties_that_cannot_be_are_refused_when_planned(text, said):
    with pytest.raises(SpecError, match=said):
        get(Method, text)


def test_grammar_and_canonical_form():
    method = get(Method, "erm:l1=0.1,radius=2,lambda=0,optimizer=composite(averaging=tail,tail=0.25)")
    assert method.penalty == Penalty(0.0, 0.1, radius=2.0)
    assert get(Method, str(method)) == method


@pytest.mark.parametrize(
    ("text", "steps", "left_out"),
    [
        ("composite", 10, 0),
        ("composite:averaging=off", 10, 9),
        ("composite:averaging=tail", 11, 5),
        ("composite:averaging=tail,tail=0.01", 10, 9),
        ("composite:averaging=tail,tail=1", 10, 0),
    ],
)
def test_what_the_average_leaves_out(text, steps, left_out):
    assert Composite.from_spec(parse(text)).unaveraged(steps) == left_out
