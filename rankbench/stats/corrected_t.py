"""The corrected resampled t test, for repetitions that share training data."""

from __future__ import annotations

import math
from dataclasses import replace

from rankbench.stats.bootstrap import Crossed

__all__ = ["widened_for_overlap", "widening"]


def widening(splits: int, test_share: float | None) -> float:
    """Return the factor by which standard errors over J overlapping splits are too small [NB03]_.

    The variance of a mean of differences is (1/J + test / train) s^2 instead of s^2 / J:
    splits that train on the same observations are not independent. For means of random
    subsets of one pool the same factor, of the share of the pool that is in a subset, is
    exact: it undoes the correction for finite populations.

    Parameters
    ----------
    splits : int
        J.
    test_share : float, in (0, 1), or None
        Share of a split's observations that is in its test part; 1/K for K folds. None:
        repetitions are independent, and the factor is 1.
    """
    return 1.0 if test_share is None else math.sqrt(1 + splits * test_share / (1 - test_share))


def widened_for_overlap(sample: Crossed, test_share: float | None) -> Crossed:
    """Return a sample whose deviations over draws are those of the corrected resampled t.

    Its intervals over draws are then, for one contrast, exactly the corrected ones.
    """
    factor = widening(len(sample.draws), test_share)
    if factor == 1.0:
        return sample
    mean = sample.mean
    return replace(
        sample,
        draws=mean + factor * (sample.draws - mean),
        replicates=mean + factor * (sample.replicates - mean),
        draw_replicates=mean + factor * (sample.draw_replicates - mean),
        log_sds=sample.log_sds + math.log(factor),
    )
