"""Rank ranges: which places a contender may hold, all ranges together at the stated level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.results.stats.bootstrap import Crossed
from rankbench.results.stats.contrasts import contrasts, pairs

__all__ = ["rank_ranges"]


def rank_ranges(sample: Crossed, *, maximize: bool = False, level: float = 0.95) -> NDArray[np.int64]:
    """Return the smallest and the largest rank of every contender [MWR24]_.

    ``1 + (number significantly better) ... C - (number significantly worse)``, from
    simultaneous max-t intervals of all pairwise differences: with probability `level` at
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
    ranges = np.tile(np.array([1, arms], dtype=np.int64), (arms, 1))
    index, matrix = pairs(arms)
    intervals = contrasts(sample, -matrix if maximize else matrix, level)
    for (i, j), lower, upper in zip(index, intervals.lower, intervals.upper, strict=True):
        if upper < 0 or lower > 0:
            better, worse = (i, j) if upper < 0 else (j, i)
            ranges[worse, 0] += 1
            ranges[better, 1] -= 1
    return ranges
