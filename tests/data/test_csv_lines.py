"""Which row of a CSV file is malformed: what the scanner accepts, the csv module reads, and the other way round."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from data_files import written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankbench.data.readers.csv import CsvReader, blank_end, check_lines
from rankbench.data.readers.text_lines import chunks
from rankbench.errors import InputError


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"2\n3,4\n', 2),
        ('a,b\n1,2\n1,2"3\n', 3),
        ('a,b\n1,"2"3\n', 2),
        ("a,b\n1,2\n1,2,3\n", 3),
        ('a,b\n"1\n1",2\n"x\n', 4),
        ('a,b\r\n1,"\r\n",3\r\n', 3),
    ],
)
def test_the_line_is_said(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, newline="")
    with pytest.raises(InputError) as error:
        check_lines(path, ",")
    assert error.value.row == line


FIELD = st.text(st.sampled_from('a",;\n '), max_size=5)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=5))
def test_what_the_csv_module_writes_is_well_formed(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "x.csv"
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    path.write_text(text.getvalue(), newline="")
    check_lines(path, ",")
    with path.open("a") as file:
        file.write('"')
    with pytest.raises(InputError, match="never closed"):
        check_lines(path, ",")


def read(path: Path) -> pl.DataFrame:
    return CsvReader().scan(path).collect()


@pytest.mark.parametrize("text", ["winner,loser\ra,b\rb,c\r", "winner\r,loser\na,b\n", "winner,loser\ra,b\nb,c\n"])
def test_carriage_returns_in_a_header(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "mac.csv", text.encode())
    with pytest.raises(InputError, match=r"mac\.csv:1: the header has a carriage return in it"):
        read(path)


@pytest.mark.parametrize("text", ['winner,"loser\na,b\nb,c\n', '"winner,loser\na,b\n'])
def test_a_quote_that_is_opened_in_the_header_and_never_closed(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "open.csv", text)
    with pytest.raises(InputError, match=r"open\.csv:1: a quote is opened here and never closed"):
        read(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_is_said_to_be_one_and_does_no_harm_at_the_end(tmp_path: Path, end: str) -> None:
    path = tmp_path / "blank.csv"
    rows = ["winner,loser,judge", "a,b,x", "b,c,y"]
    path.write_bytes(end.join([*rows, ""]).encode())
    expected = read(path)
    for blank in (["", ""], ["", "", "", ""]):
        path.write_bytes(end.join([*rows, *blank]).encode())
        assert read(path).equals(expected)
    for place, line in ((1, 2), (2, 3)):
        path.write_bytes(end.join([*rows[:place], "", *rows[place:], ""]).encode())
        with pytest.raises(InputError, match=rf"blank\.csv:{line}: the line is blank; remove it"):
            read(path)
    path.write_bytes(end.join([*rows, 'c,"a' + 2 * end + 'a",z', ""]).encode())  # within quotes
    assert read(path).height == 3


def test_a_line_of_spaces_is_blank(tmp_path: Path) -> None:
    path = written(tmp_path / "spaces.csv", "winner,loser,judge\na,b,x\n")
    expected = read(path)
    for end in ("   \n", "  ", "\n  \n \r\n"):
        path.write_bytes(b"winner,loser,judge\na,b,x\n" + end.encode())
        assert read(path).equals(expected)
    for text, line in (("winner,loser,judge\n  \na,b,x\n", 2), ("  \nwinner,loser,judge\na,b,x\n", 1)):
        path.write_text(text)
        with pytest.raises(InputError, match=rf"spaces\.csv:{line}: the line is blank; remove it"):
            read(path)
    path.write_text("winner\tloser\na\tb\n\t\n")  # of two values, which are not there
    with pytest.raises(InputError, match=r"spaces\.csv:3 .*the value is missing"):
        read(path)


@pytest.mark.parametrize(("data", "line"), [(b"\0" * 5000, 1), (b"\0" * 200_000, 1), (b"winner,loser\na,b\n\0,c\n", 3)])
def test_bytes_that_are_0_are_no_text(tmp_path: Path, data: bytes, line: int) -> None:
    path = written(tmp_path / "null.csv", data)
    with pytest.raises(InputError, match=rf"null\.csv:{line}:1: a byte that is 0: this is no text"):
        read(path)


def test_a_header_that_is_too_long_is_not_said_to_be_of_an_old_mac(tmp_path: Path) -> None:
    path = written(tmp_path / "long.csv", b"a" * 200_000 + b"\n")
    with pytest.raises(InputError, match=r"long\.csv:1: the header has a name of more than 131,072 characters"):
        read(path)


def test_blank_lines_where_chunks_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "blank.csv", "winner,loser\na,b\n\nb,c\n")
    for size in range(1, 24):
        monkeypatch.setattr("rankbench.data.readers.csv.chunks", lambda path, size=size: chunks(path, size))
        with pytest.raises(InputError, match=r"blank\.csv:3: the line is blank"):
            blank_end(path)
