"""Ratings and matches: MovieLens files, the simulator of such ratings, and the shipped log of football."""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_paths import needs, real

import rankbench
from rankbench.data.cards import cards, cards_folder
from rankbench.data.movielens.features import Ratings
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.movielens import MovieLensReader
from rankbench.data.simulators.feature_data import MOVIELENS_MARGINALS as MARGINALS
from rankbench.errors import ChecksumError, InputError, SpecError
from rankbench.logs.votes import load_votes

FLAGS = "|0" * 17
MOVIES = (
    f"1|Caf\xe9 (1995)|01-Jan-1995||http://a|1|0{FLAGS}\n"
    f"2|B (1990)|3-Feb-1990||http://b|0|1{FLAGS}\n"
    f"7|unknown||||0|1{FLAGS}\n"
)
RATINGS = "3\t7\t5\t881250949\n1\t2\t1\t881250950\n3\t1\t2\t881250951\n1\t1\t4\t881250952\n"


def written(folder, ratings=RATINGS, movies=MOVIES):
    folder.joinpath("u.data").write_text(ratings)
    folder.joinpath("u.item").write_bytes(movies.encode("latin-1"))
    return folder / "u.data"


def test_users_are_queries_and_movies_keep_their_names(tmp_path):
    frame = MovieLensReader().scan(written(tmp_path)).collect()
    assert frame["query_id"].to_list() == ["1", "1", "3", "3"]
    assert frame["item"].to_list() == [0, 1, 0, 1]
    assert frame["name"].to_list() == ["1", "2", "1", "7"]
    assert frame["label"].to_list() == [4, 1, 2, 5]
    x = frame["x"].to_numpy()
    assert x.shape == (4, 20)
    # The missing year is the median of 1990 and 1995.
    assert x[:, 0].tolist() == [1995, 1990, 1995, 1992.5]
    np.testing.assert_array_equal(x[:, 1:3], [[1, 0], [0, 1], [1, 0], [0, 1]])


def test_is_known_by_its_content(tmp_path):
    path = written(tmp_path)
    assert choose_reader(path) == MovieLensReader()
    tmp_path.joinpath("u.item").unlink()
    with pytest.raises(InputError, match="no reader knows this format"):
        choose_reader(path)
    with pytest.raises(InputError, match=r"u\.item with the movies must stand beside"):
        MovieLensReader().scan(path)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("1\t2\t6\t1\n", r"u\.data:5: rating 6 is not in 1 to 5"),
        ("1\t2\t0\t1\n", r"u\.data:5: rating 0 is not in 1 to 5"),
        ("2\t2\t-1\t1\n", r"u\.data:5: rating -1 is not in 1 to 5"),
        ("1\t3\t4\t1\n", r"u\.data:5: movie 3 is not in u\.item"),
        ("1\t2\t4\t1\n", r"u\.data:5: user 1 has rated movie 2 already"),
        ("1\t2\t4.5\t1\n", r"u\.data:5: '1\\t2\\t4\.5\\t1' is not a rating"),
        ("1 2 4 1\n", r"u\.data:5: '1 2 4 1' is not a rating"),
        ("1\t2\t4\n", r"u\.data:5: .* is not a rating: user, movie, rating and time"),
        ("2\t2\t4\t1\n", r"u\.data:5: user 2 has one rating"),
    ],
)
def test_bad_ratings(tmp_path, bad, message):
    with pytest.raises(InputError, match=message):
        MovieLensReader().scan(written(tmp_path, RATINGS + bad))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (f"8|A|01-Jan-1995||x|1{FLAGS}\n", r"u\.item:4: a movie has 24 fields with \| between them, this line 23"),
        (f"8|A|1995||x|1|0{FLAGS}\n", r"u\.item:4: '1995' is not a release date"),
        (f"8|A|01-Jan-1995||x|1|2{FLAGS}\n", r"u\.item:4: genre flag '2' is neither 0 nor 1"),
        (f"x|A|01-Jan-1995||x|1|0{FLAGS}\n", r"u\.item:4: 'x' is not the number of a movie"),
        (f"2|A|01-Jan-1995||x|1|0{FLAGS}\n", r"u\.item:4: movie 2 is there twice"),
    ],
)
def test_bad_movies(tmp_path, bad, message):
    with pytest.raises(InputError, match=message):
        MovieLensReader().scan(written(tmp_path, movies=MOVIES + bad))


