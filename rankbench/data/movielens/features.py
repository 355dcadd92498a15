"""Features and pairs of Table 1 come from MovieLens ratings.

Section 4 of the paper lists "the age of the movie, its genre(s), the average rating of the
user for other movies in the same genre(s), the average rating of the movie, and ratings
given to the movie by users similar to and dissimilar from u". rankbench decides the
rest as follows.

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.queries import Comparisons


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of movies, sorted by user.

    Attributes
    ----------
    users : tuple of str, length U
    offsets : ndarray of int64, shape (U + 1,)
        Ratings of user u are rows ``offsets[u]:offsets[u + 1]``.
    movies : ndarray of int32, shape (N,)
        Movie of each row, in [0, M); no user rates a movie twice.
    ratings : ndarray of float64, shape (N,)
    years : ndarray of float64, shape (M,)
        Year of release.
    genres : ndarray of uint8, shape (M, G)
        1 where a movie has a genre.
    """

    users: tuple[str, ...]
    offsets: NDArray[np.int64]
    movies: NDArray[np.int32]
    ratings: NDArray[np.float64]
    years: NDArray[np.float64]
    genres: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ratings)

    @property
    def user_of(self) -> NDArray[np.int64]:
        """User of each row, shape (N,)."""
        return np.repeat(np.arange(len(self.users)), np.diff(self.offsets))

    @classmethod
    def from_items(cls, items: pl.LazyFrame) -> Ratings:
        """Collect an items table: queries are users, ``name`` the movie, ``x`` its year and genre flags.

        Raises
        ------
        InputError
            No names, a movie without a rating or twice in a query, features that are not a year
            and flags of 0 and 1, or that differ between two rows of a movie.
        """
        if "name" not in items.collect_schema():
            raise InputError("items must be named, to know a movie again in another query", column="name")
        frame = items.select("query_id", "label", "x", "name").collect(engine="streaming")
        if not frame.height:
            raise InputError("the data has no rows")
        runs = frame["query_id"].rle().struct.unnest()
        labels = frame["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if not np.isfinite(labels).all():
            raise InputError("every movie must have a rating", row=int(np.argmin(np.isfinite(labels))) + 1)
        if frame.select(pl.struct("query_id", "name").is_duplicated().any()).item():
            raise InputError("a movie is in a query twice", column="name")
        names = frame["name"].unique(maintain_order=True)
        movies = frame["name"].replace_strict(names, np.arange(len(names)), return_dtype=pl.Int32).to_numpy()
        x = frame["x"].to_numpy()
        of_movie = np.zeros((len(names), x.shape[1]), np.float32)
        of_movie[movies] = x
        if not np.array_equal(of_movie[movies], x):
            raise InputError(
                "the features of a movie differ between queries; they must be the movie's alone", column="x"
            )
        flags = of_movie[:, 1:]
        if not flags.shape[1] or not np.isin(flags, (0.0, 1.0)).all():
            raise InputError("features must be a year and genre flags, 0 or 1", column="x")
        return cls(
            tuple(str(user) for user in runs["value"].to_list()),
            np.concatenate([[0], np.cumsum(runs["len"].to_numpy().astype(np.int64))]),
            np.ascontiguousarray(movies),
            np.ascontiguousarray(labels),
            of_movie[:, 0].astype(np.float64),
            np.ascontiguousarray(flags, np.uint8),
        )


Leakage: TypeAlias = Literal["crossfit", "loo", "insample"]
Centering: TypeAlias = Literal["global", "user", "none"]

NEIGHBORS = 20
CO_RATED = 3.0
SHRINK = 10.0
NEWEST = 1998.0
"""The year that movies' ages are counted from."""


def rated_features(
    ratings: Ratings, folds: NDArray[np.int8], training: tuple[int, ...], leakage: Leakage, *, neighbors: bool
) -> NDArray[np.float64]:
    """Compute the features of all rows that come from ratings, from the training folds alone.

    Parameters
    ----------
    ratings : Ratings
        N rows.
    folds : ndarray of int8, shape (N,)
    training : tuple of int
        Folds that may be learned from.
    leakage : {"crossfit", "loo", "insample"}
        Way in which a training row's own rating may enter its features. Other rows' features
        are computed from all training folds and never from their own rating.
    neighbors : bool
        Whether the ratings by similar and by dissimilar users are there.

    Returns
    -------
    ndarray of float64, shape (N, 4) or (N, 2)
        The user's mean in the movie's genres; the movie's mean; the means by similar and by dissimilar users.
    """
    from rankbench.data.movielens.kernels import rating_features

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
    return out if neighbors else out[:, :2]


def raw_features(ratings: Ratings, rated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return age and genre flags, which are a movie's own, and beside them `rated_features`; shape (N, 1 + G + 4)."""
    own = np.column_stack([NEWEST - ratings.years, ratings.genres])[ratings.movies]
    return np.column_stack([own, rated])


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


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs in the order they were drawn; the first n of them are a draw of n.

    Attributes
    ----------
    better, worse : ndarray of int64, shape (n,)
        Rows of the two ratings, both of one group.
    weights : ndarray of float64, shape (n,)
        Difference ``a`` of the ratings, positive.
    """

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.better)

    def comparisons(self, n: int, offsets: NDArray[np.int64]) -> Comparisons:
        """Return the first n pairs as comparisons, sorted by group.

        Parameters
        ----------
        n : int
        offsets : ndarray of int64, shape (G + 1,)
            Rows of each group.
        """
        group = np.searchsorted(offsets, self.better[:n], side="right") - 1
        order = np.argsort(group, kind="stable")
        base = offsets[group[order]]
        counts = np.bincount(group, minlength=len(offsets) - 1)
        return Comparisons(
            np.concatenate([[0], np.cumsum(counts)]),
            (self.better[:n][order] - base).astype(np.int32),
            (self.worse[:n][order] - base).astype(np.int32),
            self.weights[:n][order],
        )

    def disagreement(self, scores: NDArray[np.float64]) -> float:
        """Return the sum of the weights of misordered pairs over the number of pairs.

        A tie among scores counts half. This is (7) of [DMJ10]_ over the sampled, untied
        pairs; it is not divided by the sum of all weights.
        """
        margins = scores[self.better] - scores[self.worse]
        return float(self.weights @ ((margins < 0) + 0.5 * (margins == 0))) / len(self)


def draw_pairs(
    ratings: NDArray[np.float64],
    offsets: NDArray[np.int64],
    users: NDArray[np.int64],
    n: int,
    by_user: bool,
    entropy: Sequence[int],
) -> RatedPairs:
    """Draw pairs within groups of one user's ratings, with replacement.

    Parameters
    ----------
    ratings : ndarray of float64, shape (N,)
        Ascending within each group.
    offsets : ndarray of int64, shape (G + 1,)
        Rows of group g are ``offsets[g]:offsets[g + 1]``.
    users : ndarray of int64, shape (G,)
        User of each group, not decreasing.
    n : int
    by_user : bool
        Draw a user, uniform among those with two different ratings in a group, and then
        one of that user's untied pairs, uniform; else uniform among all untied pairs.
    entropy : sequence of int
        Names the random stream.

    Raises
    ------
    InputError
        No group has two different ratings.
    """
    from rankbench.data.movielens.kernels import draw_rating_pairs
    from rankbench.kernels.random import seed_state

    group = np.repeat(np.arange(len(users)), np.diff(offsets))
    first = np.zeros(len(ratings), np.int64)
    if len(ratings):
        # Where a run of equal ratings of one group begins: all rows of the group before it are lower.
        starts = np.flatnonzero(np.r_[True, (np.diff(ratings) != 0) | (np.diff(group) != 0)])
        first = np.repeat(starts, np.diff(np.append(starts, len(ratings))))
    lower = first - offsets[group]
    # Pairs are numbered by their better row, then by the worse one.
    before = np.concatenate([[0], np.cumsum(lower)])
    ends = np.flatnonzero(np.append(np.diff(users) != 0, True))
    bounds = np.unique(np.append(0, before[offsets[ends + 1]])).astype(np.int64)
    if len(bounds) < 2:
        raise InputError("no user has two different ratings in one part of the data, so that no pair can be drawn")
    pair = np.empty(n, np.int64)
    draw_rating_pairs(seed_state(entropy), bounds, by_user, pair)
    better = np.searchsorted(before, pair, side="right") - 1
    worse = offsets[group[better]] + pair - before[better]
    return RatedPairs(better, worse, ratings[better] - ratings[worse])
