"""Units that follow one another in time: how much more a mean over them varies than if they were independent.

Blocks that do not overlap are resampled as wholes, which allows for what is alike within a block. What is alike from
block to block is in the long-run variance, 1 + 2 sum_k (1 - k / (L + 1)) r_k times that of independent blocks, with r_k
the autocorrelation of differences of arms, a mean over all pairs of them, and Bartlett's weights [NW87]_. These leave
out a part, a quarter where r_1 is .5, so that it is (1 + r_1) / (1 - r_1) at least, that of an autoregression [AM92]_.

References
----------
.. [NW87] W. K. Newey and K. D. West. A simple, positive semi-definite, heteroskedasticity and autocorrelation
   consistent covariance matrix. Econometrica 55(3), 1987.
.. [AM92] D. W. K. Andrews and J. C. Monahan. An improved heteroskedasticity and autocorrelation consistent covariance
   matrix estimator. Econometrica 60(4), 1992.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed

__all__ = ["LAGS", "order_widening", "widened_for_order"]

LAGS = 4
"""Neighbors on either side that may be alike."""

_MOST = 0.8
"""Of the autocorrelation of neighbors: an autoregression that forgets more slowly is not known from a few dozen."""

_ZERO = 1e-12


def order_widening(units: NDArray[np.float64]) -> float:
    """Return the factor by which standard errors of differences over independent units are too small, 1 at least.

    Parameters
    ----------
    units : ndarray of float64, shape (U, C)
        Means over draws, of units in the order of time. An autocorrelation of so few is too small by about 1 / U.
    """
    count, arms = units.shape
    lags = min(LAGS, count // 4)
    first, second = np.triu_indices(arms, 1)
    if lags < 1 or not len(first):
        return 1.0
    off = units[:, first] - units[:, second]
    off -= off.mean(axis=0)
    squares = (off**2).sum(axis=0)
    off, squares = (part[..., squares > _ZERO * float(np.abs(units).max()) ** 2] for part in (off, squares))
    if not len(squares):
        return 1.0
    alike = np.array([float(((off[k:] * off[:-k]).sum(axis=0) / squares).mean()) for k in range(1, lags + 1)])
    alike += 1 / count
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    first_order = min(float(alike[0]), _MOST)
    return math.sqrt(max(1 + 2 * float(weights @ alike), (1 + first_order) / (1 - first_order), 1.0))


def widened_for_order(sample: Crossed, factor: float) -> Crossed:
    """Return a sample whose deviations over units, of a single draw, are so much larger."""
    if factor == 1.0:
        return sample
    mean = sample.mean
    return replace(
        sample, queries=mean + factor * (sample.queries - mean), replicates=mean + factor * (sample.replicates - mean)
    )
