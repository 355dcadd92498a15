"""Ballots are read as a reading says, and what it does not say is asked about."""

from __future__ import annotations

import datetime
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_tables import checked_rows, csv_table, told

from rankbench.data.tables.ballot_forms import read_ballots
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable, ReadTable


def ballots(raw: RawTable, reading: Reading) -> tuple[list[str], pl.DataFrame, ReadTable]:
    """Return the rankings as ``a>b=c``, the checked table, and how it was read."""
    read = read_ballots(raw, reading)
    frame = checked_rows(read, "orders")
    return [">".join("=".join(place) for place in ranking) for ranking in frame["ranking"].to_list()], frame, read


RANKS = [
    "place,r1,r2,r3",
    "P1,Ada,Bo,Cy",
    "P1,Ada,skip,",
    "P2,over,Bo,Ada",
    "P2,Cy,skip,Bo",
    "P3,Ada,Ada,Bo",
    "P3,skip,skip,",
]
"""Six ballots: skipped and repeated ranks close up, and the last one ranks nobody."""

WIDE = ["voter,Ada,Bo,Cy,n", "v1,1,2,3,5", "v2,2,1,2,1", "v3,0,1,2,2", "v4,,2,1,3"]

RACES = [
    "race,driver,team,rank,day",
    "r1,ham,x,1,2024-03-02",
    "r1,hei,y,2,2024-03-02",
    "r1,ros,x,DNF,2024-03-02",
    "r1,alo,y,DNF,2024-03-02",
    "r2,alo,y,1,2024-03-09",
    "r2,ham,x,2,2024-03-09",
    "r2,ros,x,2,2024-03-09",
    "r2,hei,y,DNS,2024-03-09",
]
RACE = "query=race,item=driver,place=rank"


def test_ranks_close_up_and_items_count_once() -> None:
    found, frame, read = ballots(csv_table(*RANKS), told("ranks=r1|r2|r3,judge=place", "missing=skip|over"))
    assert found == ["Ada>Bo>Cy", "Ada", "Bo>Ada", "Cy>Bo", "Ada>Bo"]
    assert frame["judge"].to_list() == ["P1", "P1", "P2", "P2", "P3"]
    assert read.counts == {"ballots": 5, "left out": 1}
    assert read.notes == (
        "rankbench closes up 2 ranks without a name, leaves out 1 repeated item, leaves out 1 empty ballot",
    )


def test_ranks_of_a_pattern_stand_in_the_order_of_their_numbers() -> None:
    raw = csv_table("rank1,rank10,rank2", "a,c,b", "b,a,c")
    assert ballots(raw, told("ranks=rank*"))[0] == ["a>b>c", "b>c>a"]
    assert ballots(raw, told("ranks=rank1|rank10|rank2"))[0] == ["a>c>b", "b>a>c"]


def test_cells_of_candidates_are_places_or_points() -> None:
    found, frame, read = ballots(csv_table(*WIDE), told("items=Ada|Bo|Cy,cells=place,judge=voter,count=n", "missing=0"))
    assert found == ["Ada>Bo>Cy", "Bo>Ada=Cy", "Bo>Cy", "Cy>Bo"]
    assert frame["count"].to_list() == [5, 1, 2, 3]
    assert "n: 4 ballots are 11 voters, 1 to 5 each" in read.says
    last = told("items=Ada|Bo|Cy,cells=place,ignore=voter|n", "last=|0")
    assert ballots(csv_table(*WIDE), last)[0] == ["Ada>Bo>Cy", "Bo>Ada=Cy", "Bo>Cy>Ada", "Cy>Bo>Ada"]
    points = ballots(csv_table(*WIDE), told("items=Ada|Bo|Cy,cells=points"))
    assert points[0] == ["Cy>Bo>Ada", "Ada=Cy>Bo", "Cy>Bo>Ada", "Bo>Cy"]


def test_the_name_of_a_candidate_is_the_part_that_a_star_stands_for() -> None:
    raw = csv_table("rank_Ada,rank_Bo,district", "1,2,north", "2,1,south")
    found, frame, _ = ballots(raw, told("items=rank_*,cells=place,query=district"))
    assert found == ["Ada>Bo", "Bo>Ada"]
    assert frame["query_id"].to_list() == ["north", "south"]


