import numpy as np
import pytest
from minima import step_to_minimum

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.optimizers.newton import LBFGS, Newton
from rankbench.optimizers.score_problem import ScoreProblem
from rankbench.surrogates.cross_entropy import CrossEntropy, ListNet
from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingERR
from rankbench.surrogates.pairwise import LinearPower
from rankbench.surrogates.regression import Regression

SURROGATES = [
    ListNet(),
    CrossEntropy(),
    *(OrderPreserving(phi=phi) for phi in ("logistic", "exponential", "squared-hinge")),
    OrderPreservingERR(),
    LinearPower(power=3),
    Regression(),
]
OFFSETS = np.array([0, 4, 6, 9, 13])


def formula(surrogate, alpha, target):
    """Values up to a constant, written down again from the papers."""
    margins = alpha[:, None] - alpha[None, :]
    if surrogate.name in ("listnet", "cross-entropy"):
        return -target @ (alpha - np.log(np.exp(alpha).sum()))
    if surrogate.name.startswith("order-preserving"):
        phi = {
            "logistic": np.log1p(np.exp(-margins)),
            "exponential": np.exp(-margins),
            "squared-hinge": np.maximum(1 - margins, 0) ** 2,
        }[surrogate.phi]
        return target @ phi.sum(axis=1)
    if surrogate.name == "linear-power":
        size = np.where(alpha.real < 0, -alpha, alpha)
        return np.mean(size**surrogate.power / surrogate.power - alpha * target)
    return np.mean((alpha - target) ** 2) / 2


def problem(surrogate, l2=0.1, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(13, 3))
    targets = np.concatenate([surrogate.target(s) for s in np.split(rng.normal(size=13), OFFSETS[1:-1])])
    return ScoreProblem(x, OFFSETS, targets, np.array([0.5, 0.0, 0.1, 0.4]), surrogate, l2)


def naive(made, theta):
    alpha, total = made.x @ theta, 0.05 * theta @ theta
    for q, share in enumerate(made.shares):
        part = slice(OFFSETS[q], OFFSETS[q + 1])
        if share:
            total += share * formula(made.surrogate, alpha[part], made.targets[part])
    return total


class Plain(ScoreSurrogate):
    """A softmax cross entropy without kernels or second derivatives."""

    name = "plain"
    source = "test"
    properties = ListNet.properties

    def target(self, scores):
        return ListNet().target(scores)

    def value_and_gradient(self, alpha, target):
        return ListNet().value_and_gradient(alpha, target)


@pytest.mark.parametrize("solver", [LBFGS(), Newton()], ids=str)
@pytest.mark.parametrize("surrogate", SURROGATES, ids=str)
def test_the_minimizer_is_that_of_the_formula(surrogate, solver):
    made = problem(surrogate)
    fit = solver.solve(made)
    assert fit.converged
    assert np.abs(step_to_minimum(lambda theta: naive(made, theta), fit.theta)).max() < 1e-6


def test_interpreted_is_compiled():
    plain, compiled = problem(Plain()), problem(ListNet())
    theta = np.array([0.4, -0.3, 0.8])
    one, other = plain.value_and_gradient(theta), compiled.value_and_gradient(theta)
    assert one[0] == pytest.approx(other[0], rel=1e-13)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-12)
    np.testing.assert_allclose(Newton().solve(plain).theta, Newton().solve(compiled).theta, atol=1e-8)


def test_targets_of_queries_without_a_share_do_not_count():
    made = problem(ListNet())
    other = ScoreProblem(made.x, OFFSETS, made.targets.copy(), made.shares, ListNet(), 0.1)
    other.targets[4:6] = np.nan
    theta = np.array([0.4, -0.3, 0.8])
    for one, two in zip(made.value_and_gradient(theta), other.value_and_gradient(theta), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("surrogate", [ListNet(), OrderPreserving(), Regression()], ids=str)
def test_the_error_of_targets_is_that_of_the_minimizer(surrogate):
    made = problem(surrogate)
    theta = Newton().solve(made).theta
    error = 1e-4 * np.random.default_rng(1).normal(size=13)
    moved = ScoreProblem(made.x, OFFSETS, made.targets + error, made.shares, surrogate, 0.1)
    off, curved = Newton().solve(moved).theta - theta, made.hessian(theta)
    expected = np.sqrt((off @ curved @ off) / (theta @ curved @ theta))
    assert made.relative_error(theta, error) == pytest.approx(expected, rel=2e-3)
    assert made.relative_error(theta, np.zeros(13)) == 0


def test_what_is_not_finite_is_a_typed_error():
    made = problem(ListNet())
    made.targets[0] = np.nan
    with pytest.raises(ContenderDiverged, match="lbfgs"):
        LBFGS().solve(made)


def test_bad_input_is_named():
    made = problem(ListNet())
    with pytest.raises(InputError, match="do not fit 13 items"):
        ScoreProblem(made.x[:-1], OFFSETS, made.targets, made.shares, ListNet())
    with pytest.raises(InputError, match="do not fit 13 items"):
        ScoreProblem(made.x, OFFSETS, made.targets, made.shares[:-1], ListNet())
    with pytest.raises(InputError, match="no judgments"):
        ScoreProblem(made.x, OFFSETS, made.targets, np.zeros(4), ListNet())
