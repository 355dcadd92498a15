"""Borda counts and win rates: the formulas, and their limits under BTL."""

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, matrix, samples
from hypothesis import given, settings

from rankbench.aggregators import Borda, WinRate

LABELS = np.array([0.0, 0.0, 1.0, 2.0, 3.5])


def wins_against_each(labels):
    p = 1 / (1 + np.exp(labels[None, :] - labels[:, None]))
    np.fill_diagonal(p, 0)
    return p


@given(sample=samples())
@settings(max_examples=40, deadline=None)
def test_borda_is_a_times_one(sample):
    p = matrix(*sample) / sample[2].sum()
    assert Borda().aggregate(*sample) == pytest.approx((p - p.T) @ np.ones(sample[-1]), rel=1e-9, abs=1e-12)


@given(sample=samples())
@settings(max_examples=40, deadline=None)
def test_win_rate_formula(sample):
    w = matrix(*sample)
    scores = WinRate().aggregate(*sample)
    for i in range(sample[-1]):
        won, lost = w[i].sum(), w[:, i].sum()
        expected = won / (won + lost) - 0.5 if won + lost else 0.0
        assert scores[i] == pytest.approx(expected, abs=1e-12)


def test_limit_of_borda():
    k, m = 200_000, len(LABELS)
    p = wins_against_each(LABELS)
    limit = (p - p.T).sum(axis=1) / (m * (m - 1) / 2)
    scores = compiled(Borda(), *btl_sample(LABELS, k, 3))
    # A judgment adds 1, -1 or 0; an item takes part in a share 2 / m of them.
    assert np.all(np.abs(scores - limit) < 4.5 * np.sqrt(2 / m / k))
    assert np.all(np.diff(limit) >= 0)


def test_limit_of_win_rate():
    k, m = 200_000, len(LABELS)
    limit = wins_against_each(LABELS).sum(axis=1) / (m - 1) - 0.5
    scores = compiled(WinRate(), *btl_sample(LABELS, k, 4))
    assert np.all(np.abs(scores - limit) < 4.5 * 0.5 / np.sqrt(0.98 * k * 2 / m))
    assert limit.sum() == pytest.approx(0, abs=1e-12)
