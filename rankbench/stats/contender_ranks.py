r"""Ranks: ranges that hold together, a set that holds the best of several estimates, tiers, and shares of resamples.

Estimate i is not the best if another is significantly ahead of it: :math:`\max_j (s_j - s_i) / \sigma_{ij}` exceeds the
quantile of the largest such deviation [Hsu84]_. One hypothesis, of the true best, is true, so nothing is paid for the
tests of the others: C - 1 one-sided comparisons have smaller critical values than C (C - 1) in ranges of all ranks.

`ranges_from_first` cuts ranges by this set. It makes no range wrong but that of a best one outside of the set, so the
errors of both statements add up at most. They hardly do: ranges are wrong most often where all are nearly equal, and
then half of their tests are of true orders. Of 1,000 tables of ten nearly equal systems on 100 tasks 5.0% had a wrong
range after the cut (1.4% before), of 1,000 logs of twelve nearly equal items 5.6% (0.5%), and with judges 4.4% (0.3%):
`make coverage`. Farther apart it was 0% to 3%. Equal ones have no order: the cut leaves one that all ranges allow.

References
----------
.. [Hsu84] J. C. Hsu. Constrained simultaneous confidence intervals for multiple comparisons with the best. Annals of
   Statistics 12(3), 1984.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import AllPairs, rounding
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.simultaneous import FEW, OwnErrors, Studentized


def possible_best(
    estimate: NDArray[np.float64],
    se: NDArray[np.float64],
    critical: Callable[[int, NDArray[np.intp], float], NDArray[np.float64]],
    largest: Callable[[int, NDArray[np.intp]], NDArray[np.float64]] | None,
    level: float = 0.95,
    quantile: float | None = None,
    possible: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return which of C estimates may be the best: the best is among them with probability `level`.

    Parameters
    ----------
    estimate : ndarray of float64, shape (C,)
        More is better.
    se : ndarray of float64, shape (C, C)
        Standard errors of differences; 0 of two that are not compared.
    critical : callable
        Two-sided critical values of one estimate against some, shape (k,), at a level between 0 and 1.
    largest : callable, optional
        Largest studentized deviation of some estimates from one in each replicate, shape (B,), as the normal one of its
        level. Without it: Bonferroni's level.
    level : float, in (1/2, 1)
    quantile : float, optional
        Of the largest deviations; `level` by default. A larger one allows for replicates being few.
    possible : ndarray of bool, shape (C,), optional
        Estimates that may be the best by other tests; all by default. The others are not tested.
    """
    from scipy.special import ndtr, ndtri

    alpha, kept = 1 - level, np.ones(len(estimate), np.bool_) if possible is None else possible.copy()
    # No critical value is less than the normal one of a single comparison.
    least = float(ndtri(level))
    for i in np.flatnonzero(kept).tolist():
        ahead = estimate - estimate[i]
        compared, near = np.flatnonzero(se[i] > 0), np.flatnonzero((se[i] > 0) & (ahead > least * se[i]))
        if not len(near):
            continue
        local = alpha / len(compared)
        if largest is not None:
            local = min(max(local, float(ndtr(-np.quantile(largest(i, compared), quantile or level)))), alpha)
        kept[i] = not (ahead[near] > critical(i, near, 2 * local) * se[i, near]).any()
    return kept


