"""Intervals over draws: what the papers show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.contrasts import too_few

__all__ = ["MeanIntervals", "mean_intervals"]


@dataclass(frozen=True)
class MeanIntervals:
    """Means with their t intervals; nan where draws are too few for one (`too_few`), or one alone.

    Attributes
    ----------
    mean, sd, se, lower, upper : ndarray of float64, shape (C,)
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def mean_intervals(
    values: NDArray[np.float64], level: float = 0.95, widening: float | NDArray[np.float64] = 1.0
) -> MeanIntervals:
    """Return Student's t interval of every column's mean.

    Parameters
    ----------
    values : ndarray of float64, shape (R, C)
        One value a draw: means over queries, or paired differences of such means.
    level : float, in (0, 1)
    widening : float, or ndarray of shape (C,), at least 1
        Factor of the standard errors, see `rankbench.stats.corrected_t`.
    """
    from scipy.special import stdtrit

    draws = values.shape[0]
    mean = values.mean(axis=0)
    if draws < 2:
        missing = np.full(mean.shape, np.nan)
        return MeanIntervals(mean, missing, missing, missing, missing)
    sd = values.std(axis=0, ddof=1)
    se = widening * sd / np.sqrt(draws)
    half = np.full(mean.shape, np.nan) if too_few(draws) else stdtrit(draws - 1, 0.5 + level / 2) * se
    return MeanIntervals(mean, sd, se, mean - half, mean + half)
