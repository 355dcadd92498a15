"""Kernels compute features and pairs of Table 1."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Bytes, Matrix, ReadIndex, ReadRows, ReadVector, Rows, Vector, declared
from rankbench.kernels.random import SeedState, below

settle_runtime()

Genres = Annotated[NDArray[np.uint8], types.Array(types.uint8, 2, "C", readonly=True)]
FoldOfRow = Annotated[NDArray[np.int8], types.int8[::1]]


MOMENTS = 6
"""Of co-rated movies: their number, sums of both users' ratings, of squares, of products."""

SMALLEST = 1e-9
"""Sums of squared deviations below it are rounding: ratings are whole numbers."""


@declared()
def _similarity(moments: Vector, mean: float, other: float, least: float, shrink: float) -> float:
    """Return the Pearson correlation of two users' deviations from their means, shrunk.

    Over n co-rated movies, times ``n / (n + shrink)``; 0 below `least` movies, or where one
    of the users gave nothing but the mean.
    """
    n = moments[0]
    if n < least:
        return 0.0
    first = moments[3] - 2.0 * mean * moments[1] + n * mean * mean
    second = moments[4] - 2.0 * other * moments[2] + n * other * other
    if first <= SMALLEST or second <= SMALLEST:
        return 0.0
    product = moments[5] - mean * moments[2] - other * moments[1] + n * mean * other
    return float(product / math.sqrt(first * second) * (n / (n + shrink)))


@declared()
def _nearest_mean(weights: Vector, values: Vector, count: int, most: int, largest: Vector, fallback: float) -> float:
    """Return the weighted mean of the values with the `most` largest weights > 0.

    Where several have the last of these weights, they share the places that are left:
    the order of the users decides nothing. `largest` is scratch, shape (most,).
    """
    found = 0
    for j in range(count):
        weight = weights[j]
        if weight <= 0.0 or (found == most and weight <= largest[found - 1]):
            continue
        if found < most:
            found += 1
        place = found - 1
        while place > 0 and largest[place - 1] < weight:
            largest[place] = largest[place - 1]
            place -= 1
        largest[place] = weight
    if found == 0:
        return fallback
    last = largest[found - 1]
    above = 0
    for j in range(found):
        if largest[j] > last:
            above += 1
    total, mass, tied, ties = 0.0, 0.0, 0.0, 0
    for j in range(count):
        if weights[j] > last:
            total += weights[j] * values[j]
            mass += weights[j]
        elif weights[j] == last:
            tied += values[j]
            ties += 1
    total += last * tied / ties * (found - above)
    mass += last * (found - above)
    return float(total / mass)


