"""The crossed bootstrap against its formulas and a naive loop."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.stats import bootstrap
from rankbench.stats.bootstrap import LAGS, Crossed, counts, crossed, order_widening, widened_for_order
from rankbench.stats.contrast_columns import AllPairs
from rankbench.stats.contrasts import studentized_contrasts


def effects(rng: np.random.Generator, r: int, q: int, c: int, sd_r=0.1, sd_q=0.1, sd=0.1) -> np.ndarray:
    """Losses with query and draw effects of each contender's own, equal in distribution."""
    return (
        rng.normal(0, 0.3, (1, q, 1))
        + rng.normal(0, 0.1, (r, 1, 1))
        + rng.normal(0, sd_r, (r, 1, c))
        + rng.normal(0, sd_q, (1, q, c))
        + rng.normal(0, sd, (r, q, c))
    )


@given(st.integers(1, 12), st.integers(1, 40))
def test_counts_resample_all_but_one(size: int, rows: int) -> None:
    drawn = counts(np.random.default_rng(size), rows, size)
    assert drawn.shape == (rows, size)
    assert (drawn.sum(axis=1) == max(size - 1, 1)).all()


def test_counts_are_uniform() -> None:
    drawn = counts(np.random.default_rng(0), 20_000, 5)
    np.testing.assert_allclose(drawn.mean(axis=0), 4 / 5, atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), 4 / 5 * (1 - 1 / 5), atol=0.03)


@examples(20)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))
def test_equals_a_naive_loop(r: int, q: int, c: int, seed: int) -> None:
    losses = np.random.default_rng(seed).random((r, q, c))
    found = crossed(losses, seed, 7)
    of_draws = counts(np.random.default_rng([seed, 0]), 7, r)
    of_queries = counts(np.random.default_rng([seed, 1]), 7, q)
    for b in range(7):
        chosen_r = np.repeat(np.arange(r), of_draws[b].astype(int))
        chosen_q = np.repeat(np.arange(q), of_queries[b].astype(int))
        sample = losses[np.ix_(chosen_r, chosen_q)]
        np.testing.assert_allclose(found.replicates[b], sample.mean(axis=(0, 1)), atol=1e-12)
        np.testing.assert_allclose(found.draw_replicates[b], losses[chosen_r].mean(axis=(0, 1)), atol=1e-12)
        np.testing.assert_allclose(np.exp(found.log_sds[b]), sample.mean(axis=1).std(axis=0), atol=1e-7)
    np.testing.assert_allclose(found.mean, losses.mean(axis=(0, 1)))
    np.testing.assert_allclose(found.queries, losses.mean(axis=0))


def test_the_same_units_are_resampled_whatever_the_arms_and_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(1).random((6, 31, 5))
    whole = crossed(losses, 3, 50)
    np.testing.assert_allclose(crossed(losses[:, :, 2:3], 3, 50).replicates, whole.replicates[:, 2:3], atol=1e-14)
    monkeypatch.setattr(bootstrap, "_CHUNK", 100)
    np.testing.assert_allclose(crossed(losses, 3, 50).replicates, whole.replicates, atol=1e-14)
    np.testing.assert_array_equal(crossed(losses, 3, 50).replicates, crossed(losses, 3, 50).replicates)
    assert np.abs(crossed(losses, 4, 50).replicates - whole.replicates).max() > 0.001


def test_variance_is_unbiased_for_draws_and_for_queries() -> None:
    """Owen (2007): sigma_R^2 / R + sigma_Q^2 / Q, and up to 3 sigma^2 / (R Q)."""
    rng = np.random.default_rng(0)
    r, q = 6, 9
    for sd_r, sd_q, truth in ((0.1, 0, 0.01 / r), (0, 0.1, 0.01 / q)):
        found = []
        for i in range(200):
            losses = rng.normal(0, sd_r, (r, 1, 1)) + rng.normal(0, sd_q, (1, q, 1)) + np.zeros((r, q, 1))
            found.append(crossed(losses, i, 300).replicates.var())
        assert np.mean(found) == pytest.approx(truth, rel=0.15)
    noise = [crossed(rng.normal(0, 0.1, (r, q, 1)), i, 300).replicates.var() for i in range(200)]
    assert 0.01 / (r * q) < np.mean(noise) < 3.1 * 0.01 / (r * q)


def test_one_draw_is_over_queries_alone() -> None:
    losses = np.random.default_rng(0).random((1, 100, 2))
    found = crossed(losses, 0)
    assert found.replicates.std(axis=0) == pytest.approx(losses[0].std(axis=0, ddof=1) / 10, rel=0.1)
    assert (found.draw_replicates == found.draw_replicates[0]).all()


ARMS, UNITS, TABLES = 6, 25, 150


def stretches(seed: int, alike: float) -> np.ndarray:
    """Return losses of equal contenders, whose errors are an autoregression, shape (U, C)."""
    rng = np.random.default_rng([20261125, seed])
    noise = rng.normal(size=(UNITS + 50, ARMS))
    for t in range(1, len(noise)):
        noise[t] += alike * noise[t - 1]
    return noise[50:]


def covering(sample: Crossed) -> float:
    """Return the share of pairs whose own 95% interval holds 0."""
    found = studentized_contrasts(sample, AllPairs(ARMS))
    assert found.sources is not None
    return float((np.abs(found.estimate) <= found.sources.quantile(0.05) * found.se).mean())


@pytest.mark.parametrize(("alike", "least"), [(0.0, 0.94), (0.5, 0.88)])
def test_intervals_of_stretches_that_are_alike_cover(alike: float, least: float) -> None:
    plain, widened = [], []
    for seed in range(TABLES):
        units = stretches(seed, alike)
        sample = crossed(units[None], seed, 400)
        plain.append(covering(sample))
        widened.append(covering(widened_for_order(sample, order_widening(units))))
    print(f"autocorrelation {alike}: plain {np.mean(plain):.3f}, widened {np.mean(widened):.3f}")
    assert np.mean(widened) >= least
    if alike:
        assert np.mean(plain) < 0.8


def test_the_factor_is_the_root_of_the_long_run_variance() -> None:
    units = stretches(0, 0.5)[:, :2]
    off = units[:, 0] - units[:, 1]
    off -= off.mean()
    lags = [float(off[lag:] @ off[:-lag] / (off @ off)) + 1 / UNITS for lag in range(1, LAGS + 1)]
    wanted = 1 + 2 * sum((1 - lag / (LAGS + 1)) * r for lag, r in enumerate(lags, 1))
    assert order_widening(units) == pytest.approx(max(wanted, (1 + lags[0]) / (1 - lags[0])) ** 0.5)
    sample = crossed(units[None], 0, 50)
    twice = widened_for_order(sample, 2.0)
    assert twice.replicates - sample.mean == pytest.approx(2 * (sample.replicates - sample.mean))


def test_contenders_that_are_the_same_have_the_factor_one() -> None:
    assert order_widening(np.repeat(stretches(0, 0.5)[:, :1], 3, axis=1)) == 1.0
    assert order_widening(stretches(0, 0.5)[:, :1]) == 1.0
