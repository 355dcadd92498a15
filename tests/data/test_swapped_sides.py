"""Sides where the columns were given: their own names decide who won, whichever stands on the left."""

from __future__ import annotations

from pathlib import Path

import pytest
from amounts import examples
from data_files import written
from hypothesis import example, given
from hypothesis import strategies as st

from rankbench.data.readers.csv import CsvReader
from rankbench.errors import InputError

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
    reader = CsvReader(columns=f"left={left},right={right}")
    if expected is None:
        with pytest.raises(InputError, match="neither of the two") as caught:
            reader.scan(path).collect()
        # It says what to write instead.
        assert f"{left!r} and {right!r}" in str(caught.value)
        assert f"{path}:2 [winner]" in str(caught.value)
        return
    found = reader.scan(path).collect().row(0, named=True)
    assert (found["winner"], found["loser"], found["first"]) == (("x", "y", True), ("y", "x", False))[expected]


def test_what_both_columns_are_called_like_is_neither(tmp_path: Path) -> None:
    path = votes(tmp_path, "item_a", "player_a", "a")
    with pytest.raises(InputError, match="neither of the two"):
        CsvReader(columns="left=item_a,right=player_a").scan(path).collect()


def test_a_column_called_like_a_tie_is_refused(tmp_path: Path) -> None:
    path = votes(tmp_path, "same", "other", "same")
    with pytest.raises(InputError, match=r"\[same\]: .* means a tie.*rename"):
        CsvReader(columns="left=same,right=other").scan(path).collect()


def test_braces_in_a_column_s_name_are_quoted(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", "{a},{b},winner\nx,y,z\n")
    with pytest.raises(InputError, match=r"'z' is neither .* '\{a\}' and '\{b\}'"):
        CsvReader(columns="left={a},right={b}").scan(path).collect()
