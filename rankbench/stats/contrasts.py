"""Contrasts compare contenders over repetitions, or over queries and repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.best import best_of_arms, ranges_from_first
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import AllPairs, Contrasts, VarianceSources, contrasts_of, rounding
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


def sd_ratios(sample: Crossed, index: NDArray[np.intp], level: float = 0.95) -> SimultaneousIntervals:
    """Return simultaneous intervals of log sd ratios over resampled queries and repetitions.

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
    return Studentized.from_replicates(estimate, replicates[kept], sources, units=draws, spread=usable).intervals(level)


def contender_rank_ranges(sample: Crossed, *, maximize: bool = False, level: float = 0.95) -> NDArray[np.int64]:
    """Return the smallest and the largest rank of every contender [MWR24]_.

    ``1 + (number significantly better) ... C - (number significantly worse)``, from
    step-down max-t tests of all ordered pairs, see `told_apart`: with probability `level` at
    least, every range covers its contender's true rank.

    Parameters
    ----------
    sample : Crossed
        C contenders.
    maximize : bool
        More is better.
    level : float, in (0, 1)

    Returns
    -------
    ndarray of int64, shape (C, 2)
    """
    arms = sample.draws.shape[1]
    signs = studentized_contrasts(sample, AllPairs(arms)).signs(level)
    return rank_ranges_of_signs(signs if maximize else -signs, arms)


def ranges_from_the_best(sample: Crossed, *, maximize: bool = False) -> NDArray[np.int64]:
    """Return the ranges of `contender_rank_ranges`, shape (C, 2), from 1 where a contender may be the best.

    See `rankbench.stats.best.ranges_from_first`.
    """
    low, high = contender_rank_ranges(sample, maximize=maximize).T
    first = contenders_that_may_be_best(sample, maximize=maximize, possible=low == 1)
    return np.stack(ranges_from_first(low, high, first), axis=1)


def contenders_that_may_be_best(
    sample: Crossed, *, maximize: bool = False, possible: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return which of C contenders may be the best, shape (C,): the best is among them with probability 95%.

    Parameters are those of `contender_rank_ranges` and `rankbench.stats.best.possible_best`.
    """
    sign = 1.0 if maximize else -1.0
    replicates = sample.replicates if len(sample.queries) > 1 else sample.draw_replicates
    paired = studentized_contrasts(sample, AllPairs(len(sample.mean)))
    return best_of_arms(sign * sample.mean, sign * replicates, paired, possible=possible)


def rank_ranges_of_signs(signs: NDArray[np.int8], arms: int) -> NDArray[np.int64]:
    """Return the smallest and the largest rank of C contenders, shape (C, 2), from the signs of all differences.

    Parameters
    ----------
    signs : ndarray of int8, shape (C (C - 1) / 2,)
        Of i - j for all i < j, more being better; 0 where the difference is not significant.
    arms : int
        C.
    """
    first, second = np.triu_indices(arms, 1)
    lower, upper = signs < 0, signs > 0
    # lower: the first of the two is worse.
    worse = np.concatenate([first[lower], second[upper]])
    better = np.concatenate([second[lower], first[upper]])
    return np.stack(
        [1 + np.bincount(worse, minlength=arms), arms - np.bincount(better, minlength=arms)], axis=1
    ).astype(np.int64)


def significance_tiers(signs: NDArray[np.int8], arms: int) -> NDArray[np.int64]:
    """Return the tier of each of C contenders, from 1, shape (C,).

    The first tier has the contenders that none is significantly better than: they are tied with the first. The next
    tier is the first tier of the others, and so on.

    Parameters
    ----------
    signs, arms
        As in `rank_ranges_of_signs`.
    """
    better = np.zeros((arms, arms), np.bool_)
    first, second = np.triu_indices(arms, 1)
    better[first[signs > 0], second[signs > 0]] = True
    better[second[signs < 0], first[signs < 0]] = True
    tiers, left, tier = np.zeros(arms, np.int64), np.ones(arms, np.bool_), 0
    while left.any():
        tier += 1
        ahead = left & ~better[left].any(axis=0)
        # The better one is higher, so there is no circle.
        tiers[ahead] = tier
        left &= ~ahead
    return tiers


def top_shares(replicates: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the share of replicates in which each of C contenders is among the first k, shape (C,).

    Contenders that are equal at the last of the k places share the places left: the sum is k.

    Parameters
    ----------
    replicates : ndarray of float64, shape (B, C)
        More is better.
    k : int
        From 1 to C.
    """
    arms = replicates.shape[1]
    last = np.partition(replicates, arms - k, axis=1)[:, [arms - k]]
    unit = rounding(replicates)
    above, level = replicates > last + unit, np.abs(replicates - last) <= unit
    # Rounding of equal numbers is no order.
    share = (k - above.sum(axis=1)) / level.sum(axis=1)
    return np.asarray((above + level * share[:, None]).mean(axis=0))
