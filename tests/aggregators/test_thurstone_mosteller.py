"""Least-squares scores (22) of matrices of preferences, against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from aggregator_samples import compiled, least_squares_scores, matrix, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm

import rankbench
from rankbench.aggregators.log_odds import PairMatrix, ThurstoneMosteller
from rankbench.aggregators.rates import Budgeted, NetWeights
from rankbench.errors import SpecError


@given(sample=samples())
@examples(50)
def test_aggregates_smoothed_log_odds(sample):
    w = matrix(*sample)
    mask = (w + w.T) > 0
    expected = least_squares_scores(np.log((w + 0.2) / (w.T + 0.2)), mask)
    scores = compiled(ThurstoneMosteller(smoothing=0.2), *sample)
    assert scores == pytest.approx(expected, abs=1e-9)
    assert ThurstoneMosteller(smoothing=0.2).aggregate(*sample) == pytest.approx(expected, abs=1e-9)
    _, component = connected_components(mask, directed=False)
    assert np.abs(np.bincount(component, scores)).max() < 1e-9


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_path_is_solved_exactly(reverse):
    # The worst-conditioned graph: scores are partial sums of the log-odds along the path.
    m = 150
    rng = np.random.default_rng(3)
    items = rng.permutation(m) if reverse else np.arange(m)
    weights = rng.uniform(0.5, 20, size=m - 1)
    steps = np.log((weights + 0.5) / 0.5)
    expected = np.concatenate([[0.0], -np.cumsum(steps)])
    scores = compiled(ThurstoneMosteller(), items[:-1].astype(np.int32), items[1:].astype(np.int32), weights, m)
    assert scores[items] == pytest.approx(expected - expected.mean(), rel=1e-9, abs=1e-9)


def preferences(kind: PairMatrix, w: np.ndarray, c: float, k: int) -> np.ndarray:
    """Return the whole matrix A from the weights, shape (m, m)."""
    share = (w + c) / (w + w.T + 2 * c)
    forms = {"log-odds": np.log(share / share.T), "shares": share - share.T, "probit": norm.ppf(share)}
    return forms.get(kind, (w - w.T) / k)


KINDS = ["log-odds", "shares", "probit", "margins"]


@pytest.mark.parametrize("kind", KINDS)
@given(sample=samples())
@examples(40)
def test_every_matrix_has_its_least_squares_scores(kind: PairMatrix, sample) -> None:
    w = matrix(*sample)
    given_matrix = preferences(kind, w, 0.5, len(sample[0]))
    assert np.allclose(given_matrix, -given_matrix.T, atol=1e-9)
    expected = least_squares_scores(given_matrix, w + w.T > 0)
    scores = ThurstoneMosteller(matrix=kind).aggregate(*sample)
    assert scores == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_as_printed_is_least(kind: PairMatrix) -> None:
    """The first form of (22), minimized by SciPy; the second prints the scores with the other sign."""
    rng = np.random.default_rng(2)
    m, k = 6, 60
    winners = rng.integers(m, size=k).astype(np.int32)
    losers = ((winners + rng.integers(1, m, size=k)) % m).astype(np.int32)
    w = matrix(winners, losers, np.ones(k), m)
    given_matrix, mask = preferences(kind, w, 0.5, k), w + w.T > 0

    def first(x: np.ndarray) -> float:
        return 0.25 * float((mask * (given_matrix - (x[:, None] - x[None, :])) ** 2).sum())

    def second(x: np.ndarray) -> float:
        ones = np.ones(m)
        return 0.25 * float((mask * (given_matrix - (np.outer(ones, x) - np.outer(x, ones))) ** 2).sum())

    scores = ThurstoneMosteller(matrix=kind).aggregate(winners, losers, np.ones(k), m)
    assert first(scores) <= minimize(first, np.zeros(m), tol=1e-12).fun + 1e-9
    assert first(scores) == pytest.approx(second(-scores))
    assert second(scores) > first(scores)


def complete(seed: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return judgments of random weights of all pairs, each in both directions."""
    rng = np.random.default_rng(seed)
    winners, losers = np.argwhere(~np.eye(m, dtype=bool)).T.astype(np.int32)
    return winners, losers, rng.uniform(0.1, 20, len(winners))


@pytest.mark.parametrize("kind", KINDS)
@given(m=st.integers(2, 9), seed=st.integers(0, 2**31), other=st.integers(0, 2**31))
@examples(40)
def test_scores_are_lipschitz_where_all_pairs_are_observed(kind: PairMatrix, m: int, seed: int, other: int) -> None:
    """Section 5.1: squared distances of scores are at most those of matrices, in the spectral norm, over m."""
    logs = [complete(seed, m), complete(other, m)]
    first, second = (preferences(kind, matrix(*log, m), 0.5, len(log[0])) for log in logs)
    scores = [ThurstoneMosteller(matrix=kind).aggregate(*log, m) for log in logs]
    assert scores[0] == pytest.approx(first.sum(axis=1) / m, rel=1e-7, abs=1e-9)
    apart = ((scores[0] - scores[1]) ** 2).sum()
    assert apart <= np.linalg.norm(first - second, 2) ** 2 / m + 1e-9


@given(m=st.integers(2, 7), seed=st.integers(0, 2**31))
@examples(30)
def test_they_are_net_weights_and_budgeted_scores_of_all_pairs(m: int, seed: int) -> None:
    log = complete(seed, m)
    assert m * ThurstoneMosteller(matrix="margins").aggregate(*log, m) == pytest.approx(NetWeights().aggregate(*log, m))
    shares = ThurstoneMosteller(matrix="shares", smoothing=1e-12).aggregate(*log, m)
    assert shares == pytest.approx(Budgeted().aggregate(*log, m) * 2 * (m - 1) / m, abs=1e-9)


def test_margins_take_no_smoothing() -> None:
    with pytest.raises(SpecError, match="smoothing goes with log-odds, shares, probit; margins take none"):
        rankbench.get(rankbench.Aggregator, "thurstone-mosteller:matrix=margins,smoothing=1")
    assert (
        rankbench.get(rankbench.Aggregator, "thurstone-mosteller:matrix=probit").score_unit() == "standard deviations"
    )
