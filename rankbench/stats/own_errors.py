"""Resamples of one mean over tasks, each studentized by its own standard error: the bootstrap-t of a maximum.

Replicates that are divided by the standard errors of the sample, and their quantile made one of Student's t, leave out
that the errors of different pairs are off in different ways: of equal systems on a few dozen tasks too many families
had a wrong sign (`tests/ranking/test_null_score_tables.py` counts them). Resamples' own errors say how much [ET93]_.
A resample without the one task on which two systems differ has no error of its own: at least a quarter of the sample's
variance is taken.

References
----------
.. [ET93] B. Efron and R. J. Tibshirani. An Introduction to the Bootstrap, chapter 12. Chapman & Hall, 1993.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import counts
from rankbench.stats.columns import DenseColumns

__all__ = ["OwnErrors", "allowing_for_resamples"]

LEAST = 0.25
"""Share of the sample's variance that a resample's own one counts as at least."""

FEWEST = 1000
"""With fewer resamples, because more would take too long or too much memory, they are not studentized."""

_HELD = 25_000_000
"""Largest number of float64 that deviations are held as: 200 MB."""

_PRODUCTS = 20_000_000_000
"""Largest number of multiplications."""


def allowing_for_resamples(level: float, replicates: int) -> float:
    """Return the level at which a quantile of replicates is taken, so that it is no smaller than the true one in 95%.

    One normal standard error of a share above the level, times 1.645.
    """
    return float(min(level + 1.645 * np.sqrt(level * (1 - level) / replicates), 1.0))


@dataclass(frozen=True, eq=False)
class OwnErrors:
    """Deviations of resampled differences of pairs, in standard errors of their own.

    Attributes
    ----------
    values : ndarray of float64, shape (B, P)
    df : float
        Degrees of freedom of each error.
    """

    values: NDArray[np.float64]
    df: float

    @classmethod
    def of_pairs(cls, means: NDArray[np.float64], seed: int, replicates: int) -> OwnErrors | None:
        """Resample tasks; None where fewer than `FEWEST` resamples are affordable.

        Parameters
        ----------
        means : ndarray of float64, shape (T, S)
            What systems have on tasks; a score is the mean over tasks.
        seed, replicates : int
            At most so many.
        """
        tasks, systems = means.shape
        first, second = np.triu_indices(systems, 1)
        pairs = max(len(first), 1)
        affordable = min(replicates, _HELD // pairs, _PRODUCTS // (pairs * tasks))
        if affordable < min(FEWEST, replicates) or tasks < 3:
            return None
        differences = means[:, first] - means[:, second]
        differences -= differences.mean(axis=0)
        weights = counts(np.random.default_rng([seed, 2]), affordable, tasks) / (tasks - 1)
        deviations = weights @ differences
        # Of T - 1 tasks that were drawn, the variance of their mean.
        variances = (weights @ differences**2 - deviations**2) / (tasks - 2)
        np.maximum(variances, LEAST * differences.var(axis=0, ddof=1) / tasks, out=variances)
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations /= np.sqrt(variances)
        return cls(np.nan_to_num(deviations, nan=0.0, posinf=0.0, neginf=0.0), tasks - 1.0)

    def largest(self, se: NDArray[np.float64], sides: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return each resample's largest deviation among sides that stand, as the normal one of its level, shape (B,).

        Parameters
        ----------
        se : ndarray of float64, shape (P,)
            A pair whose standard error is 0 is left out.
        sides : ndarray of uint8, shape (P,)
            See `told_apart`.
        """
        from scipy.special import ndtri, stdtr

        live = (se > 0).astype(np.float64)
        found = DenseColumns(self.values).largest(np.zeros(len(live)), live, sides)
        return np.asarray(-ndtri(stdtr(self.df, -found)))
