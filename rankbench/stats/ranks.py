"""Rank ranges: which places a contender may hold, all ranges together at the stated level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.columns import AllPairs
from rankbench.stats.contrasts import studentized_contrasts

__all__ = ["contender_rank_ranges"]


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
    first, second = np.triu_indices(arms, 1)
    lower, upper = (signs < 0, signs > 0) if maximize else (signs > 0, signs < 0)
    # lower: the first of the two is worse.
    worse = np.concatenate([first[lower], second[upper]])
    better = np.concatenate([second[lower], first[upper]])
    return np.stack(
        [1 + np.bincount(worse, minlength=arms), arms - np.bincount(better, minlength=arms)], axis=1
    ).astype(np.int64)
