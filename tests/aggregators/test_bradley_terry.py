"""Bradley-Terry: the minimizer, against choix and its limit under BTL."""

import choix
import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, matrix, samples
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from rankbench.aggregators.bradley_terry import BradleyTerry


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


@pytest.mark.parametrize("ridge", [1e-6, 0.7])
def test_the_likelihood_of_choix_is_level_with_half_the_ridge(ridge):
    winners, losers, weights, m = btl_sample(np.linspace(0, 2, 8), 600, 6)
    theirs = choix.opt.PairwiseFcts(list(zip(winners, losers, strict=True)), ridge / 2)
    scores = compiled(BradleyTerry(ridge=ridge), winners, losers, weights, m)
    assert np.abs(theirs.gradient(scores)).max() < 1e-10 * len(winners)


@given(sample=samples())
@examples(40)
def test_each_component_sums_to_zero(sample):
    scores = compiled(BradleyTerry(), *sample)
    _, component = connected_components(matrix(*sample), directed=False)
    assert np.abs(np.bincount(component, scores)).max() < 1e-9


def test_limit_is_the_centered_labels():
    k, ridge = 400_000, 1.0
    labels = np.array([0.0, 0.0, 1.0, 2.0, 3.5])
    centered = labels - labels.mean()
    m = len(labels)
    scores = compiled(BradleyTerry(ridge=ridge), *btl_sample(labels, k, 7))
    p = 1 / (1 + np.exp(labels[None, :] - labels[:, None]))
    information = -k / (m * (m - 1) / 2) * p * (1 - p)
    np.fill_diagonal(information, 0)
    np.fill_diagonal(information, -information.sum(axis=1))
    covariance = np.linalg.pinv(information)
    error = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(scores - centered + ridge * covariance @ centered) < 4.5 * error)
    assert error.max() < 0.02


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
