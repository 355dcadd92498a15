"""Games that stand in a log from both teams: they are noticed, and halved when asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import stored, written
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.errors import InputError
from rankbench.ranking.judges import mirrored_votes
from rankbench.ranking.open import open_source

GAMES = [("d1", "Ants", "Bees", 27, 20), ("d2", "Cats", "Ants", 14, 21), ("d3", "Bees", "Cats", 24, 10)]
GAMES += [("d4", "Ants", "Bees", 13, 17), ("d4", "Cats", "Bees", 9, 9)]


def log(games: list[tuple[str, str, str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(games, schema=["date", "team_a", "team_b", "score_a", "score_b"], orient="row").select(
        pl.exclude("date"), when=pl.col("date").str.slice(1).cast(pl.Int64)
    )


def twice(games: list[tuple[str, str, str, int, int]]) -> list[tuple[str, str, str, int, int]]:
    return [row for d, x, y, a, b in games for row in ((d, x, y, a, b), (d, y, x, b, a))]


def test_they_are_noticed_and_halved() -> None:
    said = "10 of 10 votes stand there again from the other side"
    once = rankbench.aggregate(log(GAMES), columns="time=when", intervals="sandwich")
    both = rankbench.aggregate(log(twice(GAMES)), columns="time=when", intervals="sandwich")
    assert any(said in note for note in both.notes)
    assert not any("other side" in note for note in once.notes)
    halved = rankbench.aggregate(log(twice(GAMES)), columns="time=when,mirrored=halve", intervals="sandwich")
    assert halved.table.equals(once.table)
    assert "5 rows are left out: each says again what another one says from the other side" in halved.notes
    # A side means nothing then.
    assert not any("left wins" in note for note in halved.notes)


@pytest.mark.parametrize("intervals", [None, "sandwich", "bootstrap"])
def test_weighted_ones_are_noticed_with_intervals_of_votes(intervals: str | None) -> None:
    """Rows stand in the place of judges where weighted votes have intervals."""
    games = log(twice(GAMES)).with_columns(weight=pl.Series([1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0]))
    found = rankbench.aggregate(games, columns="time=when,weight=weight", intervals=intervals)
    assert any("10 of 10 votes stand there again from the other side" in note for note in found.notes)
    assert not any("by judge" in note for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("mirrored=halve", "no row says again what another one says from the other side"),
        ("mirrored=yes", "columns may say mirrored=halve"),
        ("winner=team_a,loser=team_b,mirrored=halve", "columns may say mirrored=halve"),
    ],
)
def test_what_cannot_be_halved_is_refused(columns: str, said: str, tmp_path: Path) -> None:
    path = stored(log(GAMES), tmp_path / "games.csv")
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
    kept = open_source(frame, columns="mirrored=halve").frame.collect()
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
    kept = open_source(path, columns="mirrored=halve").frame.collect()
    weights = kept["weight"].to_list() if "weight" in kept.columns else [1.0] * kept.height
    assert weights == pytest.approx(votes)


def test_sides_drawn_by_lot_are_not_taken_for_mirrored_ones() -> None:
    rng = np.random.default_rng(20261126)
    for n in (20, 200, 2000):
        a = rng.integers(4, size=n)
        b = (a + rng.integers(1, 4, size=n)) % 4
        frame = pl.DataFrame(
            {"winner": [f"i{x}" for x in a], "loser": [f"i{x}" for x in b], "first": rng.random(n) < 0.5}
        )
        assert mirrored_votes(frame.lazy()) is None
    assert mirrored_votes(frame.drop("first").lazy()) is None
