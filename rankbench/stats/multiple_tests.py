"""Tests of several hypotheses control the family's error: Holm, step-down, equivalence.

References
----------
.. [Holm79] S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of
   Statistics 6(2), 1979.

Of P differences of pairs there are 2 P one-sided hypotheses, "the first of the two is not
greater" and "the second is not". The largest studentized deviation among all that stand
has a bootstrapped quantile; what exceeds it is rejected, and the rest is tested again
against the quantile of what still stands, until nothing more is rejected [MWR24]_ [RW05]_.
The first step is that of simultaneous two-sided intervals, so that nothing is lost beside
them; every later one is less strict. The share of families with a wrong rejection is at
most 1 - level: as long as none is wrong, all true hypotheses are among those that stand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values adjusted for the family, step down [Holm79]_.

    Parameters
    ----------
    p : ndarray of float64, shape (P,)
        Nan where there was no test; it is left out of the family.

    Returns
    -------
    ndarray of float64, shape (P,)
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


FIRST, SECOND = np.uint8(1), np.uint8(2)
"""Bits of a pair's hypotheses that stand: that the first is not greater, that the second is not."""


def told_apart(
    difference: NDArray[np.float64],
    se: NDArray[np.float64],
    critical: Callable[[float], NDArray[np.float64]],
    largest: Callable[[NDArray[np.uint8]], NDArray[np.float64]] | None,
    level: float = 0.95,
    hypotheses: int | None = None,
    quantile: float | None = None,
) -> NDArray[np.int8]:
    """Return the sign of each significant difference, else 0, shape (P,).

    Parameters
    ----------
    difference, se : ndarray of float64, shape (P,)
        A standard error of 0 takes a pair out.
    critical : callable
        Two-sided critical values at a level between 0 and 1, shape (P,).
    largest : callable, optional
        Largest studentized deviation of each replicate, shape (B,), over the hypotheses that
        stand, a mask of `FIRST` and `SECOND`, shape (P,). Without it: Holm's levels, those
        of Bonferroni for what stands.
    level : float, in (1/2, 1)
        Of there being no wrong sign among all.
    hypotheses : int, optional
        Number of one-sided hypotheses that stand at first; two for each pair with a spread
        by default.
    quantile : float, optional
        Of the largest deviations; `level` by default. A larger one allows for replicates being few.
    """
    from scipy.special import ndtr

    alpha = 1 - level
    live = se > 0
    standing = np.where(live, FIRST | SECOND, np.uint8(0))
    count = 2 * int(live.sum()) if hypotheses is None else hypotheses
    found = np.zeros(difference.shape, np.int8)
    size = np.abs(difference)
    # No step is less strict than this.
    possible = live & (size > critical(alpha) * se)
    while (possible & (found == 0)).any():
        local = 2 * alpha / count
        if largest is not None and local < alpha:
            local = max(local, min(float(2 * ndtr(-np.quantile(largest(standing), quantile or level))), alpha))
        rejected = possible & (found == 0) & (size > critical(local) * se)
        if not rejected.any():
            break
        found[rejected] = np.sign(difference[rejected])
        standing[rejected & (difference > 0)] = SECOND
        standing[rejected & (difference < 0)] = FIRST
        count -= int(rejected.sum())
    return found


def equivalent(lower: NDArray[np.float64], upper: NDArray[np.float64], margin: float) -> NDArray[np.bool_]:
    """Return whether an interval lies within the margin: two one-sided tests in one [Sch87]_.

    An interval of coverage 1 - 2a inside (-margin, margin) rejects both one-sided nulls
    at level a; nan never does.

    Parameters
    ----------
    lower, upper : ndarray of float64, shape (P,)
    margin : float, > 0
        Largest difference that does not matter.
    """
    return np.asarray((lower > -margin) & (upper < margin))


def not_equivalent(lower: NDArray[np.float64], upper: NDArray[np.float64], margin: float) -> NDArray[np.bool_]:
    """Return whether an interval lies entirely outside the margin."""
    return np.asarray((lower > margin) | (upper < -margin))