def test_words_say_who_is_last_and_who_is_left_out() -> None:
    found, frame, read = ballots(csv_table(*RACES), told(f"{RACE},time=day", "last=DNF,missing=DNS"))
    assert found == ["ham>hei>ros=alo", "alo>ham=ros"]
    assert frame["time"].to_list() == [datetime.date(2024, 3, 2), datetime.date(2024, 3, 9)]
    assert read.counts == {"ballots": 2, "last": 2, "left out": 1}
    assert ballots(csv_table(*RACES), told(RACE, "missing=DN?"))[0] == ["ham>hei", "alo>ham=ros"]


def test_more_points_are_better_and_each_judge_has_a_ballot() -> None:
    raw = csv_table(
        "year,round,jury,song,pts", "1,f,AT,x,12", "1,f,AT,y,0", "1,f,BE,x,1", "1,f,BE,y,8", "2,f,AT,z,8", "2,f,AT,x,10"
    )
    found, frame, _ = ballots(raw, told("query=year|round,judge=jury,item=song,points=pts"))
    assert found == ["x>y", "y>x", "x>z"]
    assert frame.select("query_id", "judge").rows() == [("1 / f", "AT"), ("1 / f", "BE"), ("2 / f", "AT")]


def test_columns_of_places_are_judges() -> None:
    raw = csv_table("show,jury,song,A,B", "s,AT,x,1,3", "s,AT,y,2,1", "s,AT,z,3,2", "s,BE,x,2,NA", "s,BE,y,1,NA")
    found, frame, _ = ballots(raw, told("query=show,judge=jury,item=song,places=A|B", "missing=NA"))
    pairs = dict(zip(frame["judge"].to_list(), found, strict=True))
    assert pairs == {"AT / A": "x>y>z", "AT / B": "y>z>x", "BE / A": "y>x"}


@pytest.mark.parametrize("form", ["signs", "json", "lists"])
def test_rankings_in_three_forms(form: str) -> None:
    rankings = [[["b"], ["a", "c"]], [["c"]], [["none"], ["a"]], [], [["none"]]]
    column: list[object] = list(rankings)
    if form == "json":
        column = [json.dumps(ranking) for ranking in rankings]
    if form == "signs":
        column = [">".join("=".join(place) for place in ranking) for ranking in rankings]
    raw = RawTable(pl.DataFrame({"ranking": column, "n": [2.0, 1.0, 0.5, 1.0, 4.0]}, strict=False).lazy())
    found, frame, _ = ballots(raw, told("ranking=ranking,weight=n", "missing=none|"))
    assert found == ["b>a=c", "c", "a"]
    assert frame["weight"].to_list() == [2.0, 1.0, 0.5]


@pytest.mark.full
@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6))
def test_places_in_rows_and_in_columns_are_the_same_ballots(places: list[list[int]]) -> None:
    wide = csv_table("j,a,b,c", *(f"j{at},{','.join(map(str, row))}" for at, row in enumerate(places)))
    rows = [f"j{at},{item},{place}" for at, row in enumerate(places) for item, place in zip("abc", row, strict=True)]
    reading = told("items=a|b|c,cells=place,judge=j,keep=*", "missing=0")
    if not any(place for row in places for place in row):
        return
    one = ballots(wide, reading)[1]
    other = ballots(csv_table("j,item,place", *rows), told("judge=j,item=item,place=place,keep=*", "missing=0"))[1]
    expected = []
    for at, row in enumerate(places):
        levels = sorted({place for place in row if place})
        if levels:
            expected.append(
                (f"j{at}", [[i for i, p in zip("abc", row, strict=True) if p == level] for level in levels])
            )
    assert one.select("judge", "ranking").rows() == other.select("judge", "ranking").rows() == expected


