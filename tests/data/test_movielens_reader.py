"""MovieLens files: what is read, and where a bad one is wrong."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from data_paths import needs

import rankbench
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.movielens import MovieLensReader
from rankbench.errors import ChecksumError, InputError

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
