"""Is one contender's spread over draws larger? Ratios of standard deviations, paired."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.critical import VarianceSources
from rankbench.stats.simultaneous import SimultaneousIntervals, simultaneous

__all__ = ["FEWEST_DRAWS", "pitman_morgan", "sd_ratios"]

FEWEST_DRAWS = 8
"""With fewer, a resampled standard deviation is too often that of one draw, which has none."""


def pitman_morgan(a: NDArray[np.float64], b: NDArray[np.float64], level: float = 0.95) -> tuple[float, float, float]:
    """Return the ratio of paired standard deviations and its exact normal interval.

    Pitman [Pit39]_ and Morgan [Mor39]_: with F = (s_a / s_b)^2, r the correlation of the
    pairs, t the quantile of Student's t with R - 2 degrees of freedom and
    K = 1 + 2 (1 - r^2) t^2 / (R - 2), the interval of the squared ratio is
    F (K -+ sqrt(K^2 - 1)).

    Parameters
    ----------
    a, b : ndarray of float64, shape (R,)
        One value a draw, paired.
    level : float, in (0, 1)

    Returns
    -------
    ratio, lower, upper : float
        Nan where a spread is zero or R < 3.
    """
    from scipy.special import stdtrit

    draws = len(a)
    sd_a, sd_b = (float(values.std(ddof=1)) if draws > 2 else 0.0 for values in (a, b))
    if sd_a == 0 or sd_b == 0:
        return float("nan"), float("nan"), float("nan")
    ratio = sd_a / sd_b
    correlation = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    excess = 2 * (1 - correlation**2) * float(stdtrit(draws - 2, 0.5 + level / 2)) ** 2 / (draws - 2)
    root = np.sqrt(excess * (excess + 2))
    high = float(np.sqrt(1 + excess + root))
    return ratio, ratio / high, ratio * high


def sd_ratios(sample: Crossed, index: NDArray[np.intp], level: float = 0.95) -> SimultaneousIntervals:
    """Return simultaneous intervals of log sd ratios over resampled queries and draws.

    Parameters
    ----------
    sample : Crossed
        C arms.
    index : ndarray of intp, shape (P, 2)
        Arms a and b of each ratio.
    level : float, in (0, 1)
        Of all P intervals together.

    Returns
    -------
    Intervals
        Of ``log(sd_a / sd_b)``, standard deviations of means over queries; nan with
        fewer than `FEWEST_DRAWS` draws or where a spread is zero.
    """
    draws = sample.draws.shape[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(sample.draws.std(axis=0, ddof=1)) if draws > 1 else np.full(sample.draws.shape[1], np.nan)
        estimate = logs[index[:, 0]] - logs[index[:, 1]]
        replicates = sample.log_sds[:, index[:, 0]] - sample.log_sds[:, index[:, 1]]
    kept = np.isfinite(replicates).all(axis=1)
    usable = draws >= FEWEST_DRAWS and kept.mean() > 0.99 and bool(np.isfinite(estimate).all())
    return simultaneous(
        estimate,
        replicates[kept],
        VarianceSources.only(len(index), draws - 2.0),
        units=draws,
        level=level,
        spread=usable,
    )
