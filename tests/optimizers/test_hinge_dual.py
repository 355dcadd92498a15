"""The hinge solver: its gap by the dual's formula, and the exact minimum of few pairs by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import SpecError
from rankbench.interfaces.method import Method
from rankbench.optimizers import problems as differences_module
from rankbench.optimizers.hinge_dual import HingeDual, HingeRisk
from rankbench.optimizers.problems import PairDifferences, PairwiseProblem
from rankbench.plugin.manager import get
from rankbench.surrogates.pairwise import PairwiseHinge, PairwiseLogistic


def drawn(seed, pairs=400, d=5, items=60):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(items, d))
    tails, heads = (rng.integers(items, size=pairs).astype(np.int32) for _ in range(2))
    swap = (x[tails] - x[heads]) @ np.arange(1, d + 1) + 3 * rng.normal(size=pairs) < 0
    tails[swap], heads[swap] = heads[swap], tails[swap]
    return PairDifferences(x, tails, heads), rng.uniform(0.1, 3, size=pairs) / pairs


def dual(differences, shares, wanted, beta, l2):
    """Return the dual objective of 0 <= beta <= shares, which no theta is below."""
    pull = differences.combine(beta)
    return beta @ wanted - pull @ pull / (2 * l2)


def bound(differences, shares, wanted, theta, l2):
    """Return a bound of the minimum: the best dual objective of points that belong to a theta.

    A pair that falls short has its share and one that does not has nothing; those at the kink are what is left of
    ``l2 theta``. Which ones are at the kink is tried: every feasible point is a bound.
    """
    rows, short = differences.rows(slice(None)), wanted - differences.margins(theta)
    found = 0.0
    for near in np.geomspace(1e-12, 1e-2, 100):
        kink = np.abs(short) <= near
        beta = np.where(short > near, shares, 0.0)
        inner = np.linalg.lstsq(rows[kink].T, l2 * theta - beta @ rows, rcond=None)[0]
        beta[kink] = np.clip(inner, 0, shares[kink])
        found = max(found, dual(differences, shares, wanted, beta, l2))
    return found


def objectives(differences, shares, wanted, theta, l2):
    loss = shares @ np.maximum(wanted - differences.margins(theta), 0)
    return loss + l2 / 2 * theta @ theta


def least(differences, shares, wanted, l2):
    """Return the minimum, exactly: of every choice of pairs whose dual variable is 0, at its bound, or between."""
    rows = differences.rows(slice(None))
    gram = rows @ rows.T / l2
    found = 0.0
    for where in product((0, 1, 2), repeat=len(shares)):
        beta, free = np.where(np.array(where) == 1, shares, 0.0), np.array(where) == 2
        if free.any():
            inner = np.linalg.lstsq(gram[np.ix_(free, free)], (wanted - gram @ beta)[free], rcond=None)[0]
            beta[free] = np.clip(inner, 0, shares[free])  # feasible, and the solution where it is inside
        found = max(found, dual(differences, shares, wanted, beta, l2))
    return found


@examples(15)
@given(seed=st.integers(0, 10**6), l2=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_gap_bounds_the_distance_to_the_exact_minimum(seed, l2):
    differences, shares = drawn(seed, pairs=6, d=3, items=5)
    wanted = 1 + np.random.default_rng(seed).uniform(0, 2, size=6)
    fit = HingeRisk(differences, shares, wanted - 1).path([l2], 1e-6, 1000)[0]
    primal = objectives(differences, shares, wanted, fit.theta, l2)
    minimum = least(differences, shares, wanted, l2)
    assert fit.converged
    assert fit.optimality <= 1e-6
    assert minimum - 1e-12 <= primal <= minimum + fit.optimality + 1e-12


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
        wanted = 1 + problem.offsets * np.ones(len(problem.shares))
        assert fit.converged
        assert value <= bound(problem.differences, problem.shares, wanted, fit.theta, 0.05) + 1e-8


def test_rows_form_equals_dense_form(monkeypatch):
    dense, shares = drawn(5)
    monkeypatch.setattr(differences_module, "DENSE", 0)
    sparse = PairDifferences(dense.x, dense.tails, dense.heads)
    assert dense.whole is not None
    assert sparse.whole is None
    theta = np.arange(5.0)
    np.testing.assert_allclose(sparse.margins(theta), dense.margins(theta), atol=1e-12)
    np.testing.assert_allclose(sparse.combine(shares), dense.combine(shares), atol=1e-12)
    monkeypatch.setattr(differences_module, "PAIRS_AT_ONCE", 7)
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