def test_no_year_at_all_and_no_ratings_at_all(tmp_path):
    with pytest.raises(InputError, match="no movie has a release date"):
        MovieLensReader().scan(written(tmp_path, movies=MOVIES.replace("01-Jan-1995", "").replace("3-Feb-1990", "")))
    with pytest.raises(InputError, match="the file has no ratings"):
        MovieLensReader().scan(written(tmp_path, ratings="\n\n"))


@needs("ml-100k/u.data", "ml-100k/u.item")
def test_the_published_files(tmp_path, monkeypatch):
    from data_paths import REAL

    frame = rankbench.get(rankbench.Dataset, "ml-100k").scan().collect()
    assert frame.shape == (100_000, 5)
    assert (frame["query_id"].n_unique(), frame["name"].n_unique()) == (943, 1682)
    assert frame["label"].value_counts().sort("label")["count"].to_list() == [6110, 11370, 27145, 34174, 21201]
    # An altered copy: one rating differs.
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    for name in ("u.data", "u.item"):
        shutil.copy(REAL / "ml-100k" / name, folder / name)
        folder.joinpath(name).chmod(0o644)
    data = folder.joinpath("u.data").read_bytes()
    folder.joinpath("u.data").write_bytes(data.replace(b"196\t242\t3", b"196\t242\t4", 1))
    monkeypatch.setenv("RANKBENCH_DATA", str(tmp_path))
    monkeypatch.setenv("RANKBENCH_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ChecksumError, match="not the file that the data card describes"):
        rankbench.get(rankbench.Dataset, "ml-100k").scan()


SMALL = "movielens-like:users=60,movies=120,ratings=2400"


def test_shapes_and_marginals_of_the_real_ones():
    dataset = rankbench.get(rankbench.Dataset, "movielens-like")
    ratings = Ratings.from_items(dataset.scan())
    assert len(ratings) == 100_000
    assert len(ratings.users) == 943
    assert len(ratings.years) == 1682
    assert ratings.genres.shape == (1682, 19)
    assert ratings.genres.sum(axis=1).min() == 1
    np.testing.assert_allclose(np.bincount(ratings.ratings.astype(int), minlength=6)[1:] / 1e5, MARGINALS, atol=1e-4)
    sizes = np.diff(ratings.offsets)
    assert sizes.min() >= 20
    assert 50 < np.median(sizes) < 80
    popularity = np.bincount(ratings.movies)
    means = np.bincount(ratings.movies, ratings.ratings) / popularity
    # Popular movies are better rated: .52 in MovieLens-100K.
    assert 0.3 < np.corrcoef(np.log(popularity), means)[0, 1] < 0.7
    assert dataset.simulated
    assert any("943 users" in sentence for sentence in dataset.assumptions())


def test_no_user_rates_a_movie_twice_and_numbers_add_up():
    frame = rankbench.get(rankbench.Dataset, SMALL).scan().collect()
    assert frame.height == 2400
    assert not frame.select("query_id", "name").is_duplicated().any()
    assert frame["query_id"].n_unique() == 60


@pytest.mark.parametrize("params", ["users=10,movies=20,ratings=10", "users=10,movies=20,ratings=1000"])
def test_refuses_what_cannot_be(params):
    with pytest.raises(SpecError, match="ratings must be in"):
        rankbench.get(rankbench.Dataset, f"movielens-like:{params}")


def test_other_items_are_no_ratings():
    with pytest.raises(InputError, match="items must be named"):
        Ratings.from_items(rankbench.get(rankbench.Dataset, "web10k-like:queries=2").scan())
    frame = rankbench.get(rankbench.Dataset, SMALL).scan().collect()
    twice = frame.with_columns(name=pl.lit("movie-1"), x=frame["x"].first())
    with pytest.raises(InputError, match="a movie is in a query twice"):
        Ratings.from_items(twice.lazy())
    other = frame.with_columns(name=pl.col("item").cast(pl.String))
    with pytest.raises(InputError, match="the features of a movie differ"):
        Ratings.from_items(other.lazy())


RAW = "international-results/results.csv"
SCRIPT = Path(__file__).parents[2] / "scripts" / "football.py"
SHIPPED = cards_folder() / "international-results" / "results.parquet"


@pytest.mark.full
def test_the_log_keeps_times_sides_ties_and_what_else_is_known_of_a_match() -> None:
    rows = pl.read_parquet(SHIPPED)
    names = ("date", "home_team", "away_team", "home_score", "away_score", "tournament", "city", "country", "neutral")
    assert tuple(rows.columns) == names
    assert not rows.null_count().sum_horizontal().item()
    assert (rows.height, rows["neutral"].sum(), rows["tournament"].n_unique()) == (49520, 13156, 202)
    assert (rows["date"].min(), rows["date"].max()) == (date(1872, 11, 30), date(2026, 7, 19))
    votes = rankbench.scan("international-results").collect()
    assert votes["time"].equals(rows["date"].alias("time"))
    assert votes["tie"].sum() == (rows["home_score"] == rows["away_score"]).sum() == 11258
    home = pl.when(votes["first"]).then(votes["winner"]).otherwise(votes["loser"])
    assert (votes.select(home=home)["home"] == rows["home_team"]).all()
    loaded = load_votes(rankbench.scan("international-results"))
    assert len(loaded.items) == 337
    assert loaded.times is not None
    assert (np.diff(loaded.times) >= 0).all()
    assert loaded.times.max() + 1 == rows["date"].n_unique() == 16491


def made(source: Path, target: Path) -> bytes:
    subprocess.run([sys.executable, str(SCRIPT), str(source), str(target)], check=True)
    return target.read_bytes()


@needs(RAW)
def test_the_script_makes_the_shipped_file(tmp_path: Path) -> None:
    """The bytes are those of the card where Polars is the pinned one, and the rows in any case."""
    content = made(real(RAW), tmp_path / "one.parquet")
    assert content == made(real(RAW), tmp_path / "two.parquet")
    assert pl.read_parquet(tmp_path / "one.parquet").equals(pl.read_parquet(SHIPPED))
    pinned = (Path(__file__).parents[2] / "requirements" / "runtime.txt").read_text()
    if f"polars=={pl.__version__} " in pinned:
        assert hashlib.sha256(content).hexdigest() == cards()["international-results"].files[0].sha256


@needs(RAW)
def test_the_rows_are_those_of_the_csv() -> None:
    """Read by the csv module, field by field."""
    with real(RAW).open(newline="", encoding="utf-8") as file:
        raw = [row for row in csv.DictReader(file) if "NA" not in (row["home_score"], row["away_score"])]
    shipped = pl.read_parquet(SHIPPED).with_columns(pl.all().cast(pl.String)).to_dicts()
    assert [{**row, "neutral": row["neutral"].lower()} for row in raw] == shipped


def test_a_match_that_was_not_played_is_left_out(tmp_path: Path) -> None:
    head = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"
    (tmp_path / "raw.csv").write_text(
        head + '2026-01-01,A,B,2,1,Friendly,"X, Y",Z,FALSE\n2026-01-02,B,A,NA,NA,Friendly,X,Z,TRUE\n'
    )
    made(tmp_path / "raw.csv", tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == [
        (date(2026, 1, 1), "A", "B", 2, 1, "Friendly", "X, Y", "Z", False)
    ]
