"""Simultaneous intervals come from the maximum of t statistics, or from a bootstrap-t.

Replicates that are divided by the standard errors of the sample, and their quantile made one of Student's t, leave out
that the errors of different pairs are off in different ways: of equal systems on a few dozen tasks too many families
had a wrong sign (`tests/systems/test_null_score_tables.py` counts them). Resamples' own errors say how much [ET93]_.
A resample without the one task on which two systems differ has no error of its own: at least a quarter of the sample's
variance is taken.

References
----------
.. [ET93] B. Efron and R. J. Tibshirani. An Introduction to the Bootstrap, chapter 12. Chapman & Hall, 1993.

The largest of P studentized deviations is bootstrapped together with all others
[WY93]_, so that contrasts which go up and down together are not paid for twice. Its
quantile c says how strict a single interval has to be, a local level 2 Phi(-c); each
contrast then uses a t quantile at that level, see `VarianceSources`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import counts
from rankbench.stats.contrast_columns import Columns, DenseColumns, VarianceSources, rounding
from rankbench.stats.multiple_tests import told_apart

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
            Results of systems on tasks; a score is the mean over tasks.
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
        """Return each resample's largest deviation over `sides`, as a normal quantile of the same level, shape (B,).

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


FEW = 30
"""With fewer resampled units a bootstrap of the maximum is too coarse: Bonferroni instead."""


@dataclass(frozen=True)
class SimultaneousIntervals:
    """P estimates with simultaneous intervals.

    Attributes
    ----------
    estimate, se, lower, upper : ndarray of float64, shape (P,)
        ``lower`` and ``upper`` are nan where there is nothing to estimate a spread from.
    local : float
        Level of a single interval, 1 - `local` being its coverage.
    sources : VarianceSources or None
        Where the variances come from; None where no spread was estimated.
    flat : ndarray of float64, shape (P,)
        0 where an estimate without spread is believed to have none, else nan.
    """

    estimate: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    local: float
    sources: VarianceSources | None
    flat: NDArray[np.float64]

    @cached_property
    def p(self) -> NDArray[np.float64]:
        """Two-sided p-value of each estimate alone, not adjusted, shape (P,); worked out when asked for."""
        if self.sources is None:
            return np.full(self.estimate.shape, np.nan)
        live = self.se > 0
        t = np.divide(self.estimate, self.se, out=np.zeros_like(self.estimate), where=live)
        none = np.where(np.abs(self.estimate) <= rounding(self.estimate), 1.0, 0.0) + self.flat
        return np.where(live, self.sources.p(t) + 0.0 * self.lower, none)


def p_values(found: Sequence[SimultaneousIntervals]) -> NDArray[np.float64]:
    """Return the p-values of several single contrasts of the same sample, worked out together, shape (len(found),)."""
    if not found or any(one.sources is None for one in found):
        return np.array([one.p[0] for one in found], dtype=np.float64)
    sources = [one.sources for one in found if one.sources is not None]
    together = replace(sources[0], share=np.concatenate([one.share for one in sources]))
    estimate, se = (np.concatenate([getattr(one, name) for one in found]) for name in ("estimate", "se"))
    t = np.divide(estimate, se, out=np.zeros_like(estimate), where=se > 0)
    # Where nothing varies there is no t: each says by itself what that means. Without an interval there is no p.
    known = np.array([0.0 * one.lower[0] for one in found])
    return np.where(se > 0, together.p(t) + known, [one.p[0] if one.se[0] == 0 else 0.0 for one in found])


