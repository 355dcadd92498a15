"""Sets that hold the best, against Dunnett's critical values, brute force, and counts of how often they miss it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

from rankbench.stats.bootstrap import crossed
from rankbench.stats.contender_ranks import contenders_that_may_be_best, possible_best

C = 5


def normal_best(estimate: np.ndarray, deviations: np.ndarray | None, se: np.ndarray | None = None) -> np.ndarray:
    """Return the set of estimates with known variances, by default of independent ones of variance 1."""
    apart = np.sqrt(2) * (1 - np.eye(len(estimate))) if se is None else se

    def largest(i: int, others: np.ndarray) -> np.ndarray:
        assert deviations is not None
        return ((deviations[:, others] - deviations[:, [i]]) / apart[i, others]).max(axis=1)

    def critical(i: int, others: np.ndarray, local: float) -> np.ndarray:
        return np.full(len(others), norm.isf(local / 2))

    return possible_best(estimate, apart, critical, None if deviations is None else largest)


def test_the_critical_value_of_equal_variances_is_dunnetts() -> None:
    """One-sided, four treatments and a control: 2.16 with known variances (Dunnett 1955, table 1a)."""
    deviations = np.random.default_rng(1).normal(size=(40_000, C))
    for lead in (2.10, 2.22):
        estimate = np.zeros(C)
        estimate[0] = lead * np.sqrt(2)
        expected = np.array([True, *[lead < 2.16] * 4])
        np.testing.assert_array_equal(normal_best(estimate, deviations), expected)


def test_without_replicates_the_level_is_bonferronis() -> None:
    bound = norm.isf(0.05 / (C - 1)) * np.sqrt(2)
    for lead in (0.99 * bound, 1.01 * bound):
        found = normal_best(np.array([lead, 0, 0, 0, 0]), None)
        np.testing.assert_array_equal(found, [True, *[lead < bound] * 4])


def test_two_estimates_have_the_one_sided_t_test() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.6, 0.9, 1.2):
        one, other = rng.normal(shift, size=12), rng.normal(size=12)
        se = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 12) * (1 - np.eye(2))
        wanted = ttest_ind(one, other, alternative="greater").pvalue > 0.05
        from scipy.special import stdtrit

        found = possible_best(
            np.array([one.mean(), other.mean()]), se, lambda i, some, local: -stdtrit(22, [local / 2] * len(some)), None
        )
        np.testing.assert_array_equal(
            found, [one.mean() >= other.mean() or wanted, wanted or one.mean() < other.mean()]
        )


@pytest.mark.full
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_best_is_missing_in_one_of_twenty_at_most(spread: float) -> None:
    """Of equal estimates the first is the best; correlated, with different variances."""
    rng = np.random.default_rng(4)
    root = rng.normal(size=(8, 8))
    covariance = root @ root.T
    variance = np.diag(covariance)
    se = np.sqrt(variance + variance[:, None] - 2 * covariance)
    deviations = rng.normal(size=(2000, 8)) @ root.T
    truth = -spread * np.arange(8.0)
    drawn = truth + rng.normal(size=(1000, 8)) @ root.T
    found = np.array([normal_best(one, deviations, se) for one in drawn])
    missing = 1 - found[:, 0].mean()
    assert missing <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1000)
    assert (spread == 0) == (missing > 0.02)
    # Brute force: an estimate is in the set unless some lead is larger than the quantile of the largest one.
    for one, kept in zip(drawn[:20], found, strict=False):
        for i in range(8):
            others = np.arange(8) != i
            leads = (deviations[:, others] - deviations[:, [i]]) / se[i, others]
            bound = np.quantile(leads.max(axis=1), 0.95)
            bound = max(min(bound, norm.isf(0.05 / 7)), norm.isf(0.05))
            assert kept[i] == (((one[others] - one[i]) / se[i, others]).max() <= bound)


def test_estimates_that_are_not_compared_may_be_the_best() -> None:
    se = np.sqrt(2) * (1 - np.eye(3))
    se[2] = se[:, 2] = 0.0
    np.testing.assert_array_equal(normal_best(np.array([9.0, 0.0, -9.0]), None, se), [True, False, True])


def test_estimates_that_other_tests_exclude_are_not_tested() -> None:
    asked = []

    def critical(i: int, others: np.ndarray, local: float) -> np.ndarray:
        asked.append(i)
        return np.full(len(others), norm.isf(local / 2))

    apart, possible = 1 - np.eye(4), np.array([True, True, False, True])
    found = possible_best(np.array([9.0, 8.9, 9.1, 0.0]), apart, critical, None, possible=possible)
    np.testing.assert_array_equal(found, [True, True, False, False])
    assert asked == [3]


@pytest.mark.parametrize("maximize", [True, False])
def test_contenders_are_compared_with_the_best(maximize: bool) -> None:
    """Of four losses on 60 queries two are far from the best, whichever sign is better."""
    rng = np.random.default_rng(8)
    losses = rng.normal(size=(1, 60, 4)) + np.array([0.0, 0.05, 1.5, 2.0])
    sample = crossed(-losses if maximize else losses, 1, 1000)
    found = contenders_that_may_be_best(sample, maximize=maximize)
    np.testing.assert_array_equal(found, [True, True, False, False])


@pytest.mark.full
def test_the_best_of_equal_contenders_is_seldom_missing() -> None:
    """Of 200 tables, in 10 by expectation, and in 17 at most with a probability of 98%."""
    tables = np.random.default_rng(9).normal(size=(200, 1, 40, 6))
    found = [contenders_that_may_be_best(crossed(one, 1, 1000))[0] for one in tables]
    assert 1 <= 200 - sum(found) <= 17
