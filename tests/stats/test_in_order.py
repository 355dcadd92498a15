"""Means over stretches of time: intervals allow for neighbors that are alike."""

from __future__ import annotations

import numpy as np
import pytest

from rankbench.stats.bootstrap import LAGS, Crossed, crossed, order_widening, widened_for_order
from rankbench.stats.contrast_columns import AllPairs
from rankbench.stats.contrasts import studentized_contrasts

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
