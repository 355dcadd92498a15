"""The corrected resampled t test, for splits that share training data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

__all__ = ["corrected_resampled_t"]


def corrected_resampled_t(
    differences: NDArray[np.float64], test_share: float, level: float = 0.95
) -> tuple[float, float, float, float]:
    """Return mean, interval and p-value of differences over overlapping splits [NB03]_.

    The variance of the mean is (1/J + test / train) s^2 instead of s^2 / J: splits that
    train on the same observations are not independent.

    Parameters
    ----------
    differences : ndarray of float64, shape (J,)
        Paired differences, one a split; J >= 2.
    test_share : float, in (0, 1)
        Share of the observations in a test part; 1/K for K folds.
    level : float, in (0, 1)

    Returns
    -------
    mean, lower, upper, p : float
    """
    splits = len(differences)
    mean = float(differences.mean())
    variance = (1 / splits + test_share / (1 - test_share)) * float(differences.var(ddof=1))
    se = variance**0.5
    half = float(stdtrit(splits - 1, 0.5 + level / 2)) * se
    p = 1.0 if mean == 0 else 0.0 if se == 0 else 2 * float(stdtr(splits - 1, -abs(mean) / se))
    return mean, mean - half, mean + half, p
