"""Resamples with standard errors of their own, beside loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankbench.stats import simultaneous as module
from rankbench.stats.bootstrap import counts
from rankbench.stats.multiple_tests import FIRST, SECOND
from rankbench.stats.simultaneous import OwnErrors, allowing_for_resamples


def naive(means: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    """Return deviations, a resample and a pair at a time."""
    tasks, systems = means.shape
    drawn = counts(np.random.default_rng([seed, 2]), replicates, tasks).astype(int)
    found = np.empty((replicates, systems * (systems - 1) // 2))
    for row, often in enumerate(drawn):
        sample = np.repeat(means, often, axis=0)
        for at, (i, j) in enumerate(zip(*np.triu_indices(systems, 1), strict=True)):
            own, whole = sample[:, i] - sample[:, j], means[:, i] - means[:, j]
            variance = max(own.var(ddof=1) / len(own), whole.var(ddof=1) / tasks / 4)
            found[row, at] = (own.mean() - whole.mean()) / np.sqrt(variance)
    return found


def test_deviations_are_those_of_a_loop() -> None:
    means = np.random.default_rng(1).lognormal(0, 2, size=(12, 4))
    found = OwnErrors.of_pairs(means, 3, 50)
    assert found is not None
    expected = naive(means, 3, 50)
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)
    sides = np.array([FIRST | SECOND, FIRST, SECOND, 0, FIRST | SECOND, FIRST], np.uint8)
    se = np.array([1.0, 1, 1, 1, 0, 1])
    largest = np.maximum.reduce([np.abs(expected[:, 0]), expected[:, 1], -expected[:, 2], expected[:, 5], np.zeros(50)])
    # On the scale of normal deviations of the same level.
    np.testing.assert_allclose(found.largest(se, sides), stats.norm.isf(stats.t.sf(largest, 11)), rtol=1e-9)


def test_systems_that_are_the_same_have_no_deviation() -> None:
    means = np.repeat(np.random.default_rng(1).normal(size=(12, 1)), 3, axis=1)
    found = OwnErrors.of_pairs(means, 3, 50)
    assert found is not None
    assert (found.values == 0).all()


def test_a_resample_without_the_one_task_that_differs_rules_nothing() -> None:
    means = np.zeros((40, 2))
    means[0, 0] = 1.0
    found = OwnErrors.of_pairs(means, 3, 2000)
    assert found is not None
    # The task is missing in a third of the resamples: a mean of 0, 1 / 40 less than that of all, at half its error.
    assert found.values.min() == pytest.approx(-2, rel=0.02)
    assert (found.values < -1.9).mean() == pytest.approx(np.exp(-1), abs=0.05)


@pytest.mark.parametrize(("held", "products"), [(60_000, 10**12), (10**9, 600_000)])
def test_what_would_take_too_much_is_done_with_fewer_resamples_or_not_at_all(
    held: int, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = np.random.default_rng(1).normal(size=(10, 10))
    monkeypatch.setattr(module, "_HELD", held)
    monkeypatch.setattr(module, "_PRODUCTS", products)
    found = OwnErrors.of_pairs(means, 1, 5000)
    assert found is not None
    assert found.values.shape == (1333, 45)
    monkeypatch.setattr(module, "FEWEST", 1400)
    assert OwnErrors.of_pairs(means, 1, 5000) is None


def test_an_allowance_for_resamples_is_one_of_a_binomial() -> None:
    # Of so many uniform deviates the order statistic at that level is above .95 in 95% of samples.
    for replicates in (1000, 10_000):
        level = allowing_for_resamples(0.95, replicates)
        order = int(np.ceil(level * (replicates - 1))) + 1
        assert stats.beta.sf(0.95, order, replicates - order + 1) == pytest.approx(0.95, abs=0.02)
    assert allowing_for_resamples(0.95, 2) == 1.0
