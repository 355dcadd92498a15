"""Contrasts compare contenders over repetitions, or over queries and repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import Contrasts, VarianceSources, contrasts_of
from rankbench.stats.simultaneous import SimultaneousIntervals, Studentized

FEWEST = 4
"""Fewer units than this do not show how large a share of several variances is theirs."""


def too_few(draws: int) -> bool:
    """Return whether repetitions are several, but fewer than `FEWEST`: no mean or difference has an interval then.

    Two or three values may agree by chance, or have Student's t go where no value can be: a share below 0 or above 1.
    """
    return 1 < draws < FEWEST


def too_few_to_rank(sample: Crossed) -> NDArray[np.bool_]:
    """Return the arms that have too few repetitions to be ranked, shape (C,).

    Their losses differ between repetitions, fewer than `FEWEST`; or there is one repetition of one unit.
    """
    draws, arms = sample.draws.shape
    if draws >= FEWEST or (draws == 1 and len(sample.queries) > 1):
        return np.zeros(arms, np.bool_)
    return np.ones(arms, np.bool_) if draws == 1 else ~sample.copied[0]


def contrasts(sample: Crossed, some: NDArray[np.float64] | Contrasts, level: float = 0.95) -> SimultaneousIntervals:
    """Return simultaneous intervals that hold for other queries and other repetitions.

    Parameters
    ----------
    sample : Crossed
        C arms.
    some : ndarray of float64, shape (C, P), or Contrasts
        A contrast in every column, or an equivalent of such a matrix.
    level : float, in (0, 1)
        Of all P intervals together.

    Returns
    -------
    SimultaneousIntervals
        Nan where repetitions are too few for an interval (`too_few`) and no copies.
    """
    return _where_known(sample, some, studentized_contrasts(sample, some).intervals(level))


def _where_known(
    sample: Crossed, some: NDArray[np.float64] | Contrasts, found: SimultaneousIntervals
) -> SimultaneousIntervals:
    """Remove intervals that rest on too few repetitions."""
    if not too_few(len(sample.draws)):
        return found
    copied = contrasts_of(some).copied(sample)
    lower, upper, flat = (np.where(copied, one, np.nan) for one in (found.lower, found.upper, found.flat))
    return replace(found, lower=lower, upper=upper, flat=flat)


def studentized_contrasts(sample: Crossed, some: NDArray[np.float64] | Contrasts) -> Studentized:
    """Return contrasts as they vary over other queries and other repetitions.

    Notes
    -----
    With one repetition they vary over queries alone, and with one query (or unit) as contrasts of
    `contrasts_over_draws`; callers say so. Where several contrasts share fewer than `FEWEST` repetitions (or
    queries), one of them is likely to have them agree by chance: their few degrees of
    freedom then count for the whole variance, and hardly any difference is significant. Contrasts of copies
    (`Crossed.copied`) vary over queries alone: repetitions of theirs are none.
    """
    if len(sample.queries) == 1:
        return _over_draws(sample, some)
    wanted = contrasts_of(some)
    draws, queries = wanted.contrast_rows(sample.draws), wanted.contrast_rows(sample.queries)
    copied = wanted.copied(sample)
    repeated = [] if copied.all() else [draws.rows]
    units = [rows for rows in (*repeated, queries.rows) if rows > 1]
    if wanted.count > 1 and min(units, default=FEWEST) < FEWEST:
        sources = VarianceSources((~copied).astype(np.float64), min(units) - 1.0, queries.rows - 1.0)
    else:
        sources = VarianceSources.from_means(draws, queries)
    return Studentized.from_replicates(
        wanted.means(sample.mean),
        wanted.contrast_rows(sample.replicates),
        sources,
        units=min(units, default=1),
        spread=bool(units),
        certain=wanted.certain(sample),
        size=float(np.abs(sample.mean).max()),
    )


def contrasts_over_draws(
    sample: Crossed, some: NDArray[np.float64] | Contrasts, level: float = 0.95
) -> SimultaneousIntervals:
    """Return simultaneous intervals that hold for other repetitions on these very queries.

    A single contrast gets the interval of the paired t test; of several, the maximum is
    bootstrapped. Of one query whose repetitions are all the same there is none: that a thing
    was computed again is no draw.
    """
    return _where_known(sample, some, _over_draws(sample, some).intervals(level))


def _over_draws(sample: Crossed, some: NDArray[np.float64] | Contrasts) -> Studentized:
    wanted = contrasts_of(some)
    draws = wanted.contrast_rows(sample.draws)
    return Studentized.from_replicates(
        wanted.means(sample.mean),
        wanted.contrast_rows(sample.draw_replicates),
        VarianceSources.only(wanted.count, draws.rows - 1.0),
        units=draws.rows,
        spread=draws.rows > 1 and not sample.alike,
        se=np.sqrt(draws.variances()) / np.sqrt(draws.rows) if draws.rows > 1 else None,
        certain=wanted.certain(sample),
        size=float(np.abs(sample.mean).max()),
    )


@dataclass(frozen=True)
class MeanIntervals:
    """Means with their t intervals; nan where repetitions are too few for one (`too_few`), or one alone.

    Attributes
    ----------
    mean, sd, se, lower, upper : ndarray of float64, shape (C,)
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class PairedIntervals(NamedTuple):
    """Paired differences with intervals that tell whether they are significant.

    Attributes
    ----------
    mean, lower, upper : ndarray of float64, shape (C,)
        Of a contender's mean minus that of another one; nan where there is no interval.
    words : str
        Kind of intervals, as "95% over queries and repetitions".
    """

    mean: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    words: str


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
        Factor of the standard errors, see `rankbench.stats.bootstrap`.
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


