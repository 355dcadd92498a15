import dataclasses

import numpy as np
import pytest

from rankbench.errors import InputError, SpecError
from rankbench.interfaces.queries import Comparisons
from rankbench.optimizers.problems import Gram, PairDifferences, PairwiseProblem, QuadraticProblem
from rankbench.surrogates.pairwise import PairwiseHinge, PairwiseLogistic, PairwiseSquared

SURROGATE = PairwiseLogistic()


def differences(function, theta, step=1e-5):
    return np.array(
        [(function(theta + step * e) - function(theta - step * e)) / (2 * step) for e in np.eye(len(theta))]
    )


def quadratic(l2=0.3, rank=5, d=5, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rank, d))
    return QuadraticProblem(Gram(root.T @ root), root.T @ rng.normal(size=rank), l2, constant=2.0)


@pytest.mark.parametrize("surrogate", [PairwiseSquared(power=0.5), PairwiseLogistic(form="margin", scale=2)], ids=str)
@pytest.mark.parametrize("alike", [False, True])
def test_weights_enter_the_way_the_surrogate_says(judged, surrogate, alike):
    x, offsets, comparisons = judged
    weights = np.full(len(comparisons), 2.0) if alike else comparisons.weights
    comparisons = dataclasses.replace(comparisons, weights=weights)
    shares = np.random.default_rng(0).random(len(comparisons))
    theta = np.random.default_rng(1).normal(size=4)
    base = np.repeat(offsets[:-1], comparisons.counts)
    factors, wanted = surrogate.edges(comparisons.weights)
    t = (x[base + comparisons.winners] - x[base + comparisons.losers]) @ theta - wanted
    for given_shares, each in ((None, np.full(len(t), 1 / len(t))), (shares, shares)):
        problem = PairwiseProblem(x, offsets, comparisons, surrogate, l2=0.2, shares=given_shares)
        value, gradient = problem.value_and_gradient(theta)
        assert value == pytest.approx(each @ (factors * surrogate.phi(t)) + 0.1 * theta @ theta, rel=1e-12)
        np.testing.assert_allclose(
            gradient, differences(lambda f, p=problem: p.value_and_gradient(f)[0], theta), atol=1e-6
        )
        expected = differences(lambda f, p=problem: p.value_and_gradient(f)[1], theta)
        np.testing.assert_allclose(problem.hessian(theta), expected, atol=1e-6)
        distinct = len({*zip(base + comparisons.winners, base + comparisons.losers, wanted, strict=True)})
        assert len(problem.pairs.weights) == (len(t) if len(set(wanted)) > 1 else distinct)


@pytest.mark.parametrize(("pairs", "whole", "by_pairs"), [(9, True, True), (20, False, True), (60, False, False)])
@pytest.mark.parametrize("alike", [True, False])
def test_few_and_many_pairs_have_the_derivatives_of_the_definition(monkeypatch, pairs, whole, by_pairs, alike):
    """Pairs are worked on one by one where they are few, and through their items and queries where they are not."""
    rng = np.random.default_rng(4)
    x, offsets = rng.normal(size=(12, 4)), np.array([0, 6, 12])
    ordered = [(i, j) for i in range(6) for j in range(6) if i != j] * 2
    chosen = np.sort(rng.choice(60, size=pairs, replace=False))
    winners, losers = np.array(ordered, np.int32)[chosen].T
    weights = np.ones(pairs) if alike else rng.uniform(0.5, 2, size=pairs)
    ends = np.array([0, np.sum(chosen < 30), pairs])
    comparisons = Comparisons(ends, winners, losers, weights)
    surrogate = PairwiseLogistic(form="margin", scale=2)
    problem = PairwiseProblem(x, offsets, comparisons, surrogate, l2=0.2)
    used = []
    for name in ("margins", "gram"):
        plain = getattr(PairDifferences, name)
        monkeypatch.setattr(PairDifferences, name, lambda *a, n=name, f=plain: (used.append(n), f(*a))[1])
    theta = rng.normal(size=4)
    value, gradient = problem.value_and_gradient(theta)
    assert used == ["margins"] * whole
    hessian = problem.hessian(theta)
    assert ("gram" in used) == by_pairs
    base = np.repeat(offsets[:-1], comparisons.counts)
    delta = x[base + winners] - x[base + losers]
    factors, wanted = surrogate.edges(weights)
    t, factors = delta @ theta - wanted, factors / pairs
    assert value == pytest.approx(factors @ surrogate.phi(t) + 0.1 * theta @ theta, rel=1e-12)
    np.testing.assert_allclose(gradient, (factors * surrogate.dphi(t)) @ delta + 0.2 * theta, rtol=1e-12, atol=1e-15)
    expected = (delta.T * (factors * surrogate.ddphi(t))) @ delta + 0.2 * np.eye(4)
    np.testing.assert_allclose(hessian, expected, rtol=1e-12, atol=1e-15)


