"""Corrected tests of skewed differences: the inverse of Hall's transformation, and which pairs it is for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankbench.stats.skewness import hidden_by_skewness, mean_reach


def hidden(differences: np.ndarray, critical: float) -> tuple[bool, int]:
    """Compare two systems with these differences."""
    means = np.stack([differences, np.zeros(len(differences))], axis=1)
    t = differences.mean() / stats.sem(differences)
    found, skewed = hidden_by_skewness(means, np.array([t]), np.array([critical]))
    return bool(found[0]), skewed


@pytest.mark.parametrize("critical", [1.8, 2.0, 3.0])
def test_an_interval_ends_at_the_inverse_of_halls_transformation(critical: float) -> None:
    """[Hal92]: the mean is told from values beyond mean - se 3 / a (cbrt(1 + a (c - a / 6)) - 1), on either side."""
    sample = np.random.default_rng(1).lognormal(0, 0.7, size=25)
    a = (1 + 6 / 25) * stats.skew(sample, bias=False) / np.sqrt(25)
    far = 3 / a * (np.cbrt(1 + a * (-critical - a / 6)) - 1)
    end = sample.mean() - stats.sem(sample) * far
    assert far < -1.1 * critical
    assert hidden(sample - end + 1e-6, critical) == (True, 1)
    assert hidden(sample - end - 1e-6, critical) == (False, 1)
    # Toward the long tail t alone decides.
    assert hidden(sample - sample.mean() + stats.sem(sample) * critical, critical) == (False, 1)


def test_intervals_of_more_skewed_samples_end_no_nearer() -> None:
    """Beyond a = 1 / 2 the cubic alone would end them nearer again."""
    ends = []
    for sigma in (0.5, 1.0, 2.0, 4.0):
        sample = stats.lognorm(sigma).ppf(np.arange(1, 11) / 11)
        ends.append(mean_reach(sample, 1.0, 2.26)[1][1])
    assert ends == sorted(ends)
    assert ends[-1] == ends[-2] > 3 * 2.26


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_holds_the_values_that_the_test_does_not_reject(sign: int) -> None:
    sample = sign * np.random.default_rng(5).lognormal(size=25)
    mean, se, critical = sample.mean(), stats.sem(sample), 2.0
    size, (below, above) = mean_reach(sample, mean / se, critical)
    assert max(below, above) > 1.1 * critical
    for value, inside in ((mean - se * below, 1e-6), (mean + se * above, -1e-6)):
        assert abs((mean - value - inside) / se) < critical or hidden(sample - value - inside, critical)[0]
        beyond = value - inside
        assert abs((mean - beyond) / se) > critical
        assert not hidden(sample - beyond, critical)[0]
    other = sample - mean + sign * 2.5 * se
    size = mean_reach(other, sign * 2.5, critical)[0]
    assert size == pytest.approx(2.5) or (not hidden(other, size - 1e-9)[0] and hidden(other, size + 1e-9)[0])
    even = np.concatenate([np.arange(10.0), -np.arange(10.0)])
    assert mean_reach(even, 1.3, critical) == (1.3, (critical, critical))


def test_even_samples_few_tasks_and_equal_systems_are_not_skewed() -> None:
    even = np.concatenate([np.arange(10.0), -np.arange(10.0)])
    assert hidden(even + 0.1, 2.0) == (False, 0)
    assert hidden(np.array([1.0, 4.0]), 2.0) == (False, 0)
    # Eighteen of twenty tasks that one system solves alone are a lead, whatever their skewness.
    assert hidden(np.array([1.0] * 18 + [-1.0] * 2), 2.0) == (False, 0)
    found, skewed = hidden_by_skewness(np.zeros((9, 2)), np.zeros(1), np.full(1, 2.0))
    assert (found.tolist(), skewed) == ([False], 0)


def test_pairs_of_many_systems_stand_in_their_order() -> None:
    """System 2 alone has a long tail, and is behind by it: its pairs are hidden, as they are alone."""
    rng = np.random.default_rng(1)
    means = 0.1 * rng.normal(size=(60, 4))
    means[:, 2] += rng.lognormal(size=60) - 2
    first, second = np.triu_indices(4, 1)
    differences = means[:, first] - means[:, second]
    t = differences.mean(axis=0) / stats.sem(differences)
    found, skewed = hidden_by_skewness(means, t, np.abs(t))
    touched = (first == 2) | (second == 2)
    assert skewed >= 3
    alone = [hidden(one, size)[0] for one, size in zip(differences.T, np.abs(t), strict=True)]
    np.testing.assert_array_equal(found, alone)
    assert found[touched].any()
