"""The variance between categories and what is predicted with it, against dense matrices of the whole model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import block_diag, null_space
from scipy.stats import multivariate_normal

from rankbench.stats.random_effects import CategoryEstimates, Shrinkage

M = 5


def centered(matrix: NDArray[np.float64], scales: NDArray[np.int64]) -> NDArray[np.float64]:
    same = (scales[:, None] == scales).astype(float)
    project = np.eye(len(scales)) - same / same.sum(axis=1)
    return project @ matrix @ project


def model(seed: int, *, joint: bool = False) -> Shrinkage:
    """Return estimates of four categories of some of five items; one is in two parts."""
    rng = np.random.default_rng(seed)
    parts = [(range(5), [0] * 5), ((0, 1, 3, 4), [0, 0, 1, 1]), ((1, 2, 4), [0] * 3), ((0, 2, 3), [0] * 3)]
    categories, roots = [], []
    for items, scales in parts:
        own = np.array(scales, dtype=np.int64)
        root = rng.normal(size=(len(own), len(own) + 2)) * rng.uniform(0.2, 0.6)
        roots.append(root)
        scores = centered(np.eye(len(own)), own) @ rng.normal(size=len(own)) * 1.5
        noise = centered(root @ root.T, own)
        categories.append(CategoryEstimates(np.array(list(items), dtype=np.int64), scores, noise, own))
    errors = [centered(one.noise + 0.05 * np.eye(len(one.items)), one.scales) for one in categories]
    whole = None
    if joint:
        draws = rng.normal(size=(sum(len(one.items) for one in categories), 20)) / 8
        project = block_diag(*(centered(np.eye(len(one.items)), one.scales) for one in categories))
        whole = block_diag(*errors) + project @ draws @ draws.T @ project
        ends = np.cumsum([0, *(len(one.items) for one in categories)])
        errors = [whole[a:b, a:b] for a, b in itertools.pairwise(ends)]
    return Shrinkage(categories, M, errors, whole)


def dense(found: Shrinkage) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the estimates, the design of the common scores, and that of what no estimate knows: the scales' levels."""
    said = np.concatenate([one.scores for one in found.categories])
    common = np.concatenate([np.eye(M)[one.items] for one in found.categories])
    levels = block_diag(*((one.scales[:, None] == np.unique(one.scales)).astype(float) for one in found.categories))
    return said, common, levels


@examples(20)
@given(seed=st.integers(0, 10_000), variances=st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 3.0)))
def test_the_restricted_likelihood_is_that_of_error_contrasts(seed: int, variances: tuple[float, float]) -> None:
    found = model(seed)
    said, common, levels = dense(found)
    contrasts = null_space(np.hstack([common, levels]).T)
    noise = block_diag(*(one.noise for one in found.categories))
    assert found.freedom == contrasts.shape[1]

    def naive(variance: float) -> float:
        covariance = contrasts.T @ (noise + variance * np.eye(len(said))) @ contrasts
        return float(multivariate_normal.logpdf(contrasts.T @ said, cov=covariance, allow_singular=False))

    first, second = variances
    expected = naive(first) - naive(second)
    np.testing.assert_allclose(
        found.log_likelihood(first) - found.log_likelihood(second), expected, rtol=1e-6, atol=1e-7
    )


def test_the_estimate_is_the_maximum_and_its_interval_the_likelihoods() -> None:
    found = model(3)
    variance = found.variance
    grid = np.linspace(0, 5, 2001)
    heights = np.array([found.log_likelihood(value) for value in grid])
    assert found.log_likelihood(variance.variance) >= heights.max() - 1e-9
    inside = grid[heights >= heights.max() - 1.920729]
    assert variance.lower <= inside[0] + 1e-3
    assert abs(min(variance.upper, 5.0) - inside[-1]) < 5e-3
    assert 0 <= variance.lower <= variance.variance <= variance.upper


@pytest.mark.parametrize(("category", "joint"), part_of(itertools.product(range(4), [False, True]), 7))
def test_predictions_are_the_best_linear_ones(category: int, joint: bool) -> None:
    """With levels as further unknowns, by normal equations of the dense model; averaged over many more variances."""
    found = model(11, joint=joint)
    said, common, levels = dense(found)
    noise = block_diag(*(one.noise for one in found.categories))
    errors = block_diag(*found.errors) if found.joint is None else found.joint
    ends = np.cumsum([0, *(len(one.items) for one in found.categories)])
    deviations = np.zeros((len(said), 4 * M))
    for c, one in enumerate(found.categories):
        deviations[np.arange(ends[c], ends[c + 1]), c * M + one.items] = 1
    wanted = np.hstack([float(c == category) * np.eye(M) for c in range(4)])
    center = np.eye(M) - 1 / M

    def naive(variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        inverse = np.linalg.pinv(levels_free @ (noise + variance * np.eye(len(said))) @ levels_free)
        information = np.linalg.pinv(common.T @ inverse @ common)
        gls = information @ common.T @ inverse
        gain = variance * wanted @ deviations.T @ inverse
        operator = gls + gain @ (np.eye(len(said)) - common @ gls)
        missed = operator @ deviations - wanted
        return operator @ said, operator @ errors @ operator.T + variance * missed @ missed.T

    levels_free = np.eye(len(said)) - levels @ np.linalg.pinv(levels)
    shares_of = (np.arange(4000) + 0.5) / 4000
    values = found.unit * shares_of / (1 - shares_of)
    logs = np.array([found.log_likelihood(value) for value in values]) - np.log1p(-shares_of)
    chances = np.exp(logs - logs.max())
    some = np.flatnonzero(chances > 1e-5)[::4]
    chances = chances[some] / chances[some].sum()
    means, covariances = (np.stack(part) for part in zip(*(naive(values[at]) for at in some), strict=True))
    mean = chances @ means
    covariance = np.tensordot(chances, covariances, 1) + ((means - mean).T * chances) @ (means - mean)
    predicted = found.predicted(category)
    np.testing.assert_allclose(center @ predicted.scores, center @ mean, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(
        center @ predicted.covariance @ center, center @ covariance @ center, rtol=5e-3, atol=5e-3 * covariance.max()
    )


def test_one_variance_gives_the_same_to_the_last_digits() -> None:
    """Equal categories without noise between them: predictions are all the common scores."""
    rng = np.random.default_rng(0)
    scores, noise = centered(np.eye(M), np.zeros(M)) @ rng.normal(size=M), centered(np.eye(M) * 0.01, np.zeros(M))
    one = CategoryEstimates(np.arange(M), scores, noise, np.zeros(M, np.int64))
    found = Shrinkage([one] * 30, M, [noise] * 30)
    assert found.variance.variance == 0.0
    np.testing.assert_allclose(found.predicted(7).scores, scores, atol=1e-12)
