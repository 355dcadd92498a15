"""The features of Table 1 of [DMJ10]_, d = 24, for the rows of one run.

Section 4 of the paper lists "the age of the movie, its genre(s), the average rating of the
user for other movies in the same genre(s), the average rating of the movie, and ratings
given to the movie by users similar to and dissimilar from u". What it leaves open is
decided as follows.

- The user's average is the mean, over the movie's genres, of the user's mean rating in
  each; genres the user has not rated are left out, with none left it is the user's mean,
  without ratings the mean of all.
- Users are similar by the Pearson correlation of their ratings' deviations from their own
  means over at least 3 co-rated movies, shrunk by ``n / (n + 10)``. Ratings given by
  similar users: the mean of the 20 most positively correlated raters of the movie,
  weighted by the correlation; by dissimilar users: that of the 20 most negatively
  correlated ones. Without any, the mean of the movie.
- A rating that is known may stand in its own features. ``insample`` lets it, ``loo``
  leaves it out of its own features alone, which makes it readable off the differences
  between the user's rows; ``crossfit`` computes the features of each training fold from
  the other training folds.

References
----------
.. [DMJ10] J. C. Duchi, L. Mackey and M. I. Jordan. On the consistency of ranking
   algorithms. ICML 2010.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.data.movielens.ratings import Ratings

__all__ = ["Centering", "Leakage", "raw_features", "standardized"]

Leakage: TypeAlias = Literal["crossfit", "loo", "insample"]
Centering: TypeAlias = Literal["global", "user", "none"]

NEIGHBORS = 20
CO_RATED = 3.0
SHRINK = 10.0
NEWEST = 1998.0
"""The year that movies' ages are counted from."""


def raw_features(
    ratings: Ratings, folds: NDArray[np.int8], training: tuple[int, ...], leakage: Leakage, *, neighbors: bool
) -> NDArray[np.float64]:
    """Compute the features of all rows from the training folds alone.

    Parameters
    ----------
    ratings : Ratings
        N rows, G genres.
    folds : ndarray of int8, shape (N,)
    training : tuple of int
        Folds that may be learned from.
    leakage : {"crossfit", "loo", "insample"}
        How far a training row's own rating may enter its features. Other rows' features
        are computed from all training folds and never from their own rating.
    neighbors : bool
        Whether the ratings by similar and by dissimilar users are there.

    Returns
    -------
    ndarray of float64, shape (N, 1 + G + 4) or (N, 1 + G + 2)
        Age; genre flags; the user's mean in the movie's genres; the movie's mean;
        the means by similar and by dissimilar users.
    """
    from rankbench.data.movielens.kernels.features import rating_features

    out = np.zeros((len(ratings), 4))

    def compute(known: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> None:
        rating_features(
            ratings.offsets,
            ratings.movies,
            ratings.ratings,
            ratings.genres,
            known.astype(np.uint8),
            wanted.astype(np.uint8),
            leakage == "loo",
            NEIGHBORS if neighbors else 0,
            CO_RATED,
            SHRINK,
            out,
        )

    learned = np.isin(folds, training)
    if leakage == "crossfit":
        compute(learned, ~learned)
        for fold in training:
            compute(learned & (folds != fold), folds == fold)
    else:
        compute(learned, np.ones(len(ratings), np.bool_))
    own = np.column_stack([NEWEST - ratings.years, ratings.genres])[ratings.movies]
    return np.column_stack([own, out if neighbors else out[:, :2]])


def standardized(
    raw: NDArray[np.float64], learned: NDArray[np.bool_], groups: NDArray[np.int64], center: Centering
) -> NDArray[np.float32]:
    """Scale features by their standard deviation over the training rows, and center them.

    Parameters
    ----------
    raw : ndarray of float64, shape (N, d)
    learned : ndarray of bool, shape (N,)
        Training rows. A feature that is constant over them is only centered.
    groups : ndarray of int64, shape (N,)
        Rows that pairs are drawn within: a user's in one fold.
    center : {"global", "user", "none"}
        Subtract the mean over training rows, that over the row's group, or nothing.
        Differences within a group, and so all pairwise losses, do not depend on it; what
        does is a penalty on the scores themselves.
    """
    deviation = raw[learned].std(axis=0)
    deviation[deviation == 0.0] = 1.0
    if center == "global":
        x = raw - raw[learned].mean(axis=0)
    elif center == "user":
        _, index, counts = np.unique(groups, return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(index, column) for column in raw.T], axis=1)
        x = raw - (sums / counts[:, None])[index]
    else:
        x = raw
    return np.asarray(x / deviation, dtype=np.float32)
