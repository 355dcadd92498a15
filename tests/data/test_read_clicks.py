"""Clicks are read as a reading says: impressions, a row each, or lists."""

from __future__ import annotations

import random

import polars as pl
import pytest
from read_tables import checked_rows, csv_table, told

from rankbench.data.tables.impressions import read_clicks, read_lists
from rankbench.errors import InputError, Unread
from rankbench.interfaces.table_check import RawTable

EVENTS = ["visit,words,slot,what,hit", "s1,lamp,1,A,1", "s1,lamp,2,B,0", "s2,lamp,2,B,true", "s2,lamp,1,A,false"]
EVENTS += ["s3,desk,1,C,3", "s3,desk,2,A,1"]
ROLES = "session=visit,query=words,position=slot,doc=what,clicked=hit"
LISTS = [("desk", "s3", ["C", "A"], [1, 2]), ("lamp", "s1", ["A", "B"], [1]), ("lamp", "s2", ["A", "B"], [2])]


def test_impressions_become_lists() -> None:
    read = read_clicks(csv_table(*EVENTS), told(ROLES))
    assert checked_rows(read, "selections").rows() == LISTS
    assert read.counts == {"shown": 6, "clicked": 4, "lists": 3}
    assert read.says == ("visit, position from 1, what, clicked 4 of 6", "3 lists")
    assert read.notes == ("rankbench counts 1 item shown once with several clicks as clicked once",)


def test_rows_come_in_any_order_and_positions_may_begin_at_zero() -> None:
    rows = [line.replace(",1,", ",0,", 1).replace(",2,", ",1,", 1) for line in EVENTS[1:]]
    random.Random(3).shuffle(rows)
    read = read_clicks(csv_table(EVENTS[0], *rows), told(ROLES))
    assert [row[2] for row in checked_rows(read, "selections").rows()] == [["C", "A"], ["A", "B"], ["A", "B"]]
    assert "position from 0" in read.says[0]


def test_several_columns_tell_lists_apart_and_a_query_is_not_needed() -> None:
    raw = csv_table("user,day,pos,doc,click", "u,1,1,a,1", "u,2,1,b,0", "u,2,2,a,1", "u,1,2,c,0")
    reading = told("session=user|day,position=pos,doc=doc,clicked=click")
    rows = checked_rows(read_clicks(raw, reading), "selections").rows()
    assert rows == [("all", "u / 1", ["a", "c"], [1]), ("all", "u / 2", ["b", "a"], [2])]
    with pytest.raises(InputError) as caught:
        read_clicks(raw, told("session=user,position=pos,doc=doc|day,clicked=click"))
    assert caught.value.column == "day"


def test_lists_have_names_of_their_own() -> None:
    frame = pl.DataFrame({"visit": [1.0, 2.0], "seen": [["a", "b"], ["b"]], "hits": [[2], []], "set": ["x", "y"]})
    read = read_lists(RawTable(frame.lazy()), told("session=visit,shown=seen,clicked=hits,part=set"))
    assert checked_rows(read, "selections").rows() == [("all", "1", ["a", "b"], [2], "x"), ("all", "2", ["b"], [], "y")]
    wrong = RawTable(frame.with_columns(hits=pl.Series([[3], [0]])).lazy())
    with pytest.raises(InputError) as caught:
        checked_rows(read_lists(wrong, told("session=visit,shown=seen,clicked=hits")), "selections")
    assert (caught.value.row, caught.value.column) == (2, "hits")


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        ("s4,lamp,-1,A,0", "code", "slot"),
        ("s4,lamp,999,A,0", "code", "slot"),
        ("s4,lamp,1,A,-1", "code", "hit"),
        ("s4,lamp,,A,0", "blank", "slot"),
        ("s4,lamp,1,A,NA", "blank", "hit"),
        ("s4,lamp,1,?,0", "blank", "what"),
        (",lamp,1,A,0", "blank", "visit"),
        ("s4,lamp,1,a,0", "alike", "what"),
    ],
)
def test_doubts_and_what_answers_them(row: str, code: str, column: str) -> None:
    raw = csv_table(*EVENTS, row)
    with pytest.raises(Unread) as caught:
        read_clicks(raw, told(ROLES))
    assert (caught.value.code, caught.value.column) == (code, column)
    assert caught.value.row == (8 if code == "blank" else None)
    answer = told(ROLES, "missing=-1|999||NA|?") if code != "alike" else told(f"{ROLES},alike=keep")
    rows = checked_rows(read_clicks(raw, answer), "selections").rows()
    assert rows[:3] == LISTS
    assert len(rows) == 3 + (code == "alike")


@pytest.mark.parametrize(
    ("row", "column"), [("s4,lamp,two,A,0", "slot"), ("s4,lamp,1.5,A,0", "slot"), ("s4,lamp,1,A,maybe", "hit")]
)
def test_cells_that_do_not_fit(row: str, column: str) -> None:
    raw = csv_table(EVENTS[0], "x,x,x,x,x", *EVENTS[1:], row)
    with pytest.raises(InputError) as caught:
        read_clicks(raw, told(ROLES, unless={"visit": ("x",)}))
    assert (caught.value.row, caught.value.column) == (9, column)
