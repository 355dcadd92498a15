"""Impressions, a row each, and Yandex's logs of sessions: the lists that they are, and what is wrong with a row."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import polars as pl
import pytest
from amounts import examples
from data_files import rejected, stored, written
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.yandex import YandexReader
from rankbench.errors import InputError, SpecError
from rankbench.logs.open import open_log

HEADER = "session,query,position,doc,clicked"
ROWS = ["s1,q,1,a,0", "s1,q,2,b,1", "s2,q,1,b,0", "s2,q,2,a,0", "s3,r,1,c,1", "s3,r,2,d,1"]
LISTS = [
    ("q", "s1", ["a", "b"], [2]),
    ("q", "s2", ["b", "a"], []),
    ("r", "s3", ["c", "d"], [1, 2]),
]


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def read(path: Path, columns: str = "") -> list[tuple[object, ...]]:
    return open_log(path, columns=columns).frame.collect().rows()


def test_positions_may_count_from_zero_and_queries_may_be_missing(tmp_path: Path) -> None:
    rows = ["s1,0,a,false", "s1,1,b,true", "s2,1,a,FALSE", "s2,0,b,True"]
    path = write(tmp_path / "clicks.csv", rows, "session,position,doc,clicked")
    assert read(path) == [("all", "s1", ["a", "b"], [2]), ("all", "s2", ["b", "a"], [1])]
    assert "rankbench counts positions from 0, the top of the list" in rankbench.aggregate(path).notes


def test_they_are_ranked_as_lists_are(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows, lists = [], []
    for session in range(300):
        shown = rng.sample("abcdef", 4)
        clicked = [place for place in range(1, 5) if rng.random() < 0.4 / place]
        lists.append(("q", f"s{session:03}", " ".join(shown), " ".join(map(str, clicked))))
        rows += [f"s{session:03},q,{place},{doc},{int(place in clicked)}" for place, doc in enumerate(shown, 1)]
    pl.DataFrame(lists, schema=["query_id", "session_id", "shown", "clicked"], orient="row").write_csv(
        tmp_path / "a.csv"
    )
    rng.shuffle(rows)
    path = write(tmp_path / "b.csv", rows)
    one, other = (rankbench.aggregate(file, intervals="bootstrap") for file in (tmp_path / "a.csv", path))
    assert one.method == other.method == "coec:smoothing=1"
    assert one.table.equals(other.table)


def test_a_method_that_does_not_fit_names_those_that_do(tmp_path: Path) -> None:
    path = write(tmp_path / "clicks.csv", ROWS)
    with pytest.raises(SpecError, match=r"'elo' aggregates comparisons; .* are ranked by .*coec") as caught:
        rankbench.aggregate(path, "elo")
    named = str(caught.value).partition("ranked by ")[2].split(", ")
    assert len(named) > 3
    for name in named:
        assert rankbench.aggregate(path, name).table.height == 4


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (["s1,q,1,a,0", "s1,q,two,b,0"], "", ":3 [position]: 'two' is no position"),
        (["s1,q,1,a,0", "s1,q,1.5,b,0"], "", ":3 [position]: '1.5' is no position"),
        (["s1,q,1,a,0", "s1,q,2,b,maybe"], "", ":3 [clicked]: 'maybe' does not say whether"),
        (["s1,q,1,a,0", ",q,2,b,0"], "", ":3 [session]: the cell is empty"),
        (["s1,q,1,a,0", "s1,q,2,,0"], "", ":3 [doc]: the cell is empty"),
        (["s1,q,1,a,0", "s1,,2,b,0"], "", ":3 [query]: the cell is empty"),
        (["s1,q,1,a,0", "s1,q,1,b,0"], "", " [position]: session 's1': two items were shown at one position"),
        (["s1,q,1,a,0", "s1,q,3,b,0"], "", " [position]: session 's1': position 2 has no row"),
        (["s1,q,1,a,0", "s1,q,2,a,0"], "", " [doc]: session 's1': item 'a' is shown twice in one list"),
        (["s1,q,1,a,0"], "session=visit", "there is no column 'visit' for the session"),
        (["s1,q,1,a,0"], "doc=doc,left=query", "there is no role 'left' of clicks"),
        ([], "", ": the table has no rows"),
    ],
)
def test_what_is_wrong_has_its_row_or_its_session(tmp_path: Path, rows: list[str], columns: str, said: str) -> None:
    path = write(tmp_path / "clicks.csv", rows)
    with pytest.raises(InputError) as caught:
        read(path, columns)
    assert str(caught.value).startswith(f"{path}{said}") or said in str(caught.value)
    assert not said.startswith(":") or str(caught.value).startswith(f"{path}{said}")


@pytest.mark.full
@examples(60)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("qr"), st.sampled_from("stu")),
        st.lists(
            st.tuples(st.sampled_from("abcde"), st.booleans()), min_size=1, max_size=5, unique_by=lambda row: row[0]
        ),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_lists_come_back_from_their_impressions(
    tmp_path_factory: pytest.TempPathFactory, lists: dict[tuple[str, str], list[tuple[str, bool]]], rng: random.Random
) -> None:
    rows = [
        f"{session},{query},{place},{doc},{int(hit)}"
        for (query, session), shown in lists.items()
        for place, (doc, hit) in enumerate(shown, 1)
    ]
    rng.shuffle(rows)
    expected = [
        (query, session, [doc for doc, _ in shown], [place for place, (_, hit) in enumerate(shown, 1) if hit])
        for (query, session), shown in sorted(lists.items())
    ]
    path = write(tmp_path_factory.mktemp("clicks") / "clicks.csv", rows)
    assert read(path) == expected
    assert read(stored(pl.read_csv(path), path.with_suffix(".parquet"))) == expected


RECORDS = "9_0\t13,70,377 : 70 , 70 , 13; 9_0\t13,70,377 :;\t\n\n ; 8_1\t5 : 6 ;  8_1\t5,7 : 6 , 5"
SESSIONS = [
    ("9_0", "1.1", ["13", "70", "377"], [2, 2, 1]),
    ("9_0", "1.2", ["13", "70", "377"], []),
    ("8_1", "3.1", ["5"], [2]),
    ("8_1", "3.2", ["5", "7"], [3, 1]),
]


def rows(sample, **parameters):
    return list(YandexReader.model_validate(parameters).scan(sample).collect().iter_rows())


@pytest.fixture
def sample(tmp_path):
    return written(tmp_path / "sample", RECORDS)


def test_records_become_rows(sample):
    assert rows(sample) == SESSIONS


def test_compressed_files_and_windows_line_ends(tmp_path):
    sample = written(tmp_path / "sample.gz", gzip.compress(RECORDS.replace("\n", "\r\n").encode()))
    assert rows(sample) == SESSIONS


def test_the_file_is_recognized_by_its_content(sample):
    assert choose_reader(sample) == YandexReader()


@pytest.mark.parametrize(
    ("record", "column", "words"),
    [
        ("9_0 13,70 : 70", 9, "no tab after the query"),
        ("9_0\t13,70", 9, "no colon after the items"),
        ("9_0\t13,,70 : 70", 13, "position 2 is missing"),
        ("9_0\t : 70", 13, "position 1 is missing"),
        ("9_0\t13,70,13 : 70", 13, "'13' is shown twice"),
        ("9_0\t13,70 : 70 , , 13", 20, "click 2 is ''"),
        ("9_0\t13,70 : 70 : 13", 20, "click 1 is '70 : 13'"),
    ],
)
def test_malformed_records_are_named(tmp_path, record, column, words):
    sample = written(tmp_path / "sample", f"1\t2,3 :\n1\t2 : 2;{record};1\t2 :\n")
    with rejected(words, path=sample, row=2, column=column):
        rows(sample)


@pytest.mark.parametrize(("text", "words"), [("", "empty"), (" ;\n;", "no sessions")])
def test_files_without_sessions(tmp_path, text, words):
    sample = written(tmp_path / "sample", text)
    with pytest.raises(InputError, match=words):
        rows(sample)
