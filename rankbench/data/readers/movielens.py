"""The MovieLens reader reads ratings in ``u.data``, with movies in ``u.item`` beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import polars as pl

from rankbench.data.readers.text_lines import numbered_lines, refuse_rows
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing

GENRES = 19
"""Genre flags of a movie, the one named ``unknown`` included."""

FIELDS = 5 + GENRES
LOWEST, HIGHEST = 1, 5

_RATING = re.compile(r"^([0-9]{1,9})\t([0-9]{1,9})\t(-?[0-9]{1,9})\t([0-9]{1,12})\r?$")
_DATE = r"^[0-9]{1,2}-[A-Z][a-z]{2}-([0-9]{4})$"


class MovieLensReader(Reader):
    """Ratings of movies as graded items: users are queries, labels are ratings from 1 to 5.

    Of ``u.data`` and ``u.item`` of MovieLens-100K, which stand beside each other. Users
    and their movies are sorted by number; ``name`` is the number of the movie. The 20
    features are the movie's alone: its year of release (the median year, where it is
    missing) and its 19 genre flags.

    Prefer it for MovieLens-100K alone.

    Examples
    --------
    ``rankbench data describe ml-100k/u.data --reader movielens`` tells what is in the ratings.
    """

    name: ClassVar[str] = "movielens"
    source: ClassVar[str] = "MovieLens-100K, file README of the GroupLens project"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is a rating, and a file of movies lies beside the file."""
        first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
        return _RATING.match(first) is not None and path.with_name("u.item").is_file()

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the items; see `Reader.scan`. Both files are read at once."""
        movies = existing(path).with_name("u.item")
        if not movies.is_file():
            raise InputError("the file u.item with the movies must stand beside the ratings", path=path)
        ratings = _read_ratings(path, _read_movies(existing(movies)))
        return ratings.select(
            query_id=pl.col("user").cast(pl.String),
            item=pl.int_range(pl.len(), dtype=pl.UInt32).over("user"),
            label=pl.col("rating").cast(pl.Float32),
            x="x",
            name=pl.col("movie").cast(pl.String),
        ).lazy()


def _read_movies(path: Path) -> pl.DataFrame:
    """Read ``number|title|release date|video date|address|19 flags``, in Latin-1 as published: number and features."""
    texts = [text.rstrip("\r") for text in path.read_bytes().decode("latin-1").split("\n")]
    fields = pl.col("text").str.split("|")
    rows = pl.DataFrame({"line": range(1, len(texts) + 1), "text": texts}).filter(pl.col("text") != "")
    rows = rows.with_columns(
        count=fields.list.len(),
        movie=fields.list.get(0),
        date=fields.list.get(2, null_on_oob=True),
        flags=fields.list.slice(5),
    )
    what = f"a movie has {FIELDS} fields with | between them, this line {{count}}"
    refuse_rows(rows, rows["count"] != FIELDS, what, path)
    refuse_rows(rows, ~rows["movie"].str.contains(r"^[0-9]{1,9}$"), "{movie} is not the number of a movie", path)
    other = pl.col("flags").list.eval(pl.element().filter(~pl.element().is_in(["0", "1"]))).list.first()
    year = pl.col("date").str.extract(_DATE).cast(pl.Float64)
    rows = rows.with_columns(pl.col("movie").cast(pl.Int64), year=year, flag=other)
    refuse_rows(rows, ~rows["movie"].is_first_distinct(), "movie {movie} is there twice", path)
    undated = rows["year"].is_null() & (rows["date"] != "")
    refuse_rows(rows, undated, "{date} is not a release date, such as 01-Jan-1995", path)
    refuse_rows(rows, rows["flag"].is_not_null(), "genre flag {flag} is neither 0 nor 1", path)
    if rows["year"].is_null().all():
        raise InputError("no movie has a release date", path=path)
    features = pl.concat_list(
        pl.col("year").fill_null(pl.col("year").median()).cast(pl.Float32), pl.col("flags").cast(pl.List(pl.Float32))
    )
    return rows.select("movie", x=features.list.to_array(1 + GENRES))


def _read_ratings(path: Path, movies: pl.DataFrame) -> pl.DataFrame:
    """Read user, movie and rating, with the movie's features, sorted by user and movie."""
    rows = pl.DataFrame(list(numbered_lines(path, kept=True)), schema=["line", "text"], orient="row")
    rows = rows.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    if not rows.height:
        raise InputError("the file has no ratings", path=path)
    groups = pl.col("text").str.extract_groups(_RATING.pattern).struct
    names = ("user", "movie", "rating")
    rows = rows.with_columns(groups.field(str(at)).cast(pl.Int64).alias(name) for at, name in enumerate(names, 1))
    what = "{text} is not a rating: user, movie, rating and time, whole numbers with tabs between them"
    refuse_rows(rows, rows["user"].is_null(), what, path)
    rows = rows.join(movies, on="movie", how="left", maintain_order="left")
    apart = ~rows["rating"].is_between(LOWEST, HIGHEST)
    refuse_rows(rows, apart, f"rating {{rating}} is not in {LOWEST} to {HIGHEST}", path)
    refuse_rows(rows, rows["x"].is_null(), "movie {movie} is not in u.item", path)
    again = ~rows.select(pl.struct("user", "movie").is_first_distinct()).to_series()
    refuse_rows(rows, again, "user {user} has rated movie {movie} already", path)
    alone = rows.select(pl.len().over("user") == 1).to_series()
    refuse_rows(rows, alone, "user {user} has one rating, which cannot be ranked; remove it", path)
    return rows.sort("user", "movie")