@dataclass(frozen=True)
class Studentized:
    """P estimates, their standard errors, and replicates that show how they vary together.

    Attributes
    ----------
    estimate, se : ndarray of float64, shape (P,)
        A standard error of 0 where nothing varies; nan where no spread is to be had.
    columns : Columns
        Replicates, shape (B, P).
    sources : VarianceSources or None
        Of each standard error; None where there is none.
    units : int
        Number of units in the smallest sample that is resampled.
    flat : ndarray of float64, shape (P,)
        0 where an estimate without spread is believed to have none, else nan.
    """

    estimate: NDArray[np.float64]
    se: NDArray[np.float64]
    columns: Columns
    sources: VarianceSources | None
    units: int
    flat: NDArray[np.float64]

    @classmethod
    def from_replicates(
        cls,
        estimate: NDArray[np.float64],
        replicates: NDArray[np.float64] | Columns,
        sources: VarianceSources,
        *,
        units: int,
        spread: bool = True,
        se: NDArray[np.float64] | None = None,
        certain: NDArray[np.bool_] | None = None,
        size: float = 1.0,
    ) -> Studentized:
        """Studentize with the bootstrap's own standard errors.

        Parameters
        ----------
        estimate : ndarray of float64, shape (P,)
        replicates : ndarray of float64, shape (B, P), or Columns
        sources : VarianceSources
            Of each standard error, for the critical values.
        units : int
            Number of units in the smallest sample that is resampled (of more than one unit).
        spread : bool
            False if nothing was resampled (one repetition and one query): nothing is known then.
        se : ndarray of float64, shape (P,), optional
            Standard errors to use instead, where there is a formula.
        certain : ndarray of bool, shape (P,), optional
            Estimates with a spread that is not taken for rounding; all by default.
        size : float
            Of the numbers that the estimates are sums and differences of.

        Notes
        -----
        An estimate that is zero in every replicate (identical contenders) has the interval
        [0, 0]; one that is the same in every replicate has a point as its interval. Without
        `certain` neither has an interval: it is nan. A remainder of rounding is zero: two
        ways to compute the same thing differ in last bits, which are the machine's and say nothing.
        """
        columns = DenseColumns(replicates) if isinstance(replicates, np.ndarray) else replicates
        if not spread:
            missing = np.full(estimate.shape, np.nan)
            return cls(estimate, missing, columns, None, units, missing)
        se = np.sqrt(columns.variances()) if se is None else se
        nothing = rounding(estimate, size)
        se = np.where(se <= nothing, 0.0, se)
        estimate = np.where((se == 0) & (np.abs(estimate) <= nothing), 0.0, estimate)
        flat = np.zeros(estimate.shape) if certain is None else np.where(certain, 0.0, np.nan)
        return cls(estimate, se, columns, sources, units, flat)

    def intervals(self, level: float = 0.95) -> SimultaneousIntervals:
        """Return intervals that hold all at once.

        Parameters
        ----------
        level : float, in (0, 1)
        """
        from scipy.special import ndtr

        if self.sources is None:
            missing = np.full(self.estimate.shape, np.nan)
            return SimultaneousIntervals(self.estimate, missing, missing, missing, 1 - level, None, missing)
        live = self.se > 0
        contrasts = int(live.sum())
        alpha = 1 - level
        local = alpha
        if contrasts > 1:
            local = alpha / contrasts
            if self.units >= FEW:
                bootstrap = float(2 * ndtr(-np.quantile(self.columns.largest(self.estimate, self.se), level)))
                local = min(max(local, bootstrap), alpha)
        half = np.where(live, self.sources.quantile(local) * self.se, self.flat)
        return SimultaneousIntervals(
            self.estimate, self.se, self.estimate - half, self.estimate + half, local, self.sources, self.flat
        )

    def signs(
        self, level: float = 0.95, own: OwnErrors | None = None, quantile: float | None = None
    ) -> NDArray[np.int8]:
        """Return the sign of each significant estimate, else 0, shape (P,): see `told_apart`.

        Parameters
        ----------
        level : float, in (0, 1)
            Of there being no wrong sign among all.
        own : OwnErrors, optional
            Resamples with their own standard errors, in place of `columns`.
        quantile : float, optional
            See `told_apart`.
        """
        if self.sources is None:
            return np.zeros(self.estimate.shape, np.int8)
        live = self.se > 0

        def largest(sides: NDArray[np.uint8]) -> NDArray[np.float64]:
            return self.columns.largest(self.estimate, self.se, sides) if own is None else own.largest(self.se, sides)

        found = told_apart(
            self.estimate,
            self.se,
            self.sources.quantile,
            largest if self.units >= FEW else None,
            level,
            quantile=quantile,
        )
        # Without spread an estimate is its own interval where that is believed.
        return np.where(live | np.isnan(self.flat), found, np.sign(self.estimate)).astype(np.int8)
