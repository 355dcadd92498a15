"""Elo of real logs: an independent loop, and evalica where it is installed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankbench

LLMFAO = Path(__file__).parents[2] / "datasets" / "llmfao" / "llmfao.csv"
ROOT = os.environ.get("RANKBENCH_DATA")
FOOTBALL = Path(ROOT or ".") / "international-results" / "results.csv"
needs_data = pytest.mark.skipif(
    not ROOT or not FOOTBALL.is_file(), reason="RANKBENCH_DATA does not name a folder with international-results"
)


def llmfao() -> pl.DataFrame:
    return pl.read_csv(LLMFAO).select("left", "right", "winner")


def football() -> pl.DataFrame:
    """Return the matches that were played, by date."""
    played = pl.read_csv(FOOTBALL, null_values="NA").drop_nulls(["home_score", "away_score"])
    margin = pl.col("home_score") - pl.col("away_score")
    winner = pl.when(margin > 0).then(pl.lit("left")).when(margin < 0).then(pl.lit("right")).otherwise(pl.lit("tie"))
    return played.select(pl.col("date").alias("time"), left="home_team", right="away_team", winner=winner)


LOGS = [pytest.param(llmfao, id="llmfao"), pytest.param(football, id="football", marks=needs_data)]


def points(log: pl.DataFrame, factor: float) -> dict[str, float]:
    """Return what `aggregate` says, in points of chess beside the initial rating."""
    table = rankbench.aggregate(log, f"elo:factor={factor}").table
    return {item: 400 / np.log(10) * score for item, score in table.select("item", "score").iter_rows()}


def by_hand(log: pl.DataFrame, factor: float) -> dict[str, float]:
    """Rate as Elo's book does, game by game: S is 1, 1/2 or 0."""
    rating: dict[str, float] = {}
    for left, right, said in log.select("left", "right", "winner").iter_rows():
        a, b = rating.setdefault(left, 0.0), rating.setdefault(right, 0.0)
        change = factor * ({"left": 1.0, "tie": 0.5, "right": 0.0}[said] - 1 / (1 + 10 ** ((b - a) / 400)))
        rating[left], rating[right] = a + change, b - change
    return rating


@pytest.mark.parametrize("factor", [4.0, 32.0, 128.0])
@pytest.mark.parametrize("log", LOGS)
def test_ratings_are_those_of_the_textbook(log, factor: float) -> None:
    votes = log()
    assert points(votes, factor) == pytest.approx(by_hand(votes, factor), abs=1e-7)


@pytest.mark.parametrize("log", LOGS)
def test_ratings_are_those_of_evalica(log) -> None:
    evalica = pytest.importorskip("evalica")
    votes = log()
    of = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    sides = votes["left"].to_list(), votes["right"].to_list()
    found = evalica.elo(*sides, [of[said] for said in votes["winner"]], k=32, initial=0).scores
    assert points(votes, 32) == pytest.approx(found.to_dict(), abs=1e-6)


@pytest.mark.parametrize("log", LOGS)
def test_who_stands_left_means_nothing(log) -> None:
    votes = log()
    turned = votes.select(
        *(name for name in votes.columns if name == "time"),
        left="right",
        right="left",
        winner=pl.col("winner").replace({"left": "right", "right": "left"}),
    )
    assert points(turned, 32) == points(votes, 32)


def test_a_log_of_ties_alone_says_nothing_against_anybody() -> None:
    tied = llmfao().with_columns(winner=pl.lit("tie"))
    found = rankbench.aggregate(tied, "elo", intervals="bootstrap", replicates=20).table
    assert found["score"].unique().to_list() == [0.0]
    assert found["rank_low"].unique().to_list() == [1]
    assert found["rank_high"].unique().to_list() == [found.height]
