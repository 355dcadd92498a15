"""Simultaneous max-t intervals: all of them cover at once, at the stated level.

The largest of P studentized deviations is bootstrapped together with all others
[WY93]_, so that contrasts which go up and down together are not paid for twice. Its
quantile c says how strict a single interval has to be, a local level 2 Phi(-c); each
contrast then uses a t quantile at that level, see `Sources`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rankbench.results.stats.critical import Sources

__all__ = ["FEW", "Intervals", "simultaneous"]

FEW = 30
"""With fewer resampled units a bootstrap of the maximum is too coarse: Bonferroni instead."""

_ZERO = 1e-12


@dataclass(frozen=True)
class Intervals:
    """P estimates with simultaneous intervals.

    Attributes
    ----------
    estimate, se, lower, upper : ndarray of float64, shape (P,)
        ``lower`` and ``upper`` are nan where there is nothing to estimate a spread from.
    p : ndarray of float64, shape (P,)
        Two-sided p-value of each estimate alone, not adjusted.
    local : float
        Level of a single interval, 1 - `local` being its coverage.
    """

    estimate: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    p: NDArray[np.float64]
    local: float


def simultaneous(
    estimate: NDArray[np.float64],
    replicates: NDArray[np.float64],
    sources: Sources,
    *,
    units: int,
    level: float = 0.95,
    spread: bool = True,
    se: NDArray[np.float64] | None = None,
    certain: NDArray[np.bool_] | None = None,
) -> Intervals:
    """Return simultaneous intervals, studentized with the bootstrap's own standard errors.

    Parameters
    ----------
    estimate : ndarray of float64, shape (P,)
    replicates : ndarray of float64, shape (B, P)
    sources : Sources
        Of each standard error, for the critical values.
    units : int
        Number of units in the smallest sample that is resampled (of more than one unit).
    level : float, in (0, 1)
    spread : bool
        False if nothing was resampled (one draw and one query): no interval then.
    se : ndarray of float64, shape (P,), optional
        Standard errors to use instead, where there is a formula.
    certain : ndarray of bool, shape (P,), optional
        Estimates of which no spread is believed; all by default.

    Notes
    -----
    An estimate that is zero in every replicate (identical contenders) has the interval
    [0, 0]; one that is the same in every replicate has a point as its interval. Without
    `certain` neither has an interval: it is nan.
    """
    scale = _ZERO * max(1.0, float(np.abs(estimate).max(initial=0.0)))
    missing = np.full(estimate.shape, np.nan)
    if not spread:
        return Intervals(estimate, missing, missing, missing, missing, 1 - level)
    se = replicates.std(axis=0, ddof=1) if se is None else se
    se = np.where(se <= scale, 0.0, se)
    live = se > 0
    contrasts = int(live.sum())
    alpha = 1 - level
    local = alpha
    if contrasts > 1:
        local = alpha / contrasts
        if units >= FEW:
            largest = np.abs((replicates[:, live] - estimate[live]) / se[live]).max(axis=1)
            bootstrap = float(2 * ndtr(-np.quantile(largest, level)))
            local = min(max(local, bootstrap), alpha)
    flat = np.zeros(estimate.shape) if certain is None else np.where(certain, 0.0, np.nan)
    half = np.where(live, sources.quantile(local) * se, flat)
    t = np.divide(estimate, se, out=np.zeros_like(estimate), where=live)
    p = np.where(live, sources.p(t), np.where(np.abs(estimate) <= scale, 1.0, 0.0) + flat)
    return Intervals(estimate, se, estimate - half, estimate + half, p, local)
