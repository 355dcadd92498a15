"""Columns of votes: the usual names, given names, and what a winner's column may say."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_files import written

from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.column_roles import guess, parse_columns
from rankbench.errors import InputError


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["winner", "loser"], {"winner": "winner", "loser": "loser"}),
        (["Winner", " LOSER "], {"winner": "Winner", "loser": " LOSER "}),
        (
            ["model_a", "model_b", "winner", "judge", "tstamp"],
            {"winner": "winner", "left": "model_a", "right": "model_b", "judge": "judge", "time": "tstamp"},
        ),
        (
            ["id", "prompt", "left", "right", "winner", "worker"],
            {"winner": "winner", "left": "left", "right": "right", "query": "prompt", "judge": "worker"},
        ),
        (["won", "lost", "weight", "tie"], {"winner": "won", "loser": "lost", "weight": "weight", "tie": "tie"}),
        (["left", "right"], None),
        (["a", "b", "c"], None),
    ],
)
def test_the_usual_names(names: list[str], found: dict[str, str] | None) -> None:
    assert guess(names) == found


def test_given_columns_win_over_guesses() -> None:
    names = ["winner", "loser", "x", "y", "picked"]
    assert guess(names, {"winner": "picked"}) == {"winner": "picked", "loser": "loser"}
    assert guess(names, {"left": "x", "right": "y", "winner": "picked"}) == {
        "winner": "picked",
        "left": "x",
        "right": "y",
    }
    assert guess(["x", "y", "picked"], parse_columns("left=x, right=y, winner=picked")) == {
        "winner": "picked",
        "left": "x",
        "right": "y",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"left": "z"}, "no column 'z' for the left"),
        ({"left": "x"}, "need a winner and a loser"),
    ],
)
def test_what_was_given_must_be_there(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        guess(["x", "y"], given)


@pytest.mark.parametrize(
    ("text", "said"), [("left", "role=name"), ("lefft=x", "did you mean 'left'"), ("left=x,left=y", "twice")]
)
def test_columns_are_written_as_role_and_name(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_columns(text)


ALIKE = "differ in capitals or spaces alone"
LOST_TWICE = "says who lost, and .* who were compared"


@pytest.mark.parametrize(
    ("header", "row", "said", "readings"),
    [
        (
            "Winner,winner,loser",
            "z,x,y",
            rf"{ALIKE}: 'Winner', 'winner'; .* \(--columns winner=NAME\)",
            {"winner=winner": ("x", "y"), "winner=Winner": ("z", "y")},
        ),
        (
            "model_a,Model_A,model_b,winner",
            "x,z,y,model_b",
            rf"{ALIKE}: 'model_a', 'Model_A'",
            {"left=model_a": ("y", "x"), "left=Model_A": ("y", "z")},
        ),
        ("winner,loser,time,Time", "x,y,1,2", rf"{ALIKE}: 'time', 'Time'", {"time=": ("x", "y")}),
        (
            "model_a,model_b,winner,loser",
            "x,y,model_b,model_a",
            r"'loser' says who lost, and 'model_a' and 'model_b' who .*--columns left=,right=.*--columns loser=",
            {"loser=": ("y", "x"), "left=model_a,right=model_b": ("y", "x")},
        ),
        (
            "left,right,winner,loser",
            "x,y,y,x",
            LOST_TWICE,
            {"loser=": ("y", "x"), "left=,right=": ("y", "x"), "loser=loser": ("y", "x")},
        ),
    ],
)
def test_headers_that_may_be_read_in_two_ways_are_refused(
    tmp_path: Path, header: str, row: str, said: str, readings: dict[str, tuple[str, str]]
) -> None:
    path = written(tmp_path / "votes.csv", f"{header}\n{row}\n")
    with pytest.raises(InputError, match=said) as caught:
        CsvReader().scan(path)
    assert str(caught.value).startswith(f"{path}: ")
    # What it says to write does it.
    for columns, expected in readings.items():
        found = CsvReader(columns=columns).scan(path).collect()
        assert found.select("winner", "loser").row(0) == expected


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("model_a,model_b,choice\nx,y,model_a\nx,z,somebody\n", "winner=choice", ":3 [choice]: 'somebody' is neither"),
        ("won,lost\nx,x\n", "", ":2 [won]: item 'x' is compared with itself"),
    ],
)
def test_errors_have_their_row_and_the_log_s_own_column(tmp_path: Path, text: str, columns: str, said: str) -> None:
    path = written(tmp_path / "votes.csv", text)
    with pytest.raises(InputError) as caught:
        CsvReader(columns=columns).scan(path).collect()
    assert str(caught.value).startswith(f"{path}{said}")
