"""The simulator of ratings: its shapes, its marginals, its refusals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankbench
from rankbench.data.movielens.features import Ratings
from rankbench.data.simulators.feature_data import MOVIELENS_MARGINALS as MARGINALS
from rankbench.errors import InputError, SpecError

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


def test_same_seed_same_ratings():
    frames = [rankbench.get(rankbench.Dataset, f"{SMALL},seed={seed}").scan().collect() for seed in (1, 1, 2)]
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])
    prints = {rankbench.get(rankbench.Dataset, f"{SMALL},seed={seed}").fingerprint() for seed in (1, 2)}
    assert len(prints) == 2


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
