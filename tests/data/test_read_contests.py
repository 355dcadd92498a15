"""Rows of several items, of which one is the best or the worst, become votes, and nothing else does."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_tables import checked_rows, csv_table, told

from rankbench.data.tables.contests import read_contests
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable

ITEMS = "items=opt_a|opt_b|opt_c|opt_d"
HEADER = "opt_a,opt_b,opt_c,opt_d,top,low"


def votes(raw: RawTable, reading: Reading) -> tuple[list[str], pl.DataFrame]:
    """Return the votes as ``x>y`` or ``x=y``, and the checked table."""
    frame = checked_rows(read_contests(raw, reading), "comparisons")
    rows = frame.select("winner", "loser", "tie").rows()
    return [f"{x}{'=' if tie else '>'}{y}" for x, y, tie in rows], frame


def test_the_best_beats_all_and_all_beat_the_worst() -> None:
    found, frame = votes(csv_table(HEADER, "w,x,y,z,y,w"), told(f"{ITEMS},best=top,worst=low"))
    # x and z are not compared.
    assert found == ["x>w", "y>w", "z>w", "y>x", "y>z"]
    assert frame["judge"].to_list() == ["row 1"] * 5
    assert votes(csv_table(HEADER, "w,x,y,z,y,w"), told(f"{ITEMS},best=top"))[0] == ["y>w", "y>x", "y>z"]
    assert votes(csv_table(HEADER, "w,x,y,z,y,w"), told(f"{ITEMS},worst=low"))[0] == ["x>w", "y>w", "z>w"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["y,w", "z,x"], ""),
        (["opt_c,OPT_A", "opt_d,opt_b"], ""),
        (["c,a", "d,b"], ""),
        (["3,1", "4,2"], "opt_a=1,opt_b=2,opt_c=3,opt_d=4"),
        (["3,first", "4,2"], "opt_a=first|1,opt_b=2,opt_c=3,opt_d=4"),
    ],
)
def test_words_are_items_columns_or_parts(cells: list[str], words: str) -> None:
    raw = csv_table(HEADER, *(f"w,x,y,z,{cell}" for cell in cells))
    found, _ = votes(raw, told(f"{ITEMS},best=top,worst=low", words))
    assert found == ["x>w", "y>w", "z>w", "y>x", "y>z", "w>x", "z>w", "y>x", "z>x", "z>y"]


def test_a_tie_is_of_all() -> None:
    raw = csv_table("p_1,p_2,p_3,top", "x,y,z,tie", "x,y,z,none", "x,y,z,x")
    reading = told("items=p_1|p_2|p_3,best=top", "tie=none")
    assert votes(raw, reading)[0] == ["x=y", "x=z", "y=z"] * 2 + ["x>y", "x>z"]


@given(st.lists(st.tuples(st.permutations("stuvwx"), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5))
def test_votes_are_those_of_brute_force(rows: list[tuple[list[str], int, int]]) -> None:
    rows = [row for row in rows if row[1] != row[2]]
    if not rows:
        return
    lines = [f"{','.join(names[:4])},{names[best]},{names[worst]}" for names, best, worst in rows]
    expected = []
    for at, (names, best, worst) in enumerate(rows, 1):
        place = {name: (i == worst) - (i == best) for i, name in enumerate(names[:4])}
        for one, other in combinations(names[:4], 2):
            if place[one] != place[other]:
                expected.append(
                    (min(one, other, key=place.__getitem__), max(one, other, key=place.__getitem__), f"row {at}")
                )
    _, frame = votes(csv_table(HEADER, *lines), told(f"{ITEMS},best=top,worst=low,alike=keep"))
    assert frame.select("winner", "loser", "judge").rows() == expected


def test_what_stands_beside_goes_with_each_vote() -> None:
    raw = csv_table("a,b,c,top,who,task,w,day", "x,y,z,x,u,q1,2,2024-01-02", "x,y,z,y,v,q2,0,2024-01-03")
    reading = told("items=a|b|c,best=top,judge=who,query=task,weight=w,time=day")
    _, frame = votes(raw, reading)
    assert frame.select("query_id", "winner", "judge", "weight").rows() == [("q1", "x", "u", 2.0)] * 2
    assert frame["time"].dtype == pl.Date


def test_a_count_is_so_many_rows_each_a_unit() -> None:
    raw = csv_table("a,b,c,top,n", "x,y,z,x,2", "x,y,z,y,0", "x,y,z,z,1")
    found, frame = votes(raw, told("items=a|b|c,best=top,count=n"))
    assert found == ["x>y", "x>z", "x>y", "x>z", "z>x", "z>y"]
    assert frame["judge"].to_list() == ["row 1.1", "row 1.1", "row 1.2", "row 1.2", "row 3.1", "row 3.1"]


@pytest.mark.parametrize(
    ("lines", "columns", "words", "code", "row"),
    [
        ([HEADER, "w,x,y,z,y,w", "w,x,y,z,,w"], f"{ITEMS},best=top,worst=low", "", "blank", 3),
        ([HEADER, "w,x,y,z,y,w", "w,x,NA,z,z,w"], f"{ITEMS},best=top,worst=low", "", "blank", 3),
        ([HEADER, "w,x,y,z,y,w", "w,x,y,w,y,x"], f"{ITEMS},best=top,worst=low", "", "self", 3),
        ([HEADER, "w,x,y,z,v,w"], f"{ITEMS},best=top", "", "words", None),
        ([HEADER, "w,x,y,z,Y,w"], f"{ITEMS},best=top", "", "words", None),
        ([HEADER, "w,x,y,z,2,w"], f"{ITEMS},best=top", "opt_a=1", "word", 2),
        (["a,b,c,top", "a,b,c,b", "b,c,a,a"], "items=a|b|c,best=top", "", "ambiguous", None),
        (["a,b,c,top", "x,y,tie,tie", "x,y,z,x"], "items=a|b|c,best=top", "", "ambiguous", None),
        ([HEADER, "w,x,y,z,y,w", "w,x,Y,z,w,x"], f"{ITEMS},best=top", "", "alike", None),
        (["a,b,c,top", "x,y,z,y", "y,z,x,y"], "items=a|b,best=top", "", "third", None),
    ],
)
def test_doubts(lines: list[str], columns: str, words: str, code: str, row: int | None) -> None:
    with pytest.raises(Unread) as caught:
        read_contests(csv_table(*lines), told(columns, words))
    assert (caught.value.code, caught.value.row) == (code, row)


@pytest.mark.parametrize(
    ("lines", "columns", "words", "expected"),
    [
        ([HEADER, "w,x,y,z,y,w", "w,x,y,z,,w"], f"{ITEMS},best=top", "missing=", ["y>w", "y>x", "y>z"]),
        ([HEADER, "w,x,y,z,y,w", "w,x,y,w,y,x"], f"{ITEMS},best=top,self=drop", "", ["y>w", "y>x", "y>z"]),
        (["a,b,c,top", "a,b,c,b", "b,c,a,a"], "items=a|b|c,best=top", "name=*", ["b>a", "b>c", "a>b", "a>c"]),
        (["a,b,c,top", "x,y,tie,tie"], "items=a|b|c,best=top", "name=*", ["tie>x", "tie>y"]),
        (["a,b,c,top", "x,y,z,y"], "items=a|b,best=top,ignore=c", "", ["y>x"]),
    ],
)
def test_what_answers_a_doubt(lines: list[str], columns: str, words: str, expected: list[str]) -> None:
    assert votes(csv_table(*lines), told(columns, words))[0] == expected


@pytest.mark.parametrize(
    ("lines", "columns", "words", "row", "column"),
    [
        ([HEADER, "w,x,y,z,y,w", "w,x,y,z,y,y"], f"{ITEMS},best=top,worst=low", "", 3, "low"),
        ([HEADER, "w,x,y,z,y,w"], f"{ITEMS},best=top", "low=w", None, None),
        ([HEADER, "w,x,y,z,y,w"], f"{ITEMS},best=top", "opt_a=w,opt_b=w", None, None),
        (["a,b,c,top,n", "x,y,z,x,1", "x,y,z,x,two"], "items=a|b|c,best=top,weight=n", "", 3, "n"),
        (["a,b,c,top,day", "x,y,z,x,2024-01-02", "x,y,z,x,soon"], "items=a|b|c,best=top,time=day", "", 3, "day"),
    ],
)
def test_cells_that_do_not_fit(lines: list[str], columns: str, words: str, row: int | None, column: str | None) -> None:
    with pytest.raises(InputError) as caught:
        votes(csv_table(*lines), told(columns, words))
    assert (caught.value.row, caught.value.column) == (row, column)
