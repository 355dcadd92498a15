"""Ratings of movies by users, out of an items table whose items are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ratings"]


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated what, sorted by user.

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
        import polars as pl

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