def test_quadratic_value_gradient_and_constant():
    problem = quadratic()
    theta = np.arange(5.0)
    h, b = problem.gram.matrix, problem.b
    value, gradient = problem.value_and_gradient(theta)
    assert value == pytest.approx(0.5 * theta @ h @ theta - b @ theta + 2 + 0.15 * theta @ theta)
    np.testing.assert_allclose(gradient, differences(lambda f: problem.value_and_gradient(f)[0], theta), atol=1e-6)


@pytest.mark.parametrize(("l2", "rank"), [(1e-6, 5), (0.3, 5), (10.0, 5), (0.0, 2)])
def test_quadratic_minimizer_is_that_of_least_norm(l2, rank):
    problem = quadratic(l2, rank)
    expected = np.linalg.pinv(problem.gram.matrix + l2 * np.eye(5)) @ problem.b
    np.testing.assert_allclose(problem.minimizer(), expected, rtol=1e-9, atol=1e-10)
    assert not Gram(np.zeros((3, 3))).solve(np.zeros(3), 0.0).any()


def test_one_eigendecomposition_serves_every_problem(monkeypatch):
    calls = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda m: calls.append(1) or eigh(m))
    gram = Gram(np.diag([1.0, 2.0, 3.0]))
    for l2 in (0.0, 0.1, 1.0):
        np.testing.assert_allclose(gram.solve(np.ones(3), l2), 1 / (np.array([1, 2, 3]) + l2))
    assert calls == [1]


def test_features_may_be_float32_and_comparisons_read_only(judged):
    x, offsets, comparisons = judged
    for array in (comparisons.offsets, comparisons.winners, comparisons.losers, comparisons.weights):
        array.setflags(write=False)
    x32 = x.astype(np.float32)
    theta = np.ones(4)
    value, gradient = PairwiseProblem(x32, offsets, comparisons, SURROGATE).value_and_gradient(theta)
    expected = PairwiseProblem(x32.astype(np.float64), offsets, comparisons, SURROGATE).value_and_gradient(theta)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])


def test_more_pairs_than_are_worked_on_at_a_time():
    rng = np.random.default_rng(4)
    m, n = 300, 60_000
    winners = rng.integers(0, m, size=n).astype(np.int32)
    losers = ((winners + rng.integers(1, m, size=n)) % m).astype(np.int32)
    x, theta = rng.normal(size=(m, 3)), rng.normal(size=3)
    problem = PairwiseProblem(
        x, np.array([0, m]), Comparisons(np.array([0, n]), winners, losers, np.ones(n)), SURROGATE
    )
    assert len(problem.pairs.weights) > 2 * 16384
    value, gradient = problem.value_and_gradient(theta)
    difference = x[winners] - x[losers]
    assert value == pytest.approx(np.mean(np.logaddexp(0, -difference @ theta)), rel=1e-12)
    np.testing.assert_allclose(gradient, -difference.T @ (1 / (1 + np.exp(difference @ theta))) / n, rtol=1e-9)


def test_bad_input_is_named(judged):
    x, offsets, comparisons = judged
    bad = Comparisons(comparisons.offsets, comparisons.winners.copy(), comparisons.losers.copy(), comparisons.weights)
    bad.losers[41] = 2  # query 1 has two items
    with pytest.raises(InputError, match=r"row 42.*query 1 has items 0 to 1"):
        PairwiseProblem(x, offsets, bad, SURROGATE)
    bad.losers[41] = -1
    with pytest.raises(InputError, match=r"row 42"):
        PairwiseProblem(x, offsets, bad, SURROGATE)
    none = Comparisons(np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    with pytest.raises(InputError, match="no comparisons"):
        PairwiseProblem(x, offsets, none, SURROGATE)
    with pytest.raises(InputError, match="features"):
        PairwiseProblem(x[:-1], offsets, comparisons, SURROGATE)
    with pytest.raises(InputError, match="queries"):
        PairwiseProblem(x, offsets[:-1], comparisons, SURROGATE)


def test_what_a_problem_does_not_have(judged):
    with pytest.raises(SpecError, match=r"hinge.*second derivative"):
        PairwiseProblem(*judged, PairwiseHinge()).hessian(np.zeros(4))