@declared()
def rating_features(
    offsets: ReadRows,
    movies: ReadIndex,
    ratings: ReadVector,
    genres: Genres,
    known: Bytes,
    wanted: Bytes,
    without_own: bool,
    neighbors: int,
    least: float,
    shrink: float,
    out: Matrix,
) -> None:
    """Write the four rating features of the wanted rows, computed from the known rows.

    Parameters
    ----------
    offsets : ndarray of int64, shape (U + 1,)
        Rows of user u are ``offsets[u]:offsets[u + 1]``.
    movies, ratings : ndarray, shape (N,)
        Movie in [0, M) and rating of each row.
    genres : ndarray of uint8, shape (M, G)
        1 where a movie has a genre.
    known, wanted : ndarray of uint8, shape (N,)
        Rows that features are computed from, and rows that they are computed for.
    without_own : bool
        Whether a wanted row that is known is left out of its own features.
    neighbors : int
        How many most similar, and most dissimilar, raters count. 0: the last two features
        are not written.
    least, shrink : float
        Of the similarity.
    out : ndarray of float64, shape (N, 4)
        The mean of the user's means in the movie's genres, the movie's mean, the weighted
        means of similar and of dissimilar raters. Only wanted rows are written.
    """
    users, total_movies, kinds = offsets.shape[0] - 1, genres.shape[0], genres.shape[1]
    # Raters of each movie, by user.
    starts = np.zeros(total_movies + 1, np.int64)
    movie_sum = np.zeros(total_movies)
    all_sum, all_count = 0.0, 0.0
    means = np.zeros(users)
    for row in range(movies.shape[0]):
        if known[row]:
            starts[movies[row] + 1] += 1
            movie_sum[movies[row]] += ratings[row]
            all_sum += ratings[row]
            all_count += 1.0
    for movie in range(total_movies):
        starts[movie + 1] += starts[movie]
    rater = np.empty(starts[total_movies], np.int64)
    given = np.empty(starts[total_movies])
    filled = starts[:total_movies].copy()
    for user in range(users):
        user_sum, user_count = 0.0, 0.0
        for row in range(offsets[user], offsets[user + 1]):
            if known[row]:
                slot = filled[movies[row]]
                rater[slot], given[slot] = user, ratings[row]
                filled[movies[row]] += 1
                user_sum += ratings[row]
                user_count += 1.0
        means[user] = user_sum / max(user_count, 1.0)
    moments = np.zeros((users, MOMENTS))
    similarity = np.zeros(users)
    genre_sum, genre_count = np.zeros(kinds), np.zeros(kinds)
    weights, opposite, values = np.empty(users), np.empty(users), np.empty(users)
    largest = np.empty(neighbors)
    rest = np.empty(MOMENTS)
    for user in range(users):
        first, stop = offsets[user], offsets[user + 1]
        moments[:, :] = 0.0
        genre_sum[:], genre_count[:] = 0.0, 0.0
        user_sum, user_count = 0.0, 0.0
        for row in range(first, stop):
            if not known[row]:
                continue
            movie, own = movies[row], ratings[row]
            user_sum += own
            user_count += 1.0
            for kind in range(kinds):
                if genres[movie, kind]:
                    genre_sum[kind] += own
                    genre_count[kind] += 1.0
            for slot in range(starts[movie], starts[movie + 1]):
                other = given[slot]
                common = moments[rater[slot]]
                common[0] += 1.0
                common[1] += own
                common[2] += other
                common[3] += own * own
                common[4] += other * other
                common[5] += own * other
        for other_user in range(users):
            similarity[other_user] = _similarity(moments[other_user], means[user], means[other_user], least, shrink)
        for row in range(first, stop):
            if not wanted[row]:
                continue
            movie, own = movies[row], ratings[row]
            out_own = 1.0 if without_own and known[row] else 0.0
            overall = all_count - out_own
            middle = (all_sum - out_own * own) / overall if overall > 0.0 else 0.0
            fallback = middle
            if user_count - out_own > 0.0:
                fallback = (user_sum - out_own * own) / (user_count - out_own)
            in_sum, in_count = 0.0, 0.0
            for kind in range(kinds):
                if genres[movie, kind] and genre_count[kind] - out_own > 0.0:
                    in_sum += (genre_sum[kind] - out_own * own) / (genre_count[kind] - out_own)
                    in_count += 1.0
            out[row, 0] = in_sum / in_count if in_count > 0.0 else fallback
            raters = starts[movie + 1] - starts[movie] - out_own
            mean = (movie_sum[movie] - out_own * own) / raters if raters > 0.0 else middle
            out[row, 1] = mean
            if neighbors == 0:
                continue
            count = 0
            for slot in range(starts[movie], starts[movie + 1]):
                other_user = rater[slot]
                if other_user == user:
                    continue
                weight = similarity[other_user]
                if out_own > 0.0:
                    other = given[slot]
                    rest[0] = moments[other_user, 0] - 1.0
                    rest[1] = moments[other_user, 1] - own
                    rest[2] = moments[other_user, 2] - other
                    rest[3] = moments[other_user, 3] - own * own
                    rest[4] = moments[other_user, 4] - other * other
                    rest[5] = moments[other_user, 5] - own * other
                    weight = _similarity(rest, fallback, means[other_user], least, shrink)
                weights[count], opposite[count], values[count] = weight, -weight, given[slot]
                count += 1
            out[row, 2] = _nearest_mean(weights, values, count, neighbors, largest, mean)
            out[row, 3] = _nearest_mean(opposite, values, count, neighbors, largest, mean)


@declared()
def deal_folds(state: SeedState, folds: int, out: FoldOfRow) -> None:
    """Deal rows to folds whose sizes differ by at most one: a shuffle (Fisher and Yates) of 0, 1, ..., 0, 1, ..."""
    for row in range(out.shape[0]):
        out[row] = row % folds
    for row in range(out.shape[0] - 1, 0, -1):
        other = below(state, row + 1)
        out[row], out[other] = out[other], out[row]


@declared()
def draw_rating_pairs(state: SeedState, bounds: Rows, by_user: bool, pair: Rows) -> None:
    """Draw pairs, by number, with replacement.

    Parameters
    ----------
    state : ndarray of uint64
        Of the random stream.
    bounds : ndarray of int64, shape (U + 1,)
        Pairs of user u have the numbers ``bounds[u]`` to ``bounds[u + 1] - 1``, at least
        one.
    by_user : bool
        A user uniform, then one of that user's pairs; else a pair uniform.
    pair : ndarray of int64, shape (n,)
        Out. Every draw takes its random numbers in the same order, so that a shorter draw
        is a prefix of a longer one.
    """
    users = bounds.shape[0] - 1
    for t in range(pair.shape[0]):
        if by_user:
            who = below(state, users)
            pair[t] = bounds[who] + below(state, bounds[who + 1] - bounds[who])
        else:
            pair[t] = below(state, bounds[users])
