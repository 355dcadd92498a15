"""Ranks of contenders: ranges that hold together, what may be the best, tiers, and shares of resamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.best import best_of_arms, ranges_from_first
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import AllPairs, rounding
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.simultaneous import Studentized


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

    See `rankbench.stats.best.ranges_from_first`.
    """
    paired = _all_pairs(sample)
    low, high = _ranges(paired, len(sample.mean), maximize=maximize, level=0.95).T
    first = _that_may_be_best(sample, paired, maximize=maximize, possible=low == 1)
    return np.stack(ranges_from_first(low, high, first), axis=1)


def contenders_that_may_be_best(sample: Crossed, *, maximize: bool = False) -> NDArray[np.bool_]:
    """Return which of C contenders may be the best, shape (C,): the best is among them with probability 95%.

    Parameters are those of `contender_rank_ranges`; see `rankbench.stats.best`.
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
