"""Ids that are floats in a file, as pandas writes a column with missing values: 1.0 is the player 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from data_files import rejected, stored
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.logs.open import open_log, scan

WINNERS, LOSERS = [1, 1, 2, 3, 2], [2, 3, 1, 2, 3]
NOTE = "rankbench reads floats as whole numbers, 1.0 as 1, in "


def floats(ids: list[int]) -> list[float]:
    return [float(name) for name in ids]


VOTES: dict[str, dict[str, list[object]]] = {
    "one column": {"winner": floats(WINNERS), "loser": LOSERS},
    "both columns": {"winner": floats(WINNERS), "loser": floats(LOSERS)},
    "sides": {"player1": WINNERS, "player2": LOSERS, "winner": floats(WINNERS)},
    "another side": {"player1": floats(LOSERS), "player2": WINNERS, "winner": WINNERS},
    "judges": {"winner": WINNERS, "loser": LOSERS, "judge": [7.0, None, 8.0, 7.0, 7.0]},
    "queries": {"query_id": [4.0] * 5, "winner": floats(WINNERS), "loser": LOSERS},
}


FORMS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "texts": lambda frame: frame.cast(pl.String),
    "decimals": lambda frame: frame.with_columns(pl.col(pl.Float64).cast(pl.Decimal(9, 1))),
}


@pytest.mark.parametrize(
    ("columns", "form"),
    part_of([(votes, form) for votes in VOTES for form in ("memory", "csv", "json", "jsonl", "parquet", *FORMS)]),
)
def test_a_player_is_one_in_every_format(tmp_path: Path, columns: str, form: str) -> None:
    frame = FORMS.get(form, pl.DataFrame)(pl.DataFrame(VOTES[columns]))
    log = frame if form == "memory" else stored(frame, tmp_path / f"votes.{'parquet' if form in FORMS else form}")
    votes = scan(log).collect()
    assert votes["winner"].to_list() == [str(name) for name in WINNERS]
    assert votes["loser"].to_list() == [str(name) for name in LOSERS]
    if columns == "judges":
        assert votes["judge"].to_list() == ["7", None, "8", "7", "7"]
    assert votes["query_id"].unique().to_list() == ["4" if columns == "queries" else "all"]
    found = rankbench.aggregate(log)
    clean = rankbench.aggregate({"winner": WINNERS, "loser": LOSERS})
    assert found.table.equals(clean.table)
    won, lost = Counter(map(str, WINNERS)), Counter(map(str, LOSERS))
    assert {row["item"]: (row["wins"], row["votes"]) for row in found.table.iter_rows(named=True)} == {
        name: (won[name], won[name] + lost[name]) for name in "123"
    }
    # The items 1 and 3 are each other's mirror images: their scores add up to that of 2, which is 0.
    assert found.table["score"].to_list() == pytest.approx([0.3594, 0, -0.3594], abs=5e-5)
    assert any(note.startswith(NOTE) for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"winner": ["4.0", "4.0"], "loser": ["3.5", "4"]}, {"3.5", "4.0", "4"}),
        ({"left": ["4.0", "3.5"], "right": ["3.5", "4.0"], "winner": ["4.0", "4.0"]}, {"3.5", "4.0"}),
        ({"left": ["1.0", "3.5"], "right": ["3.5", "1.0"], "winner": ["1.0", "1.0"]}, {"3.5", "1.0"}),
        ({"winner": ["1.0", "x"], "loser": ["1", "1"]}, {"1.0", "1", "x"}),
        ({"winner": ["9007199254740993.0"], "loser": ["9007199254740993"]}, {"9007199254740993.0", "9007199254740993"}),
        ({"winner": ["007", "7.0"], "loser": ["8", "8"]}, {"007", "7", "8"}),
    ],
)
def test_names_that_are_no_whole_numbers_stay_as_they_are(columns: dict[str, list[str]], names: set[str]) -> None:
    votes = scan(columns, columns="alike=keep").collect()
    assert {*votes["winner"], *votes["loser"]} == names


@pytest.mark.parametrize("value", [1.5, 2.0**53, float("inf")])
@pytest.mark.parametrize("columns", [("winner", "loser"), ("player1", "player2")])
def test_floats_that_may_be_several_numbers_are_refused(columns: tuple[str, str], value: float) -> None:
    log = {columns[0]: [1.0, value], columns[1]: [2, 3]} | ({"winner": [1, 3]} if "winner" not in columns else {})
    with rejected("is no name: names must be texts or whole numbers", row=2, column=columns[0]):
        scan(log)


def test_floats_of_32_bits_are_exact_below_2_to_the_24() -> None:
    large = pl.Series([2.0**24 - 1, 2.0**24], dtype=pl.Float32)
    assert scan(pl.DataFrame({"winner": large[:1], "loser": [2]})).collect()["winner"].to_list() == [str(2**24 - 1)]
    with pytest.raises(InputError, match=r"16777216\.0 is no name"):
        scan(pl.DataFrame({"winner": large, "loser": [2, 3]}))


def test_numbers_of_sides_and_points_are_told_from_ids() -> None:
    sides = {"player1": ["x", "y", "x"], "player2": ["y", "x", "y"], "winner": [1.0, 2.0, 2.0]}
    assert scan(sides).collect()["winner"].to_list() == ["x", "x", "y"]
    points = {"player1": [1, 2, 3], "player2": [2, 3, 1], "points": [1.0, 1.0, 0.0]}
    assert scan(points, columns="left=player1,right=player2").collect()["winner"].to_list() == ["1", "2", "1"]
    words = {"player1": [7, 8, 9], "player2": [8, 9, 7], "winner": ["7.0", "tie", "7.0"]}
    votes = scan(words).collect()
    assert votes.select("winner", "loser", "tie").rows() == [("7", "8", False), ("8", "9", True), ("7", "9", False)]


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=20), st.data())
def test_texts_with_a_point_are_read_exactly_or_not_at_all(ids: list[int], data: st.DataObject) -> None:
    points = data.draw(st.lists(st.sampled_from(["", ".", ".0", ".00"]), min_size=len(ids), max_size=len(ids)))
    written = [f"{name}{point}" for name, point in zip(ids, points, strict=True)]
    found = with_whole_names(pl.LazyFrame({"id": written}), ["id"]).collect()["id"].to_list()
    exact = all(not point or abs(name) < 10**15 for name, point in zip(ids, points, strict=True))
    assert found == ([str(name) for name in ids] if exact else written)


def test_other_tables_have_ids_of_floats_too(tmp_path: Path) -> None:
    for ranking in ([[1.0, 2.0], [2.0, 3.0]], [[[1.0], [2.0]], [[2.0], [3.0]]], ["[1.0, 2]", "[[2], [3.0]]"]):
        ballots = scan({"ranking": ranking, "judge": [5.0, None]}).collect()
        assert ballots["ranking"].to_list() == [[["1"], ["2"]], [["2"], ["3"]]]
        assert ballots["judge"].to_list() == ["5", None]
    lists = {"query_id": [1.0], "session_id": [2.0], "shown": [[3.0, 4.0]], "clicked": [[1]]}
    assert scan(lists).collect().row(0) == ("1", "2", ["3", "4"], [1])
    shown = {"session": [2.0, 2.0], "doc": ["3.0", "4"], "position": [1, 2], "clicked": [1, 0]}
    assert scan(shown).collect().select("session_id", "shown").row(0) == ("2", ["3", "4"])
    cells = {"system": ["1.0", "1"], "task": [1.0, 2.0], "score": [0.1, 0.2], "seed": [3.0, 3.0]}
    scores = scan(cells).collect()
    assert scores.select("query_id", "system", "seed").rows() == [("1", "1", "3"), ("2", "1", "3")]
    assert [note for note in open_log(cells).notes if note.startswith(NOTE)] == [f"{NOTE}'task', 'system', 'seed'"]
    for second in ([2.0, None], ["2.0", ""], [2, None]):
        ranks = {"first": [1, 7], "second": second}
        wide = scan(ranks, columns="ranks=first|second").collect()
        assert wide["ranking"].to_list() == [[["1"], ["2"]], [["7"]]]
    places = {"race": [4.0, 4.0], "driver": [1.0, 2.0], "place": [2.0, 1.0]}
    race = scan(places, columns="query=race,item=driver,place=place").collect()
    assert race.select("query_id", "ranking").row(0) == ("4", [["2"], ["1"]])
    for ranking in ([[1.0, 2.5]], ["[1.0, 2.5]"], [[2.0**53, 1.0]]):
        with pytest.raises(InputError, match=r"no name|not a name"):
            scan({"ranking": ranking}).collect()


VERSIONS = {"winner": ["3.5", "4.0", "4.0"], "loser": ["4.0", "3.5", "5.0"]}
NUMBERS = {"winner": ["5.0", "4.0"], "loser": ["4.0", "5.0"]}


def parts(folder: Path, *files: dict[str, list[str]], ending: str = "csv") -> Path:
    folder.mkdir()
    for number, columns in enumerate(files):
        stored(pl.DataFrame(columns), folder / f"{number}.{ending}")
    return folder


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
@pytest.mark.parametrize("files", [(VERSIONS, NUMBERS), (NUMBERS, VERSIONS)])
def test_names_of_all_parts_are_read_in_one_way(
    tmp_path: Path, files: tuple[dict[str, list[str]], ...], ending: str
) -> None:
    votes = scan(parts(tmp_path / "parts", *files, ending=ending)).collect()
    assert votes.select("winner", "loser").rows() == [
        pair for columns in files for pair in zip(columns["winner"], columns["loser"], strict=True)
    ]


def test_parts_that_agree_about_names_are_one_log(tmp_path: Path) -> None:
    whole = {"winner": ["4"], "loser": ["5"]}
    words = {"winner": ["x"], "loser": ["4.0"]}
    for number, (files, names) in enumerate(
        [
            ((NUMBERS, whole), {"4", "5"}),
            ((whole, NUMBERS), {"4", "5"}),
            ((VERSIONS, VERSIONS), {"3.5", "4.0", "5.0"}),
            ((NUMBERS, words), {"4.0", "5.0", "x"}),
        ]
    ):
        votes = scan(parts(tmp_path / str(number), *files)).collect()
        assert {*votes["winner"], *votes["loser"]} == names


@pytest.mark.parametrize("column", ["winner", "loser", "judge"])
def test_floats_after_the_rows_that_tell_are_refused(column: str) -> None:
    rows = {"winner": ["1", "2"] * 600, "loser": ["2", "1"] * 600, "judge": ["7", "8"] * 600}
    assert scan(rows).collect().height == 1200
    rows[column][1100] = "3.0"
    with rejected(r"'3\.0' stands after 1,000 rows of whole numbers", row=1101, column=column):
        scan(rows).collect()
    # Among versions, and after floats, such names are what they were before.
    for first, name in (("3.5", "3.0"), ("4.0", "3")):
        kept = scan(rows | {"winner": [first, *rows["winner"][1:]], "loser": ["2", *rows["loser"][1:]]})
        if column == "winner":
            assert kept.collect()["winner"][1100] == name


@pytest.mark.parametrize("column", ["winner", "loser"])
def test_names_that_become_floats_late_are_refused_in_parquet_too(column: str, tmp_path: Path) -> None:
    """Parquet is counted without the checks, unless a number is there in both ways."""
    rows = {"winner": ["1", "2"] * 600, "loser": ["2", "1"] * 600}
    rows[column][1100] = f"{rows[column][1100]}.0"
    path = stored(pl.DataFrame(rows), tmp_path / "votes.parquet")
    with rejected(r"\.0' stands after 1,000 rows of whole numbers", row=1101, column=column):
        rankbench.aggregate(path)
    versions = {name: ["3.5" if name == "winner" else "4.5", *names[1:]] for name, names in rows.items()}
    path = stored(pl.DataFrame(versions), tmp_path / "versions.parquet")
    found = rankbench.aggregate(path, columns="alike=keep")
    assert set(found.table["item"]) == {*versions["winner"], *versions["loser"]}
    assert any("items called alike for different ones" in note for note in found.notes)
