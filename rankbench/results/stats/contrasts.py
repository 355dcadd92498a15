"""Linear contrasts of arms, over draws alone and over queries and draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.results.stats.bootstrap import Crossed
from rankbench.results.stats.critical import Sources
from rankbench.results.stats.simultaneous import Intervals, simultaneous

__all__ = ["FEWEST", "contrasts", "contrasts_over_draws", "pairs", "too_few"]

FEWEST = 4
"""Fewer units than this do not show how large a share of several variances is theirs."""


def too_few(draws: int) -> bool:
    """Return whether draws are several, but fewer than `FEWEST`: no mean is shown with an interval then.

    Two or three values have Student's t go where no value can be: a share below 0 or above 1.
    """
    return 1 < draws < FEWEST


def pairs(arms: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return all pairs i < j, shape (P, 2), and the matrix of contrasts i - j, shape (arms, P)."""
    index = np.stack(np.triu_indices(arms, 1), axis=1)
    matrix = np.zeros((arms, len(index)))
    matrix[index[:, 0], np.arange(len(index))] = 1.0
    matrix[index[:, 1], np.arange(len(index))] = -1.0
    return index, matrix


def contrasts(sample: Crossed, matrix: NDArray[np.float64], level: float = 0.95) -> Intervals:
    """Return simultaneous intervals that hold for other queries and other draws.

    Parameters
    ----------
    sample : Crossed
        C arms.
    matrix : ndarray of float64, shape (C, P)
        A contrast in every column.
    level : float, in (0, 1)
        Of all P intervals together.

    Notes
    -----
    With one draw the intervals are over queries alone, and with one query (or unit) they
    are those of `contrasts_over_draws`; callers say so. Where several contrasts share fewer than `FEWEST` draws (or
    queries), one of them is likely to have them agree by chance: their few degrees of
    freedom then count for the whole variance, and hardly anything is told apart.
    """
    if len(sample.queries) == 1:
        return contrasts_over_draws(sample, matrix, level)
    draws, queries = sample.draws @ matrix, sample.queries @ matrix
    units = [means.shape[0] for means in (draws, queries) if means.shape[0] > 1]
    sources = Sources.of(draws, queries)
    if matrix.shape[1] > 1 and min(units, default=FEWEST) < FEWEST:
        sources = Sources.only(matrix.shape[1], min(units) - 1.0)
    return simultaneous(
        sample.mean @ matrix,
        sample.replicates @ matrix,
        sources,
        units=min(units, default=1),
        level=level,
        spread=bool(units),
        certain=sample.certain(matrix),
    )


def contrasts_over_draws(sample: Crossed, matrix: NDArray[np.float64], level: float = 0.95) -> Intervals:
    """Return simultaneous intervals that hold for other draws on these very queries.

    A single contrast gets the interval of the paired t test; of several, the maximum is
    bootstrapped. Of one query whose draws are all the same there is none: that a thing
    was computed again is no draw.
    """
    draws = sample.draws @ matrix
    count = draws.shape[0]
    return simultaneous(
        sample.mean @ matrix,
        sample.draw_replicates @ matrix,
        Sources.only(matrix.shape[1], count - 1.0),
        units=count,
        level=level,
        spread=count > 1 and not sample.alike,
        se=draws.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else None,
        certain=sample.certain(matrix),
    )
