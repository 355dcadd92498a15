"""The MovieLens reader reads ratings in ``u.data``, with movies in ``u.item`` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.data.readers.text_lines import numbered_lines
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing

GENRES = 19
"""Genre flags of a movie, the one named ``unknown`` included."""

FIELDS = 5 + GENRES
LOWEST, HIGHEST = 1, 5

_RATING = re.compile(r"([0-9]{1,9})\t([0-9]{1,9})\t(-?[0-9]{1,9})\t([0-9]{1,12})\r?\Z")
_DATE = re.compile(r"[0-9]{1,2}-[A-Z][a-z]{2}-([0-9]{4})\Z")


class MovieLensReader(Reader):
    """Ratings of movies as graded items: users are queries, labels are ratings from 1 to 5.

    Of ``u.data`` and ``u.item`` of MovieLens-100K, which stand beside each other. Users
    and their movies are sorted by number; ``name`` is the number of the movie. The 20
    features are the movie's alone: its year of release (the median year, where it is
    missing) and its 19 genre flags.
    """

    name: ClassVar[str] = "movielens"
    source: ClassVar[str] = "MovieLens-100K, file README of the GroupLens project"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is a rating, and movies stand beside the file."""
        first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
        return _RATING.match(first) is not None and path.with_name("u.item").is_file()

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the items; see `Reader.scan`. Both files are read at once."""
        movies = _read_movies(_beside(existing(path)))
        ratings = _read_ratings(path, movies)
        first = np.unique(ratings[:, 0], return_index=True)[1]
        sizes = np.diff(np.append(first, len(ratings)))
        place = np.arange(len(ratings)) - np.repeat(first, sizes)
        rows = np.searchsorted(movies.numbers, ratings[:, 1])
        return pl.DataFrame(
            {
                "query_id": ratings[:, 0].astype(str).tolist(),
                "item": place.astype(np.uint32),
                "label": ratings[:, 2].astype(np.float32),
                "x": pl.Series(movies.x[rows], dtype=pl.Array(pl.Float32, 1 + GENRES)),
                "name": ratings[:, 1].astype(str).tolist(),
            },
            schema=items_schema(1 + GENRES, named=True),
        ).lazy()


@dataclass(frozen=True)
class _Movies:
    """Movies by number, ascending, with their features, shape (M, 20)."""

    numbers: NDArray[np.int64]
    x: NDArray[np.float32]


def _beside(path: Path) -> Path:
    """Return the file of movies that belongs to a file of ratings."""
    movies = path.with_name("u.item")
    if not movies.is_file():
        raise InputError("the file u.item with the movies must stand beside the ratings", path=path)
    return existing(movies)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty with their numbers, from 1."""
    for row, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if text := line.decode(encoding).rstrip("\r"):
            yield row, text


def _read_movies(path: Path) -> _Movies:
    """Read ``number|title|release date|video date|address|19 flags``, in Latin-1 as published."""
    found: dict[int, tuple[float, list[int]]] = {}
    for row, text in _lines(path, "latin-1"):
        fields = text.split("|")
        if len(fields) != FIELDS:
            raise InputError(
                f"a movie has {FIELDS} fields with | between them, this line {len(fields)}", path=path, row=row
            )
        number, date, flags = fields[0], fields[2], fields[5:]
        if not (number.isascii() and number.isdigit() and len(number) <= 9):
            raise InputError(f"{short_repr(number)} is not the number of a movie", path=path, row=row)
        if int(number) in found:
            raise InputError(f"movie {int(number)} is there twice", path=path, row=row)
        dated = _DATE.match(date)
        if date and not dated:
            raise InputError(f"{short_repr(date)} is not a release date, such as 01-Jan-1995", path=path, row=row)
        bad = [flag for flag in flags if flag not in ("0", "1")]
        if bad:
            raise InputError(f"genre flag {short_repr(bad[0])} is neither 0 nor 1", path=path, row=row)
        found[int(number)] = (float(dated[1]) if dated else np.nan, [int(flag) for flag in flags])
    numbers = np.array(sorted(found), np.int64)
    years = np.array([found[number][0] for number in numbers.tolist()])
    if np.isnan(years).all():
        raise InputError("no movie has a release date", path=path)
    years[np.isnan(years)] = np.nanmedian(years)
    flags_of = np.array([found[number][1] for number in numbers.tolist()], np.float32)
    return _Movies(numbers, np.column_stack([years.astype(np.float32), flags_of]))


def _read_ratings(path: Path, movies: _Movies) -> NDArray[np.int64]:
    """Read user, movie and rating, shape (N, 3), sorted by user and movie."""
    known = set(movies.numbers.tolist())
    seen: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int, int]] = []
    for row, line in numbered_lines(path):
        if not line.strip():
            continue
        match = _RATING.match(line)
        if match is None:
            raise InputError(
                f"{short_repr(line.strip())} is not a rating: user, movie, rating and time, whole numbers with tabs "
                "between them",
                path=path,
                row=row,
            )
        user, movie, rating = int(match[1]), int(match[2]), int(match[3])
        if not LOWEST <= rating <= HIGHEST:
            raise InputError(f"rating {rating} is not in {LOWEST} to {HIGHEST}", path=path, row=row)
        if movie not in known:
            raise InputError(f"movie {movie} is not in u.item", path=path, row=row)
        before = seen.setdefault((user, movie), row)
        if before != row:
            raise InputError(f"user {user} has rated movie {movie} already, in line {before}", path=path, row=row)
        found.append((user, movie, rating))
    if not found:
        raise InputError("the file has no ratings", path=path)
    ratings = np.array(found, np.int64)
    ratings = ratings[np.lexsort((ratings[:, 1], ratings[:, 0]))]
    users, counts = np.unique(ratings[:, 0], return_counts=True)
    if counts.min() == 1:
        user = int(users[counts.argmin()])
        row = next(row for (who, _), row in seen.items() if who == user)
        raise InputError(f"user {user} has one rating, which cannot be ranked; remove it", path=path, row=row)
    return ratings
