"""Bradley-Terry, of samples and of counts: the minimizer by its gradient and choix, scales, and extreme weights."""

from __future__ import annotations

import numpy as np
import pytest
from aggregator_samples import compiled, samples
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood import laplacian_system
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_pairs


def gradient(scores, ridge, winners, losers, weights, m):
    """Return the gradient of the objective at `scores`, a judgment at a time."""
    g = ridge * scores
    for i, j, w in zip(winners, losers, weights, strict=True):
        p = 1 / (1 + np.exp(scores[i] - scores[j]))
        g[i] -= w * p
        g[j] += w * p
    return g


@given(sample=samples(max_items=12, max_judgments=60), ridge=st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 100.0]))
@examples(100)
def test_gradient_vanishes(sample, ridge):
    # An error of 1e-10 in each score is at most this in the gradient: a judgment bends by w / 4 at most.
    most = 1e-10 * (ridge + max(4.0, 2 * sample[2].sum()) / 4)
    for scores in (compiled(BradleyTerry(ridge=ridge), *sample), BradleyTerry(ridge=ridge).aggregate(*sample)):
        assert np.abs(gradient(scores, ridge, *sample)).max() <= most


@pytest.mark.parametrize("ridge", [1e-8, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("m", [40, 150, 600])
def test_scores_of_a_hard_sample_are_right_or_none(m, ridge):
    """A long path, whose weights differ by a factor of a million, with a ridge that is tiny beside them."""
    weights = 10.0 ** np.random.default_rng(m).uniform(0, 6, 2 * (m - 1))
    low = np.arange(m - 1, dtype=np.int32)
    sample = np.concatenate([low, low + 1]), np.concatenate([low + 1, low]), weights, m
    scores = compiled(BradleyTerry(ridge=ridge), *sample)
    assert np.isnan(scores).all() or np.abs(gradient(scores, ridge, *sample)).max() <= 1e-13 * weights.sum()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.floats(0.1, 3)), min_size=1, max_size=25))
@settings(deadline=None)
def test_items_that_nobody_judged_cost_nothing_and_change_no_bit(drawn):
    """A sample of few items among many is fitted as if there were no others, which score 0."""
    few = np.array([i for i, _, _ in drawn], np.int32)
    other = np.array([(i + step) % 10 for i, step, _ in drawn], np.int32)
    weights, kernel = np.array([w for _, _, w in drawn]), BradleyTerry().kernel()
    there = np.unique([few, other])
    alone, among = np.full(len(there), np.nan), np.full(3000, np.nan)
    compact = [np.searchsorted(there, side).astype(np.int32) for side in (few, other)]
    kernel.function(*compact, weights, len(there), kernel.params, np.zeros(0), alone)
    kernel.function(few * 300, other * 300, weights, 3000, kernel.params, np.zeros(0), among)
    np.testing.assert_array_equal(among[there * 300], alone)
    assert not np.delete(among, there * 300).any()


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
    assert len(with_ridge.scales.sizes) == 1
    assert with_ridge.scores[2] < with_ridge.scores[:2].min()


def test_components_are_never_on_one_scale() -> None:
    counts = count_pairs([0, 1, 2, 3], [1, 0, 3, 2], m=5)
    for ridge in (0.0, 1.0):
        assert fit_bradley_terry(counts, ridge=ridge).scales.scale_of.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("wins", "dense", "error"),
    [(1 + np.arange(299) % 3, True, 1e-7), (1 + np.arange(299) % 3, False, 1e-7), (np.full(199, 1e4), True, 1e-5)],
)
def test_a_long_path_is_solved_directly(
    monkeypatch: pytest.MonkeyPatch, wins: np.ndarray, dense: bool, error: float
) -> None:
    """Each item wins against the next one; the last scores are hundreds apart."""
    monkeypatch.setattr(laplacian_system, "DENSE_SYSTEM", 1500 if dense else 0)
    i = np.arange(len(wins))
    counts = count_pairs(np.append(i, i + 1), np.append(i + 1, i), weights=np.append(wins, 0 * i + 1.0))
    fit = fit_bradley_terry(counts)
    np.testing.assert_allclose(-np.diff(fit.scores), np.log(wins), atol=error)


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf")])
def test_bad_ridges(ridge: float) -> None:
    with pytest.raises(ValueError, match="ridge"):
        BradleyTerry(ridge=ridge)


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
