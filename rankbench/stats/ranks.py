"""Rank ranges: which places a contender may hold, all ranges together at the stated level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.columns import AllPairs
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.rounding import rounding

__all__ = ["contender_rank_ranges", "rank_ranges_of_signs", "significance_tiers", "top_shares"]


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
        Whether more is better.
    level : float, in (0, 1)

    Returns
    -------
    ndarray of int64, shape (C, 2)
    """
    arms = sample.draws.shape[1]
    signs = studentized_contrasts(sample, AllPairs(arms)).signs(level)
    return rank_ranges_of_signs(signs if maximize else -signs, arms)


def rank_ranges_of_signs(signs: NDArray[np.int8], arms: int) -> NDArray[np.int64]:
    """Return the smallest and the largest rank of C contenders, shape (C, 2), of the signs of all differences.

    Parameters
    ----------
    signs : ndarray of int8, shape (C (C - 1) / 2,)
        Of i - j for all i < j, more being better; 0 where nothing is told apart.
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

    In the first tier are those that nobody is significantly better than: they are tied with the first. The next
    one is the first tier of those that are left, and so on.

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
        # What is better is higher, so there is no circle.
        tiers[ahead] = tier
        left &= ~ahead
    return tiers


def top_shares(replicates: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the share of replicates in which each of C contenders is among the first k, shape (C,).

    Contenders that are equal at the last of the k places share what is left of these: the sum is k.

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
    # What rounding makes of equal numbers is no order.
    share = (k - above.sum(axis=1)) / level.sum(axis=1)
    return np.asarray((above + level * share[:, None]).mean(axis=0))