ASKS = [
    (["r1,r2,r3", "Ada,Bo,skipped", "Bo,NA,Ada"], "ranks=r1|r2|r3", "", "blank", 2),
    (RANKS, "ranks=r1|r2", "missing=skip|over", "third", None),
    (["r1,r2", "3,1", "1,2", "2,0"], "ranks=r1|r2", "", "code", None),
    (["r1,r2", "Ada,Bo", "Bo,ada"], "ranks=r1|r2", "", "alike", None),
    (WIDE, "items=Ada|Bo|Cy,cells=place", "", "code", None),
    (WIDE, "items=Ada|Bo|Cy", "missing=0", "roles", None),
    (["a,b,n", "1,2,1", "1,2,4", "2,1,2"], "items=*,cells=place", "", "index", None),
    (["id,a,b", "1,1,2", "2,1,2", "3,2,1"], "items=*,cells=place", "", "index", None),
    (["a,b", "1,2", "1,NA"], "items=a|b,cells=place", "", "blank", 3),
    (["a,b", "1,2", "1st,2"], "items=a|b,cells=place", "", "number", 3),
    (["a,b", "1,2", "1,999"], "items=a|b,cells=place", "", "code", None),
    (["a,b", "3,2", "4,-1"], "items=a|b,cells=points", "", "code", None),
    (RACES, RACE, "", "number", 4),
    (RACES, RACE, "last=DNF", "number", 9),
    (["q,i,p", "x,a,1", "x,b,", "x,c,2"], "query=q,item=i,place=p", "", "blank", 3),
    (["q,i,p", "x,a,1", "x,?,2"], "query=q,item=i,place=p", "", "blank", 3),
    (["q,i,p,j", "x,a,1,u", "x,b,2,u", "x,a,2,v", "x,b,1,v"], "query=q,item=i,place=p", "", "twice", 4),
    (["q,i,p,heat", "x,a,1,h1", "x,b,2,h1", "x,c,1,h2", "x,d,2,h2"], "query=q,item=i,place=p", "", "second-key", None),
    (
        ["q,i,p,j", "x,a,1,u", "x,b,2,u", "x,c,3,v", "y,a,2,v", "y,b,1,v"],
        "query=q,item=i,place=p",
        "",
        "second-key",
        None,
    ),
    (["q,i,p", "x,a,1", "x,b,2"], "item=i,place=p", "", "roles", None),
    (["q,i,p", "x,a,1", "x,b,2"], "query=q", "", "roles", None),
    (["ranking", "42:Mem>Nash", "26:Nash>Mem"], "ranking=ranking", "", "counted", None),
    (["ranking", "Mem>Nash * 42", "Nash>Mem * 26"], "ranking=ranking", "", "counted", None),
    (["ranking", "3:a>b", "2:c>d"], "ranking=ranking", "", "counted", None),
    (["ranking", "a;b;c", "b;a;c"], "ranking=ranking", "", "ranking", 2),
    (["ranking", "a>b", "b>a>"], "ranking=ranking", "", "ranking", 3),
    (["ranking", "a>b", "a|b"], "ranking=ranking", "", "ranking", 3),
    (["ranking", "a", "b"], "ranking=ranking", "", "ranking", None),
    (["ranking", "a>b", "a>skipped"], "ranking=ranking", "", "blank", 3),
    (["ranking", "a>b", "a>B"], "ranking=ranking", "", "alike", None),
]


@pytest.mark.parametrize(("lines", "columns", "words", "code", "row"), ASKS)
def test_doubts(lines: list[str], columns: str, words: str, code: str, row: int | None) -> None:
    with pytest.raises(Unread) as caught:
        read_ballots(csv_table(*lines), told(columns, words))
    assert (caught.value.code, caught.value.row) == (code, row)


