"""Elimination of items of few opponents: the numbers of dense matrices, without the matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood import covariance, elimination, laplacian_system
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_clusters, count_pairs

FIRTH = BradleyTerry(penalty="firth")


@pytest.fixture(scope="module", autouse=True)
def few_are_many():
    """Items of more than three neighbors are the core, and six items are many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MOST_NEIGHBORS", 3)
        patch.setattr(laplacian_system, "DENSE_INVERSE", 5)
        patch.setattr("rankbench.aggregators.likelihood.davidson_firth.DENSE_INVERSE", 5)
        yield


def sparse(seed: int, m: int, n: int, ties: float = 0.0) -> PairCounts:
    """Return votes on pairs of near items, and on some others: several components, leaves and a core."""
    rng = np.random.default_rng([seed, m, n])
    a = (m * rng.random(n) ** 2).astype(int)
    b = (a + rng.integers(1, np.where(rng.random(n) < 0.7, 4, m))) % m
    won = rng.random(n) < 1 / (1 + np.exp(0.2 * (a - b)))
    return count_pairs(np.where(won, a, b), np.where(won, b, a), ties=rng.random(n) < ties, m=m)


def laplacian(counts: PairCounts, edge: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.zeros((counts.m, counts.m))
    matrix[counts.low, counts.high] = matrix[counts.high, counts.low] = -edge
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


@given(st.integers(0, 10**6), st.integers(7, 40), st.integers(1, 120), st.sampled_from([0.0, 0.3]))
def test_resistances_and_solutions_are_those_of_the_dense_matrix(seed: int, m: int, n: int, ridge: float) -> None:
    counts = sparse(seed, m, n)
    edge = np.random.default_rng(seed).lognormal(0, 3, len(counts))
    graph = Laplacian(counts.starts, counts.high, ridge, counts.connected)
    inverse = np.linalg.pinv(laplacian(counts, edge) + ridge * np.eye(m), rcond=1e-14, hermitian=True)
    own = np.diag(inverse)
    expected = own[counts.low] + own[counts.high] - 2 * inverse[counts.low, counts.high]
    np.testing.assert_allclose(graph.resistances(edge), expected, rtol=1e-6)
    sides = graph.balanced(np.random.default_rng(seed).normal(size=(3, m)))
    np.testing.assert_allclose(
        graph._eliminating(edge)(sides), sides @ inverse, rtol=1e-6, atol=1e-8 * np.abs(inverse).max()
    )


def test_elimination_takes_no_time_that_grows_with_the_square_of_a_star_or_a_chain() -> None:
    """A hundred thousand leaves, or links: a matrix, or a scan of the center for each leaf, would not end."""
    m = 100_000
    leaves = np.arange(1, m)
    for other in (np.zeros(m - 1, np.int64), leaves - 1):
        counts = count_pairs(leaves, other, m=m)
        graph = Laplacian(counts.starts, counts.high, 0.0, counts.connected)
        np.testing.assert_allclose(graph.resistances(np.full(m - 1, 0.25)), 4.0)


@pytest.mark.parametrize("davidson", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_firths_scores_are_those_of_dense_inverses(seed: int, davidson: bool) -> None:
    counts = sparse(seed, 60, 150, ties=0.3 * davidson)
    method = Davidson(penalty="firth") if davidson else FIRTH
    found = method.from_counts(counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplacian_system, "DENSE_INVERSE", 500)
        patch.setattr("rankbench.aggregators.likelihood.davidson_firth.DENSE_INVERSE", 500)
        np.testing.assert_allclose(found, method.from_counts(counts), atol=1e-5)


@pytest.mark.full
def test_a_core_of_estimates_moves_scores_by_little() -> None:
    """The one change of method: ranks before and after it correlate by .99 at least."""
    counts = sparse(3, 300, 3000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MOST_NEIGHBORS", 20)
        exact = FIRTH.from_counts(counts)
        patch.setattr(laplacian_system, "MOST_DENSE", 5)
        found = FIRTH.from_counts(counts)
    assert (found != exact).any()
    places = np.argsort(np.argsort([found, exact], axis=1), axis=1)
    assert np.corrcoef(places)[0, 1] > 0.99
    assert counts.connected.sizes.tolist() == FIRTH.scales(counts).sizes.tolist()


@pytest.mark.parametrize("method", [FIRTH, BradleyTerry(), BradleyTerry(penalty="none")])
def test_drawn_errors_have_the_covariance_of_the_sandwich(
    method: BradleyTerry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2048 draws a variance has a standard error of 3%."""
    monkeypatch.setattr(covariance, "DRAWS", 2048)
    monkeypatch.setattr(laplacian_system, "DENSE_SYSTEM", 5)
    counts = sparse(4, 40, 400)
    scores = method.from_counts(counts)
    expected = np.diag(method.covariance(counts, scores, None))
    drawn = np.concatenate(list(method.error_draws(counts, scores, None, 1)))
    known = expected > 1e-12
    assert np.abs((drawn**2).mean(axis=0)[known] / expected[known] - 1).max() < 5 * np.sqrt(2 / 2048)
    assert (drawn[:, ~known] == 0).all()


def test_drawn_errors_of_clusters_have_their_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty judges of fifty votes each: what each pulls on the fit is small, and so is its correction."""
    monkeypatch.setattr(covariance, "DRAWS", 2048)
    rng = np.random.default_rng(5)
    a = rng.integers(12, size=2000)
    b = (a + rng.integers(1, 12, size=2000)) % 12
    won, judge = rng.random(2000) < 1 / (1 + np.exp(0.2 * (a - b))), rng.integers(40, size=2000)
    data = count_clusters(np.where(won, a, b), np.where(won, b, a), judge, m=12)
    scores = FIRTH.from_counts(data.counts)
    expected = np.diag(FIRTH.covariance(data.counts, scores, data))
    drawn = np.concatenate(list(FIRTH.error_draws(data.counts, scores, data, 1)))
    np.testing.assert_allclose(drawn.var(axis=0), expected, rtol=0.25)
