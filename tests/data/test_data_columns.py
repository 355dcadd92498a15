"""Columns of votes: the usual names, given names, and what a winner's column may say."""

from __future__ import annotations

from pathlib import Path

import pytest
from amounts import examples
from data_files import written
from hypothesis import example, given
from hypothesis import strategies as st

from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.checks import checked_table
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
        (
            ["surface", "winner_id", "winner_name", "loser_id", "loser_name"],
            {"winner": "winner_name", "loser": "loser_name"},
        ),
        (["left", "right"], None),
        (["a", "b", "c"], None),
    ],
)
def test_the_usual_names(names: list[str], found: dict[str, str] | None) -> None:
    assert guess(names) == found


def test_given_columns_win_over_guesses() -> None:
    names = ["winner", "loser", "x", "y", "picked"]
    assert guess(names, {"winner": "picked"}) == {"winner": "picked", "loser": "loser"}
    sided = {"winner": "picked", "left": "x", "right": "y"}
    assert guess(names, sided) == guess(names, parse_columns("left=x, right=y, winner=picked")) == sided


@pytest.mark.parametrize(
    ("given", "said"), [({"left": "z"}, "no column 'z' for the left"), ({"left": "x"}, "need a winner and a loser")]
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
LOST_TWICE = "'loser' says who lost, '{}' and '{}' who .*--columns left=,right=.*--columns loser="


@pytest.mark.parametrize(
    ("text", "said", "readings"),
    [
        (
            "Winner,winner,loser\nz,x,y",
            rf"{ALIKE}: 'Winner', 'winner'; .* \(--columns winner=NAME\)",
            {"winner=winner": "xy", "winner=Winner": "zy"},
        ),
        (
            "model_a,Model_A,model_b,winner\nx,z,y,model_b",
            f"{ALIKE}: 'model_a', 'Model_A'",
            {"left=model_a": "yx", "left=Model_A": "yz"},
        ),
        ("winner,loser,time,Time\nx,y,1,2", f"{ALIKE}: 'time', 'Time'", {"time=": "xy"}),
        (
            "model_a,model_b,winner,loser\nx,y,model_b,model_a",
            LOST_TWICE.format("model_a", "model_b"),
            {"loser=": "yx", "left=model_a,right=model_b": "yx"},
        ),
        (
            "left,right,winner,loser\nx,y,y,x",
            LOST_TWICE.format("left", "right"),
            {"loser=": "yx", "left=,right=": "yx", "loser=loser": "yx"},
        ),
    ],
)
def test_headers_that_may_be_read_in_two_ways_are_refused(
    tmp_path: Path, text: str, said: str, readings: dict[str, str]
) -> None:
    path = written(tmp_path / "votes.csv", f"{text}\n")
    with pytest.raises(InputError, match=said) as caught:
        CsvReader().scan(path)
    assert str(caught.value).startswith(f"{path}: ")
    # What it says to write does it.
    for columns, expected in readings.items():
        found = checked_table(CsvReader().raw(path), columns).frame.collect()
        assert found.select("winner", "loser").row(0) == tuple(expected)


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
        checked_table(CsvReader().raw(path), columns).frame.collect()
    assert str(caught.value).startswith(f"{path}{said}")


NAMES = {
    "left": ("words", 0),
    "right": ("words", 1),
    "a": ("letters", 0),
    "b": ("letters", 1),
    "model_a": ("letters", 0),
    "Model_B": ("letters", 1),
    "item_a": ("letters", 0),
    "playerB": ("letters", 1),
    "answer_b": ("letters", 1),
    "first": ("ordinals", 0),
    "second": ("ordinals", 1),
    "1": ("numbers", 0),
    "player_2": ("numbers", 1),
    "model2": ("numbers", 1),
    "champion": ("", 0),
    "rival": ("", 1),
}
"""Names of columns: in which pair of words, and which of the two it is."""

WORDS = ("left", "right", "a", "b", "model_a", "model_b", "item_a", "player_b", "first", "second", "1", "2")
FAMILIES = {name.lower(): family for name, family in NAMES.items()} | {"player_b": NAMES["b"], "2": NAMES["player_2"]}


def meant(left: str, right: str, word: str) -> int | None:
    """Return 0 if a word means the left column, 1 if the right one, None if it may be either or neither."""
    if word == left.lower():
        return 0
    if word == right.lower():
        return 1
    family = FAMILIES[word][0]
    kin = [name for name in (left, right) if NAMES[name][0] == family]
    named = [name for name in kin if NAMES[name] == FAMILIES[word]]
    if len(named) == 1:
        return (left, right).index(named[0])
    if kin:
        return None
    if family == "words":
        return FAMILIES[word][1]
    one_family = NAMES[left][0] == NAMES[right][0] and NAMES[left][1] == NAMES[right][1]
    against = (NAMES[left][0] and NAMES[left][1] == 1) or (NAMES[right][0] and NAMES[right][1] == 0)
    return None if against and not one_family else FAMILIES[word][1]


def votes(folder: Path, left: str, right: str, word: str, *, turned: bool = False) -> Path:
    path = folder / "votes.csv"
    header, row = ((right, left), ("y", "x")) if turned else ((left, right), ("x", "y"))
    path.write_text(f"{','.join(header)},winner\n{','.join(row)},{word}\n")
    return path


@examples(400)
@given(
    st.lists(st.sampled_from(sorted(NAMES)), min_size=2, max_size=2, unique_by=str.lower),
    st.sampled_from(sorted(WORDS)),
    st.booleans(),
)
@example(["Model_B", "model_a"], "model_a", False)
@example(["second", "first"], "first", True)
@example(["b", "a"], "a", False)
@example(["right", "left"], "left", False)
def test_each_pair_of_names_is_read_as_by_hand(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], word: str, turned: bool
) -> None:
    left, right = names
    path = votes(tmp_path_factory.mktemp("swapped"), left, right, word, turned=turned)
    expected = meant(left, right, word)
    columns = f"left={left},right={right}"
    if expected is None:
        with pytest.raises(InputError, match="neither of the two") as caught:
            checked_table(CsvReader().raw(path), columns).frame.collect()
        # It says what to write instead.
        assert f"{left!r} and {right!r}" in str(caught.value)
        assert f"{path}:2 [winner]" in str(caught.value)
        return
    found = checked_table(CsvReader().raw(path), columns).frame.collect().row(0, named=True)
    assert (found["winner"], found["loser"], found["first"]) == (("x", "y", True), ("y", "x", False))[expected]


def test_what_both_columns_are_called_like_is_neither(tmp_path: Path) -> None:
    path = votes(tmp_path, "item_a", "player_a", "a")
    with pytest.raises(InputError, match="neither of the two"):
        checked_table(CsvReader().raw(path), "left=item_a,right=player_a").frame.collect()


def test_a_column_called_like_a_tie_is_refused(tmp_path: Path) -> None:
    path = votes(tmp_path, "same", "other", "same")
    with pytest.raises(InputError, match=r"\[same\]: .* means a tie.*rename"):
        checked_table(CsvReader().raw(path), "left=same,right=other").frame.collect()


def test_braces_in_a_column_s_name_are_quoted(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", "{a},{b},winner\nx,y,z\n")
    with pytest.raises(InputError, match=r"'z' is neither .* '\{a\}' and '\{b\}'"):
        checked_table(CsvReader().raw(path), "left={a},right={b}").frame.collect()
