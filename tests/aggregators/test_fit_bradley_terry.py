"""Bradley-Terry on counts against choix, its gradient and the aggregator."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.likelihood import laplacian_system
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.ranking.count import count_pairs


def simulated(seed: int, n: int, m: int, spread: float = 1.0) -> PairCounts:
    rng = np.random.default_rng(seed)
    truth = spread * rng.normal(size=m)
    a = rng.integers(0, m, n)
    b = (a + rng.integers(1, m, n)) % m
    first = rng.random(n) < 1 / (1 + np.exp(truth[b] - truth[a]))
    return count_pairs(np.where(first, a, b), np.where(first, b, a), m=m)


def wins_of(counts: PairCounts) -> np.ndarray:
    """Return the weight of what i won over j, shape (m, m)."""
    wins = np.zeros((counts.m, counts.m))
    wins[counts.low, counts.high], wins[counts.high, counts.low] = counts.wins()
    return wins


def slope(counts: PairCounts, scores: np.ndarray, ridge: float) -> np.ndarray:
    """Return the gradient of the penalized loss, from its definition."""
    wins = wins_of(counts)
    p = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
    return np.asarray(((wins + wins.T) * p - wins).sum(axis=1) + ridge * scores)


def test_plain_maximum_likelihood_equals_choix() -> None:
    counts = simulated(0, 3000, 12)
    said = counts.comparisons()
    rows = zip(said.winners, said.losers, said.weights, strict=True)
    data = [(int(w), int(v)) for w, v, g in rows for _ in range(int(g))]
    fit = fit_bradley_terry(counts)
    assert np.abs(choix.opt.PairwiseFcts(data, 0.0).gradient(fit.scores)).max() < 1e-10 * len(data)
    assert fit.scores.sum() == pytest.approx(0, abs=1e-10)
    assert len(fit.scales) == 1


@examples(40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.integers(1, 60))
def test_plain_scores_are_stationary_within_every_scale(seed: int, m: int, n: int) -> None:
    counts = simulated(seed, n, m, spread=1.5)
    fit = fit_bradley_terry(counts)
    inside = counts.select(fit.scales.scale_of[counts.low] == fit.scales.scale_of[counts.high])
    assert np.abs(slope(inside, fit.scores, 0.0)).max() < 1e-8
    np.testing.assert_allclose(np.bincount(fit.scales.scale_of, fit.scores), 0, atol=1e-10)


def test_scales_are_the_limits_of_small_ridges() -> None:
    # 0 and 1 beat each other, as do 2 and 3; whoever of the first pair met the second one won.
    counts = count_pairs([0, 0, 1, 2, 2, 3, 0], [1, 1, 0, 3, 3, 2, 2])
    fit = fit_bradley_terry(counts)
    assert fit.scales.scale_of.tolist() == [0, 0, 1, 1]
    near = fit_bradley_terry(counts, ridge=1e-9).scores
    np.testing.assert_allclose([near[0] - near[1], near[2] - near[3]], [np.log(2), np.log(2)], atol=1e-5)
    np.testing.assert_allclose(fit.scores, [np.log(2) / 2, -np.log(2) / 2] * 2, atol=1e-9)


def test_an_item_that_never_wins_is_a_scale_of_its_own() -> None:
    counts = count_pairs([0, 1, 0, 1], [1, 0, 2, 2])
    fit = fit_bradley_terry(counts)
    assert fit.scales.scale_of.tolist() == [0, 0, 1]
    assert fit.scores[2] == 0
    with_ridge = fit_bradley_terry(counts, ridge=1.0)
    assert len(with_ridge.scales) == 1
    assert with_ridge.scores[2] < with_ridge.scores[:2].min()


def test_components_are_never_on_one_scale() -> None:
    counts = count_pairs([0, 1, 2, 3], [1, 0, 3, 2], m=5)
    for ridge in (0.0, 1.0):
        assert fit_bradley_terry(counts, ridge=ridge).scales.scale_of.tolist() == [0, 0, 1, 1, 2]


def test_ties_are_half_wins_or_nothing() -> None:
    counts = count_pairs([0, 0, 1, 0], [1, 1, 0, 1], ties=[False, False, False, True])
    assert fit_bradley_terry(counts).scores[0] == pytest.approx(np.log(2.5 / 1.5) / 2)
    assert fit_bradley_terry(counts, ties="drop").scores[0] == pytest.approx(np.log(2) / 2)


@pytest.mark.parametrize("dense", [True, False])
def test_a_long_path_is_solved_directly(monkeypatch: pytest.MonkeyPatch, dense: bool) -> None:
    monkeypatch.setattr(laplacian_system, "DENSE_SYSTEM", 1500 if dense else 0)
    m = 300
    i = np.arange(m - 1)
    wins = 1 + i % 3
    counts = count_pairs(
        np.concatenate([i, i + 1]), np.concatenate([i + 1, i]), weights=np.concatenate([wins, 0 * i + 1.0])
    )
    fit = fit_bradley_terry(counts)
    np.testing.assert_allclose(-np.diff(fit.scores), np.log(wins), atol=1e-7)


def test_scores_hundreds_apart() -> None:
    m = 200
    i = np.arange(m - 1)
    counts = count_pairs(
        np.concatenate([i, i + 1]), np.concatenate([i + 1, i]), weights=np.concatenate([0 * i + 1e4, 0 * i + 1.0])
    )
    fit = fit_bradley_terry(counts)
    np.testing.assert_allclose(-np.diff(fit.scores), np.log(1e4), atol=1e-5)


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf")])
def test_bad_ridges(ridge: float) -> None:
    with pytest.raises(InputError, match="ridge"):
        fit_bradley_terry(count_pairs([0], [1]), ridge=ridge)


@pytest.mark.parametrize("exponent", range(0, 98, 3))
def test_weights_of_any_size_with_a_ridge(exponent: int) -> None:
    """Rounding along the direction that only the ridge holds must not be divided by it."""
    weights = np.array([3, 2, 1, 2, 1.0])
    winners, losers = [0, 1, 2, 2, 0], [1, 2, 0, 1, 2]
    plain = fit_bradley_terry(count_pairs(winners, losers, weights=weights)).scores
    found = fit_bradley_terry(count_pairs(winners, losers, weights=weights * 10.0**exponent), ridge=1.0).scores
    assert found.sum() == pytest.approx(0, abs=1e-12)
    if exponent >= 9:
        np.testing.assert_allclose(found, plain, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.001, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_error_that_the_last_step_leaves(ridge: float, seed: int) -> None:
    """Below 1e-11 after several steps; after a single one from nearby up to that step."""
    rng = np.random.default_rng(seed)
    m, n = 40, 900
    a = rng.integers(0, m, n)
    b = (a + rng.integers(1, m, n)) % m
    counts = count_pairs(a, b, m=m)
    exact = fit_bradley_terry(counts, ridge=ridge, tolerance=1e-12).scores
    usual = fit_bradley_terry(counts, ridge=ridge)
    assert usual.iterations > 1
    np.testing.assert_allclose(usual.scores, exact, rtol=0, atol=1e-11)
    near = fit_bradley_terry(counts, ridge=ridge, start=exact + 2e-7 * rng.normal(size=m))
    assert near.iterations == 1
    np.testing.assert_allclose(near.scores, exact, rtol=0, atol=1e-6)


def test_a_step_leads_as_far_as_it_moves_a_pair() -> None:
    from rankbench.aggregators.kernels.likelihood import largest_lead

    rng = np.random.default_rng(3)
    counts = simulated(3, 40, 12)
    low = np.repeat(np.arange(counts.m), np.diff(counts.starts))
    step = rng.normal(size=counts.m)
    assert largest_lead(counts.starts, counts.high, step) == np.abs(step[low] - step[counts.high]).max()