def within_range(
    mean: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    ends: tuple[float | None, float | None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return intervals of means, those by Wilson that would leave the range of the values.

    Few values of a share have Student's interval leave [0, 1]: no mean is normal there. With its half width h and a
    mean p inside of the range, Wilson's interval [Wil27]_ of the effective number of votes, p (1 - p) over the variance
    of the mean [KG98]_, is

    .. math:: \frac{p + c / 2 \mp \sqrt{h^2 + c^2 / 4}}{1 + c}, \quad c = \frac{h^2}{p (1 - p)}

    Parameters
    ----------
    mean, lower, upper : ndarray of float64, shape (C,)
        Symmetric intervals.
    ends : (float or None, float or None)
        Smallest and largest value; None: no bound, and intervals stay as they are.
    """
    low, high = ends
    if low is None or high is None:
        return lower, upper
    p, half = (mean - low) / (high - low), (upper - lower) / (2 * (high - low))
    past = ((lower < low) | (upper > high)) & (p > 0) & (p < 1)
    c = np.divide(half**2, p * (1 - p), out=np.zeros_like(half), where=past)
    middle, half = (p + c / 2) / (1 + c), np.sqrt(half**2 + c**2 / 4) / (1 + c)
    first, last = (low + (high - low) * (middle + side * half) for side in (-1, 1))
    return np.where(past, first, lower), np.where(past, last, upper)


def above_least(
    mean: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return intervals of scores bounded below by `least` alone, corrected if they would begin below it.

    They are the limit of Wilson's interval for a largest value far away, which is the score interval of a Poisson mean:
    with x the distance from the least value and h the half width,

    .. math:: x + \frac{h^2}{2 x} \mp \sqrt{h^2 + \frac{h^4}{4 x^2}}

    Parameters
    ----------
    mean, lower, upper : ndarray of float64, shape (C,)
        Symmetric intervals.
    least : float
    """
    half, past = (upper - lower) / 2, (lower < least) & (mean > least)
    more = np.divide(half**2, 2 * (mean - least), out=np.zeros_like(half), where=past)
    half = np.sqrt(half**2 + more**2)
    return np.where(past, mean + more - half, lower), np.where(past, mean + more + half, upper)


FEWEST_DRAWS = 8
"""With fewer, a resampled standard deviation is too often that of one repetition, which has none."""


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


def sd_ratios(sample: Crossed, index: NDArray[np.intp]) -> SimultaneousIntervals:
    """Return simultaneous 95% intervals of log sd ratios over resampled queries and repetitions.

    Parameters
    ----------
    sample : Crossed
        C arms.
    index : ndarray of intp, shape (P, 2)
        Arms a and b of each ratio.

    Returns
    -------
    Intervals
        Of ``log(sd_a / sd_b)``, standard deviations of means over queries; nan with
        fewer than `FEWEST_DRAWS` repetitions or where a spread is zero.
    """
    draws = sample.draws.shape[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(sample.draws.std(axis=0, ddof=1)) if draws > 1 else np.full(sample.draws.shape[1], np.nan)
        estimate = logs[index[:, 0]] - logs[index[:, 1]]
        replicates = sample.log_sds[:, index[:, 0]] - sample.log_sds[:, index[:, 1]]
    kept = np.isfinite(replicates).all(axis=1)
    usable = draws >= FEWEST_DRAWS and kept.mean() > 0.99 and bool(np.isfinite(estimate).all())
    sources = VarianceSources.only(len(index), draws - 2.0)
    return Studentized.from_replicates(estimate, replicates[kept], sources, units=draws, spread=usable).intervals()
