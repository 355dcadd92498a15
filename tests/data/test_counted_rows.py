"""Rows that stand for several votes, and games that stand in a log from both teams."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from data_files import stored, written
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import rankbench
from rankbench.descriptions.suspicions import mirrored_votes
from rankbench.errors import InputError, Unread
from rankbench.logs.open import open_log


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


@pytest.mark.parametrize("name", ["count", "# of votes"])
def test_rows_with_counts_are_as_many_votes(name: str, log: pl.DataFrame, tmp_path: Path) -> None:
    path = stored(log.rename({"count": name}), tmp_path / "log.csv")
    found, each = rankbench.aggregate(path, columns=f"count={name}"), rankbench.aggregate(rows_of(log, "count"))
    assert found.table.equals(each.table)
    assert found.facts["n"] == each.facts["n"] == log["count"].sum()
    said = f"are {log['count'].sum():,} {'votes' if 'winner' in log.columns else 'voters'}"
    assert said in found.notes[0]
    once = rankbench.aggregate(path, columns=f'count=,ignore="{name}"')
    assert once.table.equals(rankbench.aggregate(log.drop("count")).table)
    assert not any(said in note for note in once.notes)
    if name == "count":
        assert rankbench.aggregate(path).table.equals(found.table)


def test_weights_are_those_of_one_vote(log: pl.DataFrame, tmp_path: Path) -> None:
    """Scores are those of as many votes; there are as many votes as rows."""
    path = stored(log.rename({"count": "weight"}), tmp_path / "log.csv")
    found, each = rankbench.aggregate(path), rankbench.aggregate(rows_of(log, "count"))
    assert found.table["item"].to_list() == each.table["item"].to_list()
    np.testing.assert_allclose(found.table["score"], each.table["score"], atol=1e-9)
    assert found.table["wins"].to_list() == each.table["wins"].to_list()
    assert found.facts["n"] == len(log)
    once = rankbench.aggregate(path, columns="weight=")
    assert once.table.equals(rankbench.aggregate(log.drop("count")).table)


def test_counts_beside_two_sides_in_csv_and_parquet(tmp_path: Path) -> None:
    log = pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_a", "model_b"]})
    log = log.with_columns(count=pl.Series([10, 90]))
    for ending in ("csv", "parquet"):
        found = rankbench.aggregate(stored(log, tmp_path / f"log.{ending}")).table
        # Firth's penalty is half a win each way between two items.
        expected = np.log(90.5 / 10.5) / 2
        assert dict(found.select("item", "score").rows()) == pytest.approx({"y": expected, "x": -expected})


@pytest.mark.parametrize("ending", part_of(["csv", "parquet"]))
@pytest.mark.parametrize("name", ["count", "weight"])
def test_a_row_that_counts_0_times_is_no_row(log: pl.DataFrame, name: str, ending: str, tmp_path: Path) -> None:
    log = log.with_columns(count=pl.Series([0, *log["count"][1:]])).rename({"count": name})
    found = rankbench.aggregate(stored(log, tmp_path / f"log.{ending}"))
    assert found.table.equals(rankbench.aggregate(log[1:]).table)
    assert f"rankbench leaves out 1 row whose '{name}' is 0" in found.notes


def test_an_index_without_a_name_weighs_nothing(log: pl.DataFrame, tmp_path: Path) -> None:
    log = log.drop("count")
    path = stored(log.with_row_index(""), tmp_path / "log.csv")
    assert rankbench.aggregate(path).table.equals(rankbench.aggregate(log).table)


@pytest.mark.parametrize("intervals", ["sandwich", "bootstrap"])
def test_a_row_may_be_several_votes_of_one_weight(log: pl.DataFrame, intervals: str) -> None:
    if "ranking" in log.columns and intervals == "sandwich":
        return  # for votes alone
    both = log.with_columns(weight=pl.Series([0.5, 2.0, 1.0, 0.25, 3.0, 1.5][: len(log)]))
    found, each = (
        rankbench.aggregate(one, intervals=intervals, replicates=100) for one in (both, rows_of(both, "count"))
    )
    assert found.table.select(pl.exclude(pl.Float64)).equals(each.table.select(pl.exclude(pl.Float64)))
    for name, column in found.table.select(pl.col(pl.Float64)).to_dict(as_series=True).items():
        np.testing.assert_allclose(column, each.table[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("value", [-1, 2.5, "few", None])
def test_a_count_that_is_none_is_refused_with_its_row(log: pl.DataFrame, value: object, tmp_path: Path) -> None:
    bad = log.with_columns(count=pl.Series([value, *map(type(value or 1), log["count"][1:])], strict=False))
    path = stored(bad, tmp_path / "log.csv")
    with pytest.raises(InputError, match=r"log.csv:2 \[count\]: ") as caught:
        rankbench.aggregate(path)
    assert value is None or "weight=NAME" in str(caught.value)


def test_a_count_beside_games_won_is_of_series_that_went_alike() -> None:
    series = pl.DataFrame({"left": ["x"], "right": ["y"], "left_wins": [2], "right_wins": [1], "count": [3]})
    for columns, votes in (("", 9), ("weight=count,count=", 9), ("count=", 3)):
        assert rankbench.aggregate(series, columns=columns).table["votes"].to_list() == [votes, votes]


def test_columns_of_ballots_are_said(tmp_path: Path) -> None:
    path = stored(CAST.rename({"ranking": "order", "count": "cast"}), tmp_path / "ballots.csv")
    found = rankbench.aggregate(path, columns="ranking=order,count=cast").table
    assert found.equals(rankbench.aggregate(CAST).table)
    with pytest.raises(InputError, match="there is no role 'ranking' of votes"):
        rankbench.aggregate(path, columns="ranking=order,winner=cast")
    with pytest.raises(InputError, match="there is no column 'ordr' for the ranking; did you mean 'order'"):
        rankbench.aggregate(path, columns="ranking=ordr")
    path.write_text('order,cast\n"[""a"",""b""]",2\nnone,3\n')
    with pytest.raises(InputError, match=r"ballots.csv:3 \[order\]: "):
        rankbench.aggregate(path, columns="ranking=order,weight=cast")


GAMES = [(1, "Ants", "Bees", 27, 20), (2, "Cats", "Ants", 14, 21), (3, "Bees", "Cats", 24, 10)]
GAMES += [(4, "Ants", "Bees", 13, 17), (4, "Cats", "Bees", 9, 9)]


def games_of(games: list[tuple[int, str, str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(games, schema=["time", "left", "right", "left_score", "right_score"], orient="row")


def twice(games: list[tuple[int, str, str, int, int]]) -> list[tuple[int, str, str, int, int]]:
    return [row for d, x, y, a, b in games for row in ((d, x, y, a, b), (d, y, x, b, a))]


def test_they_are_asked_about_and_halved() -> None:
    once = rankbench.aggregate(games_of(GAMES), intervals="sandwich")
    assert not any("other side" in note for note in once.notes)
    with pytest.raises(Unread, match="mirrored=halve"):
        rankbench.aggregate(games_of(twice(GAMES)))
    halved = rankbench.aggregate(games_of(twice(GAMES)), columns="mirrored=halve", intervals="sandwich")
    assert halved.table.equals(once.table)
    assert "rankbench leaves out 5 rows: each mirrors another row" in halved.notes
    # A side means nothing then.
    assert not any("left wins" in note for note in halved.notes)


@pytest.mark.parametrize("intervals", [None, "sandwich", "bootstrap"])
def test_weighted_ones_are_noticed_with_intervals_of_votes(intervals: str | None) -> None:
    """Rows stand in the place of judges where weighted votes have intervals."""
    games = games_of(twice(GAMES)).with_columns(weight=pl.Series([1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0]))
    found = rankbench.aggregate(games, columns="mirrored=keep", intervals=intervals)
    assert any("10 of 10 votes stand there again from the other side" in note for note in found.notes)
    assert not any("by judge" in note for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("mirrored=halve", "no row mirrors another row"),
        ("mirrored=yes", "columns may say mirrored=halve or keep, not mirrored=yes"),
        ("winner=left,loser=right,left=,right=,mirrored=halve", "not of winners and losers"),
    ],
)
def test_what_cannot_be_halved_is_refused(columns: str, said: str, tmp_path: Path) -> None:
    path = stored(games_of(GAMES), tmp_path / "games.csv")
    with pytest.raises(InputError, match=said):
        rankbench.aggregate(path, columns=columns)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["ab", "ba", "ac", "ca"]), st.integers(0, 2)), max_size=12),
    st.integers(1, 3),
)
def test_as_many_are_left_out_as_have_a_partner(rows: list[tuple[int, str, int]], copies: int) -> None:
    """By hand: of each game the rows from one side, or from the other, whichever are more."""
    rows = [(0, "ab", 0), (0, "ba", 2), *rows] * copies
    result = ["left", "tie", "right"]
    frame = pl.DataFrame(
        {
            "left": [pair[0] for _, pair, _ in rows],
            "right": [pair[1] for _, pair, _ in rows],
            "winner": [result[won] for _, _, won in rows],
            "time": [time for time, _, _ in rows],
        }
    )
    seen: Counter[tuple[int, str, int, bool]] = Counter()
    for time, pair, won in rows:
        turned = pair[0] > pair[1]
        seen[time, "".join(sorted(pair)), 2 - won if turned else won, turned] += 1
    games = {game[:3] for game in seen}
    expected = {game: max(seen[*game, False], seen[*game, True]) for game in games}
    found: Counter[tuple[int, str, int]] = Counter()
    kept = open_log(frame, columns="mirrored=halve").frame.collect()
    for winner, loser, time, tie in kept.select("winner", "loser", "time", "tie").iter_rows():
        found[time, "".join(sorted(winner + loser)), 1 if tie else 0 if winner < loser else 2] += 1
    assert dict(found) == expected


@pytest.mark.parametrize(
    ("text", "votes"),
    [
        ("left,right,points\nx,y,.75\ny,x,.25\nx,z,.5\nz,x,.5\ny,z,.9\n", [0.75, 0.25, 1, 0.9, 0.1]),
        ("left,right,left_wins,right_wins,ties\nx,y,2,1,1\ny,x,1,2,1\nx,y,2,1,0\n", [1] * 7),
        ("left,right,left_score,right_score\nx,y,20,10\ny,x,10,20\nx,y,NA,NA\ny,x,NA,NA\n", [1]),
    ],
)
def test_grades_series_and_games_that_were_not_played(text: str, votes: list[float], tmp_path: Path) -> None:
    path = written(tmp_path / "games.csv", text)
    kept = open_log(path, columns="mirrored=halve; missing=NA").frame.collect()
    weights = kept["weight"].to_list() if "weight" in kept.columns else [1.0] * kept.height
    assert weights == pytest.approx(votes)


SEEN_TWICE = [("Ants", "Bees"), ("Bees", "Cats"), ("Cats", "Dogs"), ("Dogs", "Ants")]


@pytest.mark.parametrize("stray", [("Ants", "Cats"), ("Ants", "Bees"), ("Bees", "Ants"), ("Eels", "Ants")])
def test_a_game_that_stands_there_once_does_not_hide_mirrored_ones(stray: tuple[str, str]) -> None:
    rows = [*SEEN_TWICE, *[game[::-1] for game in SEEN_TWICE], stray]
    games = pl.DataFrame(rows, schema=["left", "right"], orient="row").with_columns(
        winner=pl.Series([*[game[0] for game in SEEN_TWICE] * 2, stray[0]])
    )
    assert any("8 of 9 votes stand there again" in note for note in rankbench.aggregate(games).notes)
    # Three games and their mirrors are no evidence: one log of sixty-four has them by chance.
    fewer = games.filter(~pl.any_horizontal(pl.col("left", "right") == "Dogs"))
    assert not any("stand there again" in note for note in rankbench.aggregate(fewer).notes)


def drawn(rng: np.random.Generator, pairs: np.ndarray, spread: float) -> pl.DataFrame:
    """Return games of pairs of items, shape (n, 2), whose sides and results are drawn by Bradley-Terry's model."""
    strength = rng.normal(scale=spread, size=pairs.max() + 1)
    won = rng.random(len(pairs)) < 1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]]))
    winner, loser = np.where(won, pairs.T, pairs.T[::-1]).astype(str)
    return pl.DataFrame({"winner": winner, "loser": loser, "first": rng.random(len(pairs)) < 0.5})


