"""Elo: textbook numbers, and the gradient step that it is."""

import math

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, samples
from hypothesis import given, settings

from rankbench.aggregators import Elo

POINTS = 400 / math.log(10)


def ratings(factor, winners, losers, weights, m, initial=1500.0):
    """Rate as chess federations do: base 10, in points, one judgment after the other."""
    rating = [initial] * m
    for i, j, w in zip(winners.tolist(), losers.tolist(), weights.tolist(), strict=True):
        expected = 10 ** (rating[i] / 400) / (10 ** (rating[i] / 400) + 10 ** (rating[j] / 400))
        rating[i], rating[j] = rating[i] + factor * w * (1 - expected), rating[j] - factor * w * (1 - expected)
    return np.array(rating)


@given(sample=samples(weighted=False))
@settings(max_examples=60, deadline=None)
def test_points_of_chess(sample):
    for factor in (16, 32, 100):
        scores = compiled(Elo(factor=factor), *sample)
        assert 1500 + POINTS * scores == pytest.approx(ratings(factor, *sample), rel=1e-12)


def test_textbook_numbers():
    one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
    assert POINTS * compiled(Elo(), *one, np.ones(1), 2) == pytest.approx([16, -16])
    # 400 points ahead the favorite is expected to win 10 of 11: another win is worth K / 11.
    # A weight that moves 0 and 1 by 200 points each puts them there.
    again = np.zeros(2, dtype=np.int32), np.ones(2, dtype=np.int32), np.array([200 / 16, 1.0]), 2
    assert POINTS * compiled(Elo(), *again)[0] == pytest.approx(200 + 32 / 11)


def test_the_order_of_the_judgments_matters():
    winners, losers = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    forth = compiled(Elo(), winners, losers, np.ones(2), 3)
    back = compiled(Elo(), winners[::-1].copy(), losers[::-1].copy(), np.ones(2), 3)
    assert np.abs(forth - back).max() > 1e-3
    assert "sequential" in Elo.properties


def test_ratings_hover_around_the_labels():
    # The average over time of stochastic gradient descent is close to the minimizer.
    labels = np.array([0.0, 0.5, 1.0, 2.0])
    winners, losers, weights, m = btl_sample(labels, 40_000, 7)
    seen = [compiled(Elo(factor=4), winners[:k], losers[:k], weights[:k], m) for k in range(2000, 40_000, 500)]
    assert np.mean(seen, axis=0) == pytest.approx(labels - labels.mean(), abs=0.08)


def test_enormous_weights_stay_finite():
    sample = np.array([0, 1, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32), np.array([1e9, 1e9, 1e12]), 2
    assert np.isfinite(compiled(Elo(), *sample)).all()
    assert compiled(Elo(), *sample) == pytest.approx(Elo().aggregate(*sample))
