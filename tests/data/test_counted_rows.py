"""Rows that stand for several votes, and games that stand in a log from both teams."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Callable
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
from rankbench.errors import InputError
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


@pytest.mark.parametrize(
    "name",
    part_of(
        [
            *("count", "n", "freq", "Freq", "freq.", "votes", "# votes", "num_votes", "numVotes"),
            *("Number of votes", "Total votes", "votes cast", "Number of ballots", "# of ballots", "Ballot count"),
            "Count of voters",
        ]
    ),
)
def test_rows_with_counts_are_as_many_votes(name: str, log: pl.DataFrame, tmp_path: Path) -> None:
    path = stored(log.rename({"count": name}), tmp_path / "log.csv")
    found, each = rankbench.aggregate(path), rankbench.aggregate(rows_of(log, "count"))
    assert found.table.equals(each.table)
    assert found.facts["n"] == each.facts["n"] == log["count"].sum()
    noted = f"'{name}' counts votes (--columns count= counts each row once)"
    assert (noted in found.notes) == (name != "count")
    said = f"{len(log)} rows are {log['count'].sum():,} {'votes' if 'winner' in log.columns else 'ballots'}"
    assert said in found.notes
    once = rankbench.aggregate(path, columns="count=")
    assert once.table.equals(rankbench.aggregate(log.drop("count")).table)
    assert not {noted, said} & {*once.notes}
    assert rankbench.aggregate(path, columns=f"count={name}").table.equals(found.table)


@pytest.mark.parametrize("name", ["weight", "weights"])
def test_weights_are_those_of_one_vote(name: str, log: pl.DataFrame, tmp_path: Path) -> None:
    """Scores are those of as many votes; there are as many votes as rows."""
    path = stored(log.rename({"count": name}), tmp_path / "log.csv")
    found, each = rankbench.aggregate(path), rankbench.aggregate(rows_of(log, "count"))
    assert found.table["item"].to_list() == each.table["item"].to_list()
    np.testing.assert_allclose(found.table["score"], each.table["score"], atol=1e-9)
    assert found.table["wins"].to_list() == each.table["wins"].to_list()
    assert found.facts["n"] == len(log)
    noted = f"'{name}' weighs the rows (--columns weight= weighs none)"
    assert (noted in found.notes) == (name != "weight")
    once = rankbench.aggregate(path, columns="weight=")
    assert once.table.equals(rankbench.aggregate(log.drop("count")).table)


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
    whole = all(value == round(value or 0.5) for value in asked["n"])
    how = "count=n counts each row 'n' times" if whole else "weight=n weighs each row by 'n'"
    assert f"--columns {how} | --columns count= counts each row once" in str(caught.value)
    once = rankbench.aggregate(asked, columns="count=").table
    assert once.equals(rankbench.aggregate(log.drop("count")).table)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["n", "weight"])
def test_a_row_that_counts_0_times_is_no_row(log: pl.DataFrame, name: str, ending: str, tmp_path: Path) -> None:
    log = log.with_columns(count=pl.Series([0, *log["count"][1:]])).rename({"count": name})
    found = rankbench.aggregate(stored(log, tmp_path / f"log.{ending}"))
    role = "weight" if name == "weight" else "count"
    assert found.table.equals(rankbench.aggregate(log[1:], columns=f"{role}={name}").table)
    assert f"rankbench leaves out 1 row whose '{name}' is 0" in found.notes


def test_an_index_without_a_name_weighs_nothing(log: pl.DataFrame, tmp_path: Path) -> None:
    log = log.drop("count")
    path = stored(log.with_row_index(""), tmp_path / "log.csv")
    assert rankbench.aggregate(path).table.equals(rankbench.aggregate(log).table)


def test_two_columns_that_may_count_are_asked_about(log: pl.DataFrame) -> None:
    two = log.with_columns(n=pl.lit(7))
    for other in (two, two.rename({"count": "weight"})):
        with pytest.raises(InputError, match="may each say how many votes a row stands for") as caught:
            rankbench.aggregate(other)
        assert "--columns count=n counts each row 'n' times" in str(caught.value)
    found = rankbench.aggregate(two, columns="count=count").table
    assert found.equals(rankbench.aggregate(log).table)


@pytest.mark.parametrize("intervals", ["sandwich", "bootstrap"])
def test_a_row_may_be_several_votes_of_one_weight(log: pl.DataFrame, intervals: str) -> None:
    if "ranking" in log.columns and intervals == "sandwich":
        return  # for votes alone
    both = log.with_columns(weight=pl.Series([0.5, 2.0, 1.0, 0.25, 3.0, 1.5][: len(log)]))
    found, each = (rankbench.aggregate(one, intervals=intervals) for one in (both, rows_of(both, "count")))
    assert found.table.select(pl.exclude(pl.Float64)).equals(each.table.select(pl.exclude(pl.Float64)))
    for name, column in found.table.select(pl.col(pl.Float64)).to_dict(as_series=True).items():
        np.testing.assert_allclose(column, each.table[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("value", [-1, 2.5, "few", None])
def test_a_count_that_is_none_is_refused_with_its_row(log: pl.DataFrame, value: object, tmp_path: Path) -> None:
    bad = log.with_columns(count=pl.Series([value, *map(type(value or 1), log["count"][1:])], strict=False))
    path = stored(bad, tmp_path / "log.csv")
    with pytest.raises(InputError, match=r"log.csv:2 \[count\]: ") as caught:
        rankbench.aggregate(path)
    assert value is None or "(--columns weight=NAME,count= says the weight of one vote)" in str(caught.value)


def test_a_count_beside_games_won_is_asked_about() -> None:
    series = pl.DataFrame({"left": ["x"], "right": ["y"], "left_wins": [2], "right_wins": [1], "n": [3]})
    with pytest.raises(InputError, match="'n' may count the games of a series, or series that went alike"):
        rankbench.aggregate(series)
    assert rankbench.aggregate(series, columns="count=").table["votes"].to_list() == [3, 3]
    assert rankbench.aggregate(series, columns="weight=n").table["votes"].to_list() == [9, 9]
    assert rankbench.aggregate(series, columns="count=n").table["votes"].to_list() == [9, 9]


def test_words_and_ones_are_no_counts() -> None:
    for values in (["few", "some", "many", "few", "some", "many"], [1] * 6):
        found = rankbench.aggregate(CITED.with_columns(n=pl.Series(values)).drop("count"))
        assert found.table.equals(rankbench.aggregate(CITED.drop("count")).table)
        assert found.notes == rankbench.aggregate(CITED.drop("count")).notes


def test_columns_of_ballots_are_said(tmp_path: Path) -> None:
    path = stored(CAST.rename({"ranking": "order", "count": "cast"}), tmp_path / "ballots.csv")
    found = rankbench.aggregate(path, columns="ranking=order,count=cast").table
    assert found.equals(rankbench.aggregate(CAST).table)
    with pytest.raises(InputError, match="there is no role 'winner' of columns"):
        rankbench.aggregate(path, columns="ranking=order,winner=cast")
    with pytest.raises(InputError, match="there is no column 'ordr' for the ranking; did you mean 'order'"):
        rankbench.aggregate(path, columns="ranking=ordr")
    path.write_text('order,cast\n"[""a"",""b""]",2\nnone,3\n')
    with pytest.raises(InputError, match=r"ballots.csv:3 \[order\]: 'none' is not JSON"):
        rankbench.aggregate(path, columns="ranking=order,weight=cast")


GAMES = [("d1", "Ants", "Bees", 27, 20), ("d2", "Cats", "Ants", 14, 21), ("d3", "Bees", "Cats", 24, 10)]
GAMES += [("d4", "Ants", "Bees", 13, 17), ("d4", "Cats", "Bees", 9, 9)]


def games_of(games: list[tuple[str, str, str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(games, schema=["date", "team_a", "team_b", "score_a", "score_b"], orient="row").select(
        pl.exclude("date"), when=pl.col("date").str.slice(1).cast(pl.Int64)
    )


def twice(games: list[tuple[str, str, str, int, int]]) -> list[tuple[str, str, str, int, int]]:
    return [row for d, x, y, a, b in games for row in ((d, x, y, a, b), (d, y, x, b, a))]


def test_they_are_noticed_and_halved() -> None:
    said = "10 of 10 votes stand there again from the other side"
    once = rankbench.aggregate(games_of(GAMES), columns="time=when", intervals="sandwich")
    both = rankbench.aggregate(games_of(twice(GAMES)), columns="time=when", intervals="sandwich")
    assert any(said in note for note in both.notes)
    assert not any("other side" in note for note in once.notes)
    halved = rankbench.aggregate(games_of(twice(GAMES)), columns="time=when,mirrored=halve", intervals="sandwich")
    assert halved.table.equals(once.table)
    assert "rankbench leaves out 5 rows: each mirrors another row" in halved.notes
    # A side means nothing then.
    assert not any("left wins" in note for note in halved.notes)


@pytest.mark.parametrize("intervals", [None, "sandwich", "bootstrap"])
def test_weighted_ones_are_noticed_with_intervals_of_votes(intervals: str | None) -> None:
    """Rows stand in the place of judges where weighted votes have intervals."""
    games = games_of(twice(GAMES)).with_columns(weight=pl.Series([1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0]))
    found = rankbench.aggregate(games, columns="time=when,weight=weight", intervals=intervals)
    assert any("10 of 10 votes stand there again from the other side" in note for note in found.notes)
    assert not any("by judge" in note for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("mirrored=halve", "no row mirrors another row"),
        ("mirrored=yes", "columns may say mirrored=halve"),
        ("winner=team_a,loser=team_b,mirrored=halve", "columns may say mirrored=halve"),
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
        ("left,right,label\nx,y,.75\ny,x,.25\nx,z,.5\nz,x,.5\ny,z,.9\n", [0.75, 0.25, 1, 0.9, 0.1]),
        ("left,right,left_wins,right_wins,ties\nx,y,2,1,1\ny,x,1,2,1\nx,y,2,1,0\n", [1] * 7),
        ("left,right,left_score,right_score\nx,y,20,10\ny,x,10,20\nx,y,NA,NA\ny,x,NA,NA\n", [1]),
    ],
)
def test_grades_series_and_games_that_were_not_played(text: str, votes: list[float], tmp_path: Path) -> None:
    path = written(tmp_path / "games.csv", text)
    kept = open_log(path, columns="mirrored=halve").frame.collect()
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
    first = [f"2024-01-{day:02d},{x},{y},H\n" for day, (x, y) in enumerate(pairs, 1)]
    second = [f"2024-06-{day:02d},{y},{x},A\n" for day, (x, y) in enumerate(pairs, 1)]
    path = written(tmp_path / "league.csv", "date,home,away,FTR\n" + "".join(first + second))
    for intervals in (None, "sandwich"):
        found = rankbench.aggregate(path, intervals=intervals)
        assert not any("stand there again" in note for note in found.notes)
        undated = rankbench.aggregate(path, columns="time=", intervals=intervals)
        assert any("30 of 30 votes stand there again" in note for note in undated.notes)


@pytest.mark.parametrize(
    "name",
    [
        *("games", "times", "total", "wins", "num_games", "n_games", "num", "matches", "battles", "tally", "Qty"),
        "No. of votes",
    ],
)
def test_numbers_beside_a_winner_that_may_be_counts_are_asked_about(name: str, tmp_path: Path) -> None:
    path = stored(pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], name: [90, 10]}), tmp_path / "log.csv")
    with pytest.raises(InputError, match="may say how many votes a row stands for") as caught:
        rankbench.aggregate(path)
    said = next(word for word in shlex.split(str(caught.value).replace("'s", "")) if word.startswith("count="))
    found = rankbench.aggregate(path, columns=said).table
    # Firth's penalty adds half a win to each side of two items.
    np.testing.assert_allclose(found["score"], np.log(90.5 / 10.5) / 2 * np.array([1, -1]), atol=1e-9)
    assert rankbench.aggregate(path, columns="weight=").table["score"].to_list() == [0.0, 0.0]


def test_numbers_beside_ballots_that_may_be_counts_are_asked_about(tmp_path: Path) -> None:
    for name in ("total", "tally", "Qty", "No. of ballots", "percent"):
        table = pl.DataFrame([("Ada", "Bo", 2), ("Bo", "Ada", 40)], ["1st choice", "2nd choice", name], orient="row")
        path = stored(table, tmp_path / "ballots.csv")
        with pytest.raises(InputError, match="may say how many votes a row stands for"):
            rankbench.aggregate(path, columns="rank1=1st choice,rank2=2nd choice")
        for weight, firsts in ((name, [40, 2]), ("", [1, 1])):
            said = rankbench.aggregate(path, columns=f"rank1=1st choice,rank2=2nd choice,weight={weight}")
            assert sorted(said.table["wins"], reverse=True) == firsts


def test_shares_of_ballots_weigh_them(tmp_path: Path) -> None:
    path = written(tmp_path / "ballots.csv", "ranking,share\na>b,.6\nb>a,.4\n")
    with pytest.raises(InputError, match="'share' may say how many votes a row stands for"):
        rankbench.aggregate(path)
    found = rankbench.aggregate(path, columns="weight=share").table
    assert dict(found.select("item", "wins").iter_rows()) == {"a": 0.6, "b": 0.4}
    path.write_text("ranking,share\na>b,60%\nb>a,40%\n")
    with pytest.raises(InputError, match="'share' may say how many votes a row stands for"):
        rankbench.aggregate(path)


def test_counts_that_are_not_used_are_named() -> None:
    votes = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["a", "a"], "num_battles": [90, 10]})
    assert "rankbench does not use 'num_battles': it weighs no row" in rankbench.aggregate(votes).notes
    assert not rankbench.aggregate(votes, columns="weight=").notes
    weighed = rankbench.aggregate(votes, columns="weight=num_battles")
    assert weighed.table.select("item", "wins").rows() == [("x", 90), ("y", 10)]
    places = pl.DataFrame({"q": [1, 1], "name": ["a", "b"], "at": [1, 2], "count": [40, 40]})
    found = rankbench.aggregate(places, columns="query=q,item=name,place=at")
    assert "rankbench does not use 'count': it weighs no row" in found.notes


@pytest.mark.parametrize("names", [["1st", "2nd", "3rd"], ["first", "second", "third"], ["gold", "silver", "bronze"]])
def test_ordinals_are_offered_as_ballots(names: list[str]) -> None:
    ballots = [["Bo", "Ada", "Cy"], ["Ada", "Bo", "Cy"], ["Bo", "Cy", "Ada"]]
    table = pl.DataFrame(ballots, schema=names, orient="row")
    said = ",".join(f"rank{k}={name}" for k, name in enumerate(names, 1))
    with pytest.raises(InputError, match=f"--columns {said} reads 'Bo' > 'Ada' > 'Cy'"):
        rankbench.aggregate(table)
    expected = rankbench.aggregate(pl.DataFrame({"ranking": ballots})).table
    assert rankbench.aggregate(table, columns=said).table.equals(expected)
