"""Columns that say how many votes or ballots a row stands for: rows that are so many rows are what it must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import stored

import rankbench
from rankbench.errors import InputError


def rows_of(log: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return each row as often as a column says, without the column."""
    return log.select(pl.exclude(name).repeat_by(pl.col(name)).explode())


CITED = pl.DataFrame(
    [("x", "y", 33), ("x", "z", 730), ("y", "x", 320), ("y", "z", 68), ("z", "x", 40), ("z", "y", 8)],
    ["winner", "loser", "count"],
    orient="row",
)
CAST = pl.DataFrame(
    {"ranking": ['["Ada", "Bo", "Cy"]', '["Bo", "Cy", "Ada"]', '["Cy", "Bo", "Ada"]'], "count": [40, 1, 1]}
)


@pytest.fixture(params=[CITED, CAST], ids=["votes", "ballots"])
def log(request: pytest.FixtureRequest) -> pl.DataFrame:
    return request.param


@pytest.mark.parametrize(
    "name", ["count", "n", "freq", "Freq", "votes", "num_votes", "Number of votes", "numVotes", "weights", "weight"]
)
def test_a_column_of_counts_weighs_the_rows(name: str, log: pl.DataFrame, tmp_path: Path) -> None:
    path = stored(log.rename({"count": name}), tmp_path / "log.csv")
    found, each = rankbench.aggregate(path), rankbench.aggregate(rows_of(log, "count"))
    assert found.table["item"].to_list() == each.table["item"].to_list()
    np.testing.assert_allclose(found.table["score"], each.table["score"], atol=1e-9)
    assert found.table["wins"].to_list() == each.table["wins"].to_list()
    noted = f"'{name}' weighs the rows: each counts so many times (--columns weight= counts each once)"
    assert (noted in found.notes) == (name != "weight")
    once = rankbench.aggregate(path, columns="weight=")
    assert once.table.equals(rankbench.aggregate(log.drop("count")).table)
    assert noted not in once.notes
    assert rankbench.aggregate(path, columns=f"weight={name}").table.equals(found.table)


def test_counts_beside_two_sides_in_csv_and_parquet(tmp_path: Path) -> None:
    log = pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_a", "model_b"], "n": [10, 90]})
    for ending in ("csv", "parquet"):
        found = rankbench.aggregate(stored(log, tmp_path / f"log.{ending}")).table
        # Firth's penalty is half a win each way between two items.
        expected = np.log(90.5 / 10.5) / 2
        assert dict(found.select("item", "score").rows()) == pytest.approx({"y": expected, "x": -expected})


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (lambda rows: range(1, rows + 1), "'n' may count votes, or number the rows from 1 to "),
        (lambda rows: range(rows), "'n' may count votes, or number the rows from 0 to "),
        (lambda rows: [0] * rows, "'n' is called like a column of counts, but holds other values"),
        (lambda rows: [2.5] * rows, "'n' is called like a column of counts, but holds other values"),
        (lambda rows: [None, *[2] * (rows - 1)], "'n' is called like a column of counts, but holds other values"),
    ],
)
def test_what_may_be_no_count_is_asked_about(log: pl.DataFrame, values: Callable[[int], list[float]], why: str) -> None:
    asked = log.drop("count").with_columns(n=pl.Series(list(values(len(log)))))
    with pytest.raises(InputError) as caught:
        rankbench.aggregate(asked)
    assert why in str(caught.value)
    assert "--columns weight=n weighs each row by 'n' | --columns weight= counts each row once" in str(caught.value)
    once = rankbench.aggregate(asked, columns="weight=").table
    assert once.equals(rankbench.aggregate(log.drop("count")).table)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["n", "weight"])
def test_a_row_that_counts_0_times_is_no_row(log: pl.DataFrame, name: str, ending: str, tmp_path: Path) -> None:
    log = log.with_columns(count=pl.Series([0, *log["count"][1:]])).rename({"count": name})
    found = rankbench.aggregate(stored(log, tmp_path / f"log.{ending}"))
    assert found.table.equals(rankbench.aggregate(log[1:], columns=f"weight={name}").table)
    assert f"1 rows whose '{name}' is 0 are left out" in found.notes


def test_an_index_without_a_name_weighs_nothing(log: pl.DataFrame, tmp_path: Path) -> None:
    log = log.drop("count")
    path = stored(log.with_row_index(""), tmp_path / "log.csv")
    assert rankbench.aggregate(path).table.equals(rankbench.aggregate(log).table)


def test_two_columns_that_may_count_are_asked_about(log: pl.DataFrame) -> None:
    for name in ("n", "weight"):
        two = log.with_columns(pl.lit(7).alias(name))
        with pytest.raises(InputError, match="may each say how many votes a row stands for") as caught:
            rankbench.aggregate(two)
        for choice in ("count", name):
            assert f"--columns weight={choice} weighs each row by '{choice}'" in str(caught.value)
        found = rankbench.aggregate(two, columns="weight=count").table
        assert found.equals(rankbench.aggregate(log).table)


def test_a_count_beside_games_won_is_asked_about() -> None:
    series = pl.DataFrame({"left": ["x"], "right": ["y"], "left_wins": [2], "right_wins": [1], "n": [3]})
    with pytest.raises(InputError, match="'n' may count the games of a series, or series that went alike"):
        rankbench.aggregate(series)
    assert rankbench.aggregate(series, columns="weight=").table["votes"].to_list() == [3, 3]
    assert rankbench.aggregate(series, columns="weight=n").table["votes"].to_list() == [9, 9]


def test_words_and_ones_are_no_counts() -> None:
    for values in (["few", "some", "many", "few", "some", "many"], [1] * 6):
        found = rankbench.aggregate(CITED.with_columns(count=pl.Series(values)))
        assert found.table.equals(rankbench.aggregate(CITED.drop("count")).table)
        assert found.notes == rankbench.aggregate(CITED.drop("count")).notes


def test_columns_of_ballots_are_said(tmp_path: Path) -> None:
    path = stored(CAST.rename({"ranking": "order", "count": "cast"}), tmp_path / "ballots.csv")
    found = rankbench.aggregate(path, columns="ranking=order,weight=cast").table
    assert found.equals(rankbench.aggregate(CAST).table)
    with pytest.raises(InputError, match="there is no role 'winner' of columns"):
        rankbench.aggregate(path, columns="ranking=order,winner=cast")
    with pytest.raises(InputError, match="there is no column 'ordr' for the ranking; did you mean 'order'"):
        rankbench.aggregate(path, columns="ranking=ordr")
    path.write_text('order,cast\n"[""a"",""b""]",2\nnone,3\n')
    with pytest.raises(InputError, match=r"ballots.csv:3 \[order\]: 'none' is not JSON"):
        rankbench.aggregate(path, columns="ranking=order,weight=cast")
