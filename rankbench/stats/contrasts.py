"""Linear contrasts of arms, over draws alone and over queries and draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.bootstrap import Crossed
from rankbench.stats.columns import Contrasts, contrasts_of
from rankbench.stats.critical import VarianceSources
from rankbench.stats.simultaneous import SimultaneousIntervals, Studentized

__all__ = ["FEWEST", "contrasts", "contrasts_over_draws", "pairs", "studentized_contrasts", "too_few"]

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


def contrasts(sample: Crossed, some: NDArray[np.float64] | Contrasts, level: float = 0.95) -> SimultaneousIntervals:
    """Return simultaneous intervals that hold for other queries and other draws.

    Parameters
    ----------
    sample : Crossed
        C arms.
    some : ndarray of float64, shape (C, P), or Contrasts
        A contrast in every column, or what stands for such a matrix.
    level : float, in (0, 1)
        Of all P intervals together.
    """
    return studentized_contrasts(sample, some).intervals(level)


def studentized_contrasts(sample: Crossed, some: NDArray[np.float64] | Contrasts) -> Studentized:
    """Return contrasts as they vary over other queries and other draws.

    Notes
    -----
    With one draw they vary over queries alone, and with one query (or unit) as those of
    `contrasts_over_draws`; callers say so. Where several contrasts share fewer than `FEWEST` draws (or
    queries), one of them is likely to have them agree by chance: their few degrees of
    freedom then count for the whole variance, and hardly anything is told apart.
    """
    if len(sample.queries) == 1:
        return _over_draws(sample, some)
    wanted = contrasts_of(some)
    draws, queries = wanted.contrast_rows(sample.draws), wanted.contrast_rows(sample.queries)
    units = [means.rows for means in (draws, queries) if means.rows > 1]
    if wanted.count > 1 and min(units, default=FEWEST) < FEWEST:
        sources = VarianceSources.only(wanted.count, min(units) - 1.0)
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
    """Return simultaneous intervals that hold for other draws on these very queries.

    A single contrast gets the interval of the paired t test; of several, the maximum is
    bootstrapped. Of one query whose draws are all the same there is none: that a thing
    was computed again is no draw.
    """
    return _over_draws(sample, some).intervals(level)


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