@pytest.mark.parametrize(
    ("lines", "columns", "words", "expected"),
    [
        (["r1,r2,r3", "Ada,Bo,skipped", "Bo,NA,Ada"], "ranks=r1|r2|r3", "missing=skipped|NA", ["Ada>Bo", "Bo>Ada"]),
        (["r1,r2", "3,1", "1,2", "2,0"], "ranks=r1|r2", "missing=0", ["3>1", "1>2", "2"]),
        (["r1,r2", "3,1", "1,2", "2,0"], "ranks=r1|r2", "missing=", ["3>1", "1>2", "2>0"]),
        (["r1,r2", "Ada,Bo", "Bo,ada"], "ranks=r1|r2,alike=keep", "", ["Ada>Bo", "Bo>ada"]),
        (["a,b,n", "1,2,1", "2,1,4"], "items=*,cells=place,count=n", "", ["a>b", "b>a"]),
        (["a,b", "1,2", "2nd,1st"], "items=a|b,cells=place,numbers=first", "", ["a>b", "b>a"]),
        (["q,i,p,j", "x,a,1,u", "x,b,2,u", "x,a,2,v", "x,b,1,v"], "query=q,item=i,place=p,judge=j", "", ["a>b", "b>a"]),
        (
            ["q,i,p,heat", "x,a,1,h1", "x,b,2,h1", "x,c,1,h2", "x,d,2,h2"],
            "query=q|heat,item=i,place=p",
            "",
            ["a>b", "c>d"],
        ),
        (["q,i,p,car", "x,a,1,1", "x,a,2,2", "x,b,3,3"], "query=q,item=i|car,place=p", "", ["a / 1>a / 2>b / 3"]),
        (["ranking", "a>b", "a>skipped"], "ranking=ranking", "missing=skipped", ["a>b", "a"]),
        (["ranking", "a>b", "a>skipped"], "ranking=ranking", "name=skipped", ["a>b", "a>skipped"]),
        (["ranking", "gpt>gpt 4", "llama>llama 3"], "ranking=ranking,alike=keep", "", ["gpt>gpt 4", "llama>llama 3"]),
    ],
)
def test_what_answers_a_doubt(lines: list[str], columns: str, words: str, expected: list[str]) -> None:
    assert ballots(csv_table(*lines), told(columns, words))[0] == expected


def test_teams_and_times_beside_places_are_no_doubt() -> None:
    ballots(csv_table(*RACES), told(RACE, "last=DNF|DNS"))


@pytest.mark.parametrize(
    ("lines", "columns", "row", "column"),
    [
        (["r1,r2,n", "a,b,1", "b,a,x"], "ranks=r1|r2,count=n", 3, "n"),
        (["r1,r2,n", "a,b,1", "b,a,1.5"], "ranks=r1|r2,count=n", 3, "n"),
        (["r1,r2,n", "a,b,1", "b,a,-2"], "ranks=r1|r2,weight=n", 3, "n"),
        (["r1,r2,n", "a,b,", "b,a,1"], "ranks=r1|r2,weight=n", 2, "n"),
        (["q,i,p,w", "x,a,1,2", "x,b,2,3"], "query=q,item=i,place=p,weight=w", 3, "w"),
        (["r1,r2", "a,b", f"{'b' * 10001},a"], "ranks=r1|r2", 3, "r1"),
        (["r1,r2", "a,b"], "ranks=r1|r3", None, "r3"),
        (["q,i,a,b", "x,u,1,2", "x,v,2,1"], "query=q,item=i,place=a|b", None, "b"),
    ],
)
def test_cells_that_do_not_fit(lines: list[str], columns: str, row: int | None, column: str) -> None:
    with pytest.raises(InputError) as caught:
        read_ballots(csv_table(*lines), told(columns))
    assert (caught.value.row, caught.value.column) == (row, column)


def test_rows_are_chosen_and_errors_name_rows_of_the_file() -> None:
    raw = csv_table(
        "kind,r1,r2,day", "test,x,y,z", "own,a,b,2024-01-02", "own,b,a,2024-01-03", "test,x,y,z", "own,a,b,soon"
    )
    with pytest.raises(InputError) as caught:
        ballots(raw, told("ranks=r1|r2,time=day", where={"kind": ("own",)}))
    assert (caught.value.row, caught.value.column) == (6, "day")
    kept = told("ranks=r1|r2,ignore=day", unless={"kind": ("t*",)})
    assert ballots(raw, kept)[0] == ["a>b", "b>a", "a>b"]


def test_standard_names_ask_about_numbers() -> None:
    raw = csv_table("rank1,rank2", "1,2", "2,1")
    with pytest.raises(Unread) as caught:
        read_ballots(raw, told("ranks=rank*", source="standard names"))
    assert caught.value.code == "numbers"
