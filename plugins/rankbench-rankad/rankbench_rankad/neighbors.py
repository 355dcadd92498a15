"""The statistic G and the judgments made of it: which points are denser than which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench_rankad.margins import Floats

__all__ = ["leave_one_out", "levels_of", "mean_distance", "same_ranks"]


def mean_distance(points: Floats, among: Floats, k: int) -> Floats:
    """Return ``-G``: the mean distance of each point to its k nearest `among` others, shape (N,).

    Parameters
    ----------
    points : ndarray of float64, shape (N, d)
    among : ndarray of float64, shape (n, d)
    k : int
        In [1, n].
    """
    from scipy.spatial import cKDTree

    distances, _ = cKDTree(among).query(points, k=np.arange(1, k + 1))
    result: Floats = distances.mean(axis=1)
    return result


def leave_one_out(points: Floats, k: int) -> Floats:
    """Return the mean distance of each point to its k nearest *other* points, shape (n,).

    A point's nearest is itself, at distance 0, or a duplicate, at the same distance: the
    first one is left out. Duplicates get the same value.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    k : int
        In [1, n - 1].
    """
    from scipy.spatial import cKDTree

    distances, _ = cKDTree(points).query(points, k=np.arange(2, k + 2))
    result: Floats = distances.mean(axis=1)
    return result


def same_ranks(statistic: Floats) -> Floats:
    """Return the ranks 1..n of a statistic, equal values sharing the average of theirs, shape (n,).

    Values that agree in twelve digits count as equal: the order of a sum's terms must not
    break a tie.
    """
    from scipy.stats import rankdata

    scale = float(np.abs(statistic).max(initial=0.0)) or 1.0
    ranks: Floats = rankdata(np.round(statistic / scale, 12), method="average")
    return ranks


def levels_of(density: Floats, m: int) -> NDArray[np.int64]:
    """Quantize the ranks of a density statistic G into at most m levels of about equal size.

    Ties share a rank and so a level: they are never split into pairs.

    Parameters
    ----------
    density : ndarray of float64, shape (n,)
        Higher is denser.
    m : int
        Number of levels; n or more: one for each distinct value.

    Returns
    -------
    ndarray of int64, shape (n,)
        In [0, m), higher is denser.
    """
    ranks = same_ranks(density)
    if m >= len(density):
        return np.unique(ranks, return_inverse=True)[1].astype(np.int64)
    return np.floor((ranks - 0.5) * m / len(ranks)).astype(np.int64)
