"""The Perron vector and the row geometric means: definitions, where they meet, extremes."""

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from dense_oracles import least_squares_scores
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean
from rankbench.aggregators.rates import MeanLogOdds


def ratios(w, c=0.5):
    return (w + c) / (w.T + c)


@given(sample=samples())
@examples(60)
def test_perron_vector_of_the_reciprocal_matrix(sample):
    a = ratios(matrix(*sample))
    largest = np.linalg.eigvals(a).real.max()
    for scores in (compiled(Eigenvector(), *sample), Eigenvector().aggregate(*sample)):
        assert np.all(scores > 0)
        assert scores.sum() == pytest.approx(sample[-1], rel=1e-12)
        assert a @ scores == pytest.approx(largest * scores, rel=1e-9)


@given(sample=samples())
@examples(40)
def test_geometric_means_of_the_rows(sample):
    w = matrix(*sample)
    for frequencies, a in (("counts", ratios(w)), ("joint", ratios(w / w.sum()))):
        means = a.prod(axis=1) ** (1 / len(a))
        scores = compiled(GeometricMean(frequencies=frequencies), *sample)
        assert scores == pytest.approx(means / means.mean(), rel=1e-9)


@given(sample=samples())
@examples(40)
def test_geometric_means_are_log_least_squares_over_all_pairs(sample):
    m = sample[-1]
    expected = least_squares_scores(np.log(ratios(matrix(*sample))), np.ones((m, m), dtype=bool))
    assert compiled(GeometricMean(scale="log"), *sample) == pytest.approx(expected, abs=1e-9)
    mean_log_odds = compiled(MeanLogOdds(), *sample)
    assert compiled(GeometricMean(scale="log"), *sample) == pytest.approx((m - 1) / m * mean_log_odds, abs=1e-12)


@given(sample=samples(max_items=3))
@examples(60)
def test_up_to_three_items_the_two_agree(sample):
    for scale in ("ratio", "log"):
        expected = compiled(GeometricMean(scale=scale), *sample)
        assert compiled(Eigenvector(scale=scale), *sample) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(-8, 8), min_size=2, max_size=8))
@examples(40)
def test_consistent_ratios_are_recovered(exponents):
    # Weights x - c and 1 / x - c have the ratio x^2 after smoothing; c is small enough to allow it.
    v = 1.2 ** np.array(exponents)
    i, j = np.nonzero(~np.eye(len(v), dtype=bool))
    weights = np.sqrt(v[i] / v[j]) - 0.1
    sample = i.astype(np.int32), j.astype(np.int32), weights, len(v)
    for aggregator in (Eigenvector, GeometricMean):
        assert compiled(aggregator(smoothing=0.1), *sample) == pytest.approx(v / v.mean(), rel=1e-10)


@given(sample=samples())
@examples(25)
def test_the_log_scale_is_the_logarithm_of_the_ratio_scale(sample):
    for aggregator in (Eigenvector, GeometricMean):
        logs = np.log(compiled(aggregator(), *sample))
        assert compiled(aggregator(scale="log"), *sample) == pytest.approx(logs - logs.mean(), abs=1e-9)


@pytest.mark.parametrize("aggregator", [Eigenvector, GeometricMean])
def test_items_without_judgments(aggregator):
    # Three items that nobody judged are alike; one that beats another stands above them.
    sample = np.array([1], dtype=np.int32), np.array([3], dtype=np.int32), np.ones(1), 5
    scores = compiled(aggregator(scale="log"), *sample)
    assert np.ptp(scores[[0, 2, 4]]) < 1e-12
    assert scores[1] > scores[0] > scores[3]


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("length", [3, 4, 9])
def test_cycles_are_ties(weight, length):
    # The hardest case of power iteration: the other eigenvalues are nearly as large.
    winners = np.arange(length, dtype=np.int32)
    sample = winners, np.roll(winners, -1), np.full(length, weight), length
    assert compiled(Eigenvector(), *sample) == pytest.approx(np.ones(length), abs=1e-9)


def test_two_cycles_that_hardly_meet():
    rng = np.random.default_rng(0)
    cycle = np.arange(3, dtype=np.int32)
    winners, losers = np.concatenate([cycle, cycle + 3, [0]]), np.concatenate([np.roll(cycle, -1), cycle + 3, [4]])
    losers[3:6] = np.roll(cycle, -1) + 3
    sample = winners.astype(np.int32), losers.astype(np.int32), rng.uniform(1e3, 2e3, 7), 6
    a = ratios(matrix(*sample))
    scores = compiled(Eigenvector(), *sample)
    assert a @ scores == pytest.approx(np.linalg.eigvals(a).real.max() * scores, rel=1e-9)
    assert scores == pytest.approx(Eigenvector().aggregate(*sample), rel=1e-8)
