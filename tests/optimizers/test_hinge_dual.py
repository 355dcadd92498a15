"""The hinge solver against scikit-learn and a quadratic program, and its gap against both objectives."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize
from sklearn.svm import LinearSVC

import rankbench.optimizers.pair_differences as differences_module
from rankbench import get
from rankbench.errors import SpecError
from rankbench.kinds.method import Method
from rankbench.optimizers.hinge_dual import HingeDual, HingeRisk
from rankbench.optimizers.pair_differences import PairDifferences
from rankbench.optimizers.problems import PairwiseProblem
from rankbench.surrogates.pairwise import PairwiseHinge, PairwiseLogistic


def drawn(seed, pairs=400, d=5, items=60):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(items, d))
    tails, heads = (rng.integers(items, size=pairs).astype(np.int32) for _ in range(2))
    swap = (x[tails] - x[heads]) @ np.arange(1, d + 1) + 3 * rng.normal(size=pairs) < 0
    tails[swap], heads[swap] = heads[swap], tails[swap]
    return PairDifferences(x, tails, heads), rng.uniform(0.1, 3, size=pairs) / pairs


@pytest.mark.parametrize("l2", [1e-3, 0.1, 30.0])
def test_equals_linear_svc(l2):
    differences, shares = drawn(1)
    fit = HingeRisk(differences, shares).path([l2], 1e-9, 1000)[0]
    assert fit.converged
    rows = differences.rows(slice(None))
    # Mirrored, so that scikit-learn sees two classes; without intercept that doubles the risk.
    both, signs = np.concatenate([rows, -rows]), np.repeat([1, -1], len(rows))
    svc = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    svc.fit(both, signs, sample_weight=np.tile(shares, 2) / (2 * l2))
    np.testing.assert_allclose(fit.theta, svc.coef_[0], atol=2e-3 * np.abs(svc.coef_).max())


def objectives(differences, shares, wanted, theta, l2):
    loss = shares @ np.maximum(wanted - differences.margins(theta), 0)
    return loss + l2 / 2 * theta @ theta


@examples(15)
@given(seed=st.integers(0, 10**6), l2=st.sampled_from([1e-4, 1e-2, 1.0]))
@example(seed=540, l2=1.0)
@example(seed=365572, l2=1e-4)
def test_gap_bounds_the_minimum_of_the_dual_program(seed, l2):
    differences, shares = drawn(seed, pairs=40, d=3, items=12)
    offsets = np.random.default_rng(seed).uniform(0, 2, size=40)
    fit = HingeRisk(differences, shares, offsets).path([l2], 1e-6, 1000)[0]
    rows = differences.rows(slice(None))

    # As bounded least squares, with a small ridge: the point need not be the best one, any bounds the minimum.
    ridge = 1e-5
    stacked = np.vstack([rows.T / np.sqrt(l2), np.sqrt(ridge) * np.eye(40)])
    wanted = np.concatenate([np.zeros(3), (1 + offsets) / np.sqrt(ridge)])
    beta = np.clip(lsq_linear(stacked, wanted, (0, shares), method="bvls", tol=1e-15, max_iter=1000).x, 0, shares)
    pull = beta @ rows
    dual = beta @ (1 + offsets) - pull @ pull / (2 * l2)
    primal = objectives(differences, shares, 1 + offsets, fit.theta, l2)
    assert fit.converged
    assert fit.optimality <= 1e-6
    # The dual never exceeds the minimum, which the fit is within its gap of.
    assert dual <= primal + 1e-12
    assert primal <= dual + fit.optimality + 1e-8


def test_path_equals_solving_alone():
    differences, shares = drawn(3)
    l2s = [10.0, 1.0, 0.1, 1e-2]
    along = HingeRisk(differences, shares).path(l2s, 1e-9, 1000)
    for l2, fit in zip(l2s, along, strict=True):
        alone = HingeRisk(differences, shares).path([l2], 1e-9, 1000)[0]
        np.testing.assert_allclose(fit.theta, alone.theta, atol=3 * np.sqrt(2e-9 / l2))


def test_stops_at_the_budget_and_says_so():
    differences, shares = drawn(4)
    fit = HingeRisk(differences, shares).path([1e-3], 1e-9, 2)[0]
    assert not fit.converged
    assert fit.optimality > 1e-9
    assert fit.iterations == 2
    exact = HingeRisk(differences, shares).path([1e-3], 1e-10, 1000)[0]
    value = [objectives(differences, shares, np.ones(400), f.theta, 1e-3) for f in (fit, exact)]
    assert 0 <= value[0] - value[1] <= fit.optimality + 1e-10


def test_solver_respects_weights_and_margins(judged):
    x, offsets, comparisons = judged
    for surrogate in (PairwiseHinge(), PairwiseHinge(form="margin", scale=0.7), PairwiseHinge(power=0)):
        problem = PairwiseProblem(x, offsets, comparisons, surrogate, l2=0.05)
        fit = HingeDual(tolerance=1e-9).solve(problem)
        value = problem.value_and_gradient(fit.theta)[0]
        best = min(
            minimize(lambda t, p=problem: p.value_and_gradient(t)[0], start, method="Nelder-Mead",
                     options={"maxiter": 20000, "maxfev": 20000, "xatol": 1e-9, "fatol": 1e-12}).fun
            for start in (fit.theta, np.zeros(4))
        )  # fmt: skip
        assert fit.converged
        assert value <= best + 1e-8


def test_rows_form_equals_dense_form(monkeypatch):
    dense, shares = drawn(5)
    monkeypatch.setattr(differences_module, "DENSE", 0)
    sparse = PairDifferences(dense.x, dense.tails, dense.heads)
    assert dense.whole is not None
    assert sparse.whole is None
    theta = np.arange(5.0)
    np.testing.assert_allclose(sparse.margins(theta), dense.margins(theta), atol=1e-12)
    np.testing.assert_allclose(sparse.combine(shares), dense.combine(shares), atol=1e-12)
    monkeypatch.setattr(differences_module, "CHUNK", 7)
    chosen = np.arange(3, 60, 2)
    naive = sum(c * np.outer(r, r) for c, r in zip(shares[chosen], dense.rows(chosen), strict=True))
    np.testing.assert_allclose(sparse.gram(shares[chosen], chosen), naive, atol=1e-12)
    np.testing.assert_allclose(sparse.gram(shares), dense.gram(shares), atol=1e-12)


def test_refuses_what_has_no_dual(judged):
    x, offsets, comparisons = judged
    with pytest.raises(SpecError, match="pairwise-hinge"):
        HingeDual().solve(PairwiseProblem(x, offsets, comparisons, PairwiseLogistic(), l2=1.0))
    with pytest.raises(SpecError, match="lambda > 0"):
        HingeDual().solve(PairwiseProblem(x, offsets, comparisons, PairwiseHinge(), l2=0.0))
    with pytest.raises(SpecError, match="needs a hinge surrogate"):
        get(Method, "erm:aggregator=average-adjacency,surrogate=pairwise-logistic,optimizer=hinge-dual,k=1")
    assert get(Method, "erm:aggregator=average-adjacency,surrogate=pairwise-hinge,optimizer=hinge-dual,k=1")