@pytest.mark.full
def test_sides_drawn_by_lot_are_seldom_taken_for_mirrored_ones() -> None:
    """In one log of a hundred at most: a binomial of that chance is larger than the bound once in a thousand tests."""
    rng = np.random.default_rng(20261126)
    n = trials(3000)
    taken = 0
    for k in range(n):
        m, rounds = 2 + k % 7, 1 + k % 5
        every = np.array(list(itertools.combinations(range(m), 2)))
        pairs = every[rng.integers(len(every), size=6 + k % 40)] if k % 2 else np.repeat(every, 2 * rounds, axis=0)
        frame = drawn(rng, pairs, spread=k % 3 / 2)
        taken += mirrored_votes(frame.lazy()) is not None
    assert taken <= binom.ppf(0.999, n, 0.01)
    assert mirrored_votes(frame.drop("first").lazy()) is None


def test_games_of_two_dates_are_not_mirrored_ones(tmp_path: Path) -> None:
    """Favorites win at home and away."""
    pairs = list(itertools.combinations("abcdef", 2))
    first = [f"2024-01-{day:02d},{x},{y},home\n" for day, (x, y) in enumerate(pairs, 1)]
    second = [f"2024-06-{day:02d},{y},{x},away\n" for day, (x, y) in enumerate(pairs, 1)]
    path = written(tmp_path / "league.csv", "time,home,away,winner\n" + "".join(first + second))
    for intervals in (None, "sandwich"):
        found = rankbench.aggregate(path, intervals=intervals)
        assert not any("stand there again" in note for note in found.notes)
        with pytest.raises(Unread, match="says the same from the other side"):
            rankbench.aggregate(path, columns="time=")
        undated = rankbench.aggregate(path, columns="time=,mirrored=keep", intervals=intervals)
        assert any("30 of 30 votes stand there again" in note for note in undated.notes)