def ranges_from_first(
    low: NDArray[np.int64], high: NDArray[np.int64], first: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ranges of ranks, shapes (C,), that begin with 1 where an item may be the first, and nowhere else.

    Where one alone may be the first, it has rank 1.
    """
    return np.where(first, low, np.maximum(low, 2)), np.where(first, 1, high) if first.sum() == 1 else high


def best_of_arms(
    estimate: NDArray[np.float64],
    replicates: NDArray[np.float64],
    paired: Studentized,
    *,
    level: float = 0.95,
    quantile: float | None = None,
    own: OwnErrors | None = None,
    possible: NDArray[np.bool_] | None = None,
    hidden: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return which of C arms may be the best, shape (C,), by resampled means.

    Parameters
    ----------
    estimate : ndarray of float64, shape (C,)
        Means; more is better.
    replicates : ndarray of float64, shape (B, C)
        Resampled means.
    paired : Studentized
        Of all differences i - j, i < j; rankbench does not compare pairs without a standard error. With fewer than 30
        units the level is Bonferroni's.
    level, quantile, possible
        As in `possible_best`.
    own : OwnErrors, optional
        Resamples with their own standard errors, in place of `replicates`.
    hidden : ndarray of bool, shape (P,), optional
        Pairs that are compared, and not told apart: see `rankbench.stats.skewness`.
    """
    from scipy.special import ndtri, stdtr

    arms, sources = len(estimate), paired.sources
    if sources is None:
        return np.ones(arms, np.bool_) if possible is None else possible
    first, second = np.triu_indices(arms, 1)
    pair, se = np.zeros((arms, arms), np.intp), np.zeros((arms, arms))
    pair[first, second] = pair[second, first] = np.arange(len(first))
    se[first, second] = se[second, first] = paired.se
    tested = se.copy()
    if hidden is not None:
        tested[first[hidden], second[hidden]] = tested[second[hidden], first[hidden]] = np.inf
    deviations = replicates - estimate

    def largest(i: int, others: NDArray[np.intp]) -> NDArray[np.float64]:
        if own is None:
            return np.asarray(((deviations[:, others] - deviations[:, [i]]) / se[i, others]).max(axis=1))
        ahead = (own.values[:, pair[i, others]] * np.where(others < i, 1.0, -1.0)).max(axis=1)
        return np.asarray(-ndtri(stdtr(own.df, -ahead)))

    def critical(i: int, others: NDArray[np.intp], local: float) -> NDArray[np.float64]:
        return replace(sources, share=sources.share[pair[i, others]]).quantile(local)

    bootstrap = largest if paired.units >= FEW else None
    return possible_best(estimate, tested, critical, bootstrap, level, quantile, possible)


def contender_rank_ranges(sample: Crossed, *, maximize: bool = False, level: float = 0.95) -> NDArray[np.int64]:
    """Return the smallest and the largest rank of every contender [MWR24]_.

    ``1 + (number significantly better) ... C - (number significantly worse)``, from step-down max-t tests of all
    ordered pairs (`rankbench.stats.multiple_tests.told_apart`): with probability `level` at least, every range covers
    its contender's true rank.

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
    return _ranges(_all_pairs(sample), len(sample.mean), maximize=maximize, level=level)


def ranges_from_the_best(sample: Crossed, *, maximize: bool = False) -> NDArray[np.int64]:
    """Return the ranges of `contender_rank_ranges`, shape (C, 2), from 1 where a contender may be the best.

    See `rankbench.stats.contender_ranks.ranges_from_first`.
    """
    paired = _all_pairs(sample)
    low, high = _ranges(paired, len(sample.mean), maximize=maximize, level=0.95).T
    first = _that_may_be_best(sample, paired, maximize=maximize, possible=low == 1)
    return np.stack(ranges_from_first(low, high, first), axis=1)


def contenders_that_may_be_best(sample: Crossed, *, maximize: bool = False) -> NDArray[np.bool_]:
    """Return which of C contenders may be the best, shape (C,): the best is among them with probability 95%.

    Parameters are those of `contender_rank_ranges`; see `rankbench.stats.contender_ranks`.
    """
    return _that_may_be_best(sample, _all_pairs(sample), maximize=maximize)


def _all_pairs(sample: Crossed) -> Studentized:
    """Return the differences of all contenders i < j."""
    return studentized_contrasts(sample, AllPairs(len(sample.mean)))


def _ranges(paired: Studentized, arms: int, *, maximize: bool, level: float) -> NDArray[np.int64]:
    signs = paired.signs(level)
    return rank_ranges_of_signs(signs if maximize else -signs, arms)


def _that_may_be_best(
    sample: Crossed, paired: Studentized, *, maximize: bool, possible: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    sign = 1.0 if maximize else -1.0
    replicates = sample.replicates if len(sample.queries) > 1 else sample.draw_replicates
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
