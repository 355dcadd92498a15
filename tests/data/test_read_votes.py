"""Votes as readings say: rows that are left out, rows in errors, and Parquet that is counted without the checks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from amounts import examples, part_of
from data_files import rejected, stored, written
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import InputError
from rankbench.logs.open import open_log
from rankbench.ranking.aggregate import aggregate

Rows = list[tuple[str, ...]]

ITEMS = st.sampled_from(["a", "b", "1", "left", "tie", "x"])
WORDS = st.sampled_from(["a", "b", "left", "right", "tie", "x", "1", "2", "model_a", ""])
READINGS = ["", "left=model_a,right=model_b,winner=winner; name=*", "; model_a=a|left,model_b=b|right,tie=tie|x"]


@examples(60)
@given(
    st.lists(st.tuples(ITEMS, ITEMS, WORDS).filter(lambda row: row[0] != row[1]), min_size=1, max_size=5),
    st.sampled_from(READINGS),
)
def test_parquet_without_checks_reads_what_csv_does(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, told: str
) -> None:
    folder = tmp_path_factory.mktemp("sides")
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")
    path, parquet = (stored(frame, folder / f"votes.{ending}") for ending in ("csv", "parquet"))
    try:
        expected = open_log(path, columns=told).frame.select("winner", "loser", "tie").collect().rows()
    except InputError as error:
        refused = error
        with pytest.raises(InputError) as caught:
            open_log(parquet, columns=told).frame.collect()
    else:
        source = open_log(parquet, columns=told)
        assert source.parquet is not None
        for frame in (source.frame, source.parquet.frame()):
            assert frame.select("winner", "loser", "tie").collect().rows() == expected
        return
    # The header of a CSV file is a row.
    row = None if refused.row is None else refused.row - 1
    assert (caught.value.message, caught.value.row) == (refused.message, row)


def test_parquet_without_checks_finds_contradictions_too(tmp_path: Path) -> None:
    votes = pl.DataFrame({"left": ["x"] * 2, "right": ["y"] * 2, "winner": ["left", "right"], "tie": [False, True]})
    path = stored(votes, tmp_path / "votes.parquet")
    with rejected("the column 'tie' says otherwise than 'right'", path=path, row=2, column="winner"):
        aggregate(path, "borda")
    # By the winner's column alone each won once.
    found = aggregate(path, "borda", columns="tie=").table
    assert found["score"][0] == found["score"][1]


@pytest.mark.parametrize(
    ("row", "said", "column"),
    [
        (("x", "y", "left", "true"), "says otherwise than 'left'", "winner"),
        (("x", "y", "tie", "false"), "says otherwise than 'tie'", "winner"),
        (("x", "y", "", "false"), "the cell is empty", "winner"),
        (("x", "y", "left", "perhaps"), "'perhaps' is not a truth value", "tie"),
    ],
)
def test_a_column_of_ties_that_contradicts_is_refused(
    tmp_path: Path, row: tuple[str, ...], said: str, column: str
) -> None:
    rows = [("x", "y", "tie", "true"), ("x", "y", "right", ""), ("y", "x", "tie", ""), row]
    for ending in ("csv", "parquet"):
        frame = pl.DataFrame(rows, schema=["left", "right", "winner", "tie"], orient="row")
        path = stored(frame, tmp_path / f"votes.{ending}")
        with rejected(said, path=path, row=4 + (ending == "csv"), column=column):
            aggregate(path)
        # Without that column it is what the winner's column says.
        if row[2]:
            votes = open_log(path, columns="tie=").frame.collect()
            assert votes["tie"].to_list() == [True, False, True, row[2] == "tie"]


DROPS: dict[str, tuple[str, Rows]] = {
    "words beside items": (
        "left=l,right=r,winner=w",
        [("x", "y", "x"), ("y", "z", "NA"), ("z", "x", " na"), ("x", "z", "z")],
    ),
    "sides": ("left=l,right=r,winner=w", [("x", "y", "l"), ("y", "z", "NA"), ("x", "z", "r")]),
    "points": ("left=l,right=r,points=w", [("x", "y", "1"), ("y", "z", "NA"), ("x", "z", ".25"), ("x", "z", "0.5")]),
    "winner and loser": ("winner=l,loser=r", [("x", "y", "1"), ("NA", "z", "2"), ("z", "x", "3"), ("y", "NA", "4")]),
    "scores": (
        "left=l,right=r,left_score=w,right_score=v",
        [("x", "y", "3", "1"), ("y", "z", "NA", "NA"), ("z", "x", "2", "2")],
    ),
    "flags": ("left=l,right=r,left_won=w,right_won=v", [("x", "y", "1", "0"), ("y", "z", "NA", "NA")]),
}


@pytest.mark.parametrize(
    ("shape", "ending", "word"),
    part_of(
        [(shape, end, word) for shape in DROPS for end in ("csv", "parquet") for word in ("NA", "", "no result")], 5
    ),
)
def test_rows_that_say_nothing_are_left_out_where_it_is_said(
    tmp_path: Path, shape: str, ending: str, word: str
) -> None:
    columns, rows = DROPS[shape]
    said = [tuple(word if cell.strip().upper() == "NA" else cell for cell in row) for row in rows]
    kept = [row for row in rows if not any(cell.strip().upper() == "NA" for cell in row)]

    def log(name: str, rows: Rows) -> Path:
        frame = pl.DataFrame(rows, schema=[*"lrwv"][: len(rows[0])], orient="row")
        return stored(frame, tmp_path / f"{name}.{ending}")

    path, whole, told = log("votes", said), log("kept", kept), f"{columns}; missing=other|{word}"
    assert aggregate(path, columns=told).table.equals(aggregate(whole, columns=columns).table)
    lines = open_log(path, columns=told).frame.collect()
    assert lines.equals(open_log(whole, columns=columns).frame.collect())
    count = len(rows) - len(kept)
    said_of = "1 row" if count == 1 else f"{count} rows"
    assert any(note.startswith(f"rankbench leaves out {said_of} ") for note in open_log(path, columns=told).notes)


def test_errors_name_their_rows_beside_rows_that_are_left_out(tmp_path: Path) -> None:
    text = "model_a,model_b,winner\nx,y,NA\ny,z,NA\nx,y,x\nz,z,z\n"
    path = written(tmp_path / "votes.csv", text)
    with rejected("item 'z' is compared with itself", path=path, row=5):
        open_log(path, columns="left=model_a,right=model_b,winner=winner; missing=NA").frame.collect()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_without_a_category_are_of_no_ranking_by_it(tmp_path: Path, ending: str) -> None:
    rows = [
        ("a", "b", "clay"),
        ("b", "a", "grass"),
        ("a", "b", None),
        ("a", "c", "clay"),
        ("c", "b", "grass"),
        ("b", "c", ""),
    ]
    frame = pl.DataFrame(rows, schema=["winner", "loser", "surface"], orient="row")
    kept = frame.filter(pl.col("surface").fill_null("") != "")
    paths = stored(frame, tmp_path / f"votes.{ending}"), stored(kept, tmp_path / f"kept.{ending}")
    found, expected = (aggregate(path, by="surface") for path in paths)
    assert found.table.equals(expected.table)
    assert "rankbench leaves out 2 rows with nothing in 'surface'" in found.notes
    assert not any("leaves out" in note for note in expected.notes)


def test_rates_beside_counts_are_shares_of_so_many_votes(tmp_path: Path) -> None:
    path = written(tmp_path / "rates.csv", "left,right,points,n\nx,y,.7,100\ny,z,.6,50\nz,x,.25,80\n")
    won = {"x": 70 + 60, "y": 30 + 30, "z": 20 + 20}
    cast = {"x": 180, "y": 150, "z": 130}
    table = aggregate(path, columns="weight=n").table
    assert {item: pytest.approx(wins) for item, wins in table.select("item", "wins").rows()} == won
    assert dict(table.select("item", "votes").rows()) == cast
