"""Files of text: the malformed row of a CSV file, encodings, and compressed files."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner
from data_files import rejected, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.csv import CsvReader, check_lines, has_blank_end
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
    with rejected(row=line):
        check_lines(path, ",")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a,b\nb,c,d\nc,d,e\n", 2),
        ("a,b\nb,a,1\n", 2),
        ("model,other\nx,y\ny,x\nx,y,z\n", 4),
        ("x,y,z\n1,2\n3,4,5,6\n", 3),
    ],
)
def test_a_row_of_too_many_fields_has_its_own_number_where_no_row_is_known(tmp_path: Path, text: str, row: int) -> None:
    with rejected("fields, the header", row=row):
        rankbench.scan(written(tmp_path / "ragged.csv", text))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quoted_name_of_a_column_is_what_it_says(tmp_path: Path, end: str) -> None:
    names = ['my "best" one', 'or, "worse"?', 'a\nb "c"']
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([names, ["a", "b", "j"], ["b", "c", "k"]])
    path = written(tmp_path / "quoted.csv", text.getvalue())
    columns = ",".join(
        '{}="{}"'.format(role, name.replace('"', '""'))
        for role, name in zip(("winner", "loser", "judge"), names, strict=True)
    )
    found = rankbench.scan(path, columns=columns).collect()
    assert found.select("winner", "loser", "judge").rows() == [("a", "b", "j"), ("b", "c", "k")]


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
    with pytest.raises(InputError, match=r"spaces\.csv:3 .*the cell is empty"):
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
            has_blank_end(path)


MANY = 70_000 // 12
VOTES = {
    "votes.csv": "query_id,winner,loser\nq,Zoë,b\nq,b,🦊 fox\n" + "q,a,b\n" * MANY,
    "votes.tsv": "query_id\twinner\tloser\r\nq\tZoë\tb\r\nq\tb\t🦊 fox\r\n",
    "votes.ndjson": '{"query_id": "q", "winner": "Zoë", "loser": "b"}\n{"query_id": "q", "winner": "b", "loser": "c"}',
    "votes.json": '[{"query_id": "q", "winner": "Zoë", "loser": "b"}, {"query_id": "q", "winner": "b", "loser": "é"}]',
    "items.txt": "1 qid:é 1:0.5 2:3\n0 qid:é 1:1 # Zoë\n"
    + "".join(f"{i % 2} qid:{i // 5} 1:{i}\n" for i in range(MANY)),
    "ballots.soi": "# FILE NAME: é.soi\n# TITLE: t\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n"
    "# NUMBER UNIQUE ORDERS: 1\n# ALTERNATIVE NAME 1: Zoë\n# ALTERNATIVE NAME 2: b\n3: 1,2\n",
}


MARKS = ("utf-8-sig", "utf-16", "utf-16-be")
"""Encodings that write a mark first."""


@pytest.mark.parametrize(
    ("name", "encoding", "packed"),
    part_of([(name, mark, packed) for name in VOTES for mark in MARKS for packed in (False, True)], 5),
)
def test_text_with_a_mark_is_read(tmp_path: Path, name: str, encoding: str, packed: bool) -> None:
    """Excel writes UTF-16 as "Unicode text", PowerShell by ``>``."""
    for folder in ("plain", "marked"):
        (tmp_path / folder).mkdir()
    plain, marked = tmp_path / "plain" / name, tmp_path / "marked" / name
    plain.write_bytes(VOTES[name].encode())
    text = f"\ufeff{VOTES[name]}" if encoding == "utf-16-be" else VOTES[name]
    marked.write_bytes(gzip.compress(text.encode(encoding)) if packed else text.encode(encoding))
    frame = choose_reader(marked).scan(marked).collect()
    assert frame.equals(choose_reader(plain).scan(plain).collect())


def test_a_wrong_row_of_utf_16_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\né,b\nc,c\n", encoding="utf-16")
    with pytest.raises(InputError, match=r"votes.csv:3 .*itself"):
        rankbench.aggregate(path)
    path.write_bytes("winner,loser\na,b\n".encode("utf-16")[:-1])
    with pytest.raises(InputError, match="damaged or cut off: not all of it is UTF-16"):
        rankbench.aggregate(path)


@pytest.mark.parametrize(
    ("encoding", "said", "word"),
    [
        ("latin-1", "if the file is Latin-1 or Windows-1252", "café"),
        ("cp1252", "if the file is Latin-1 or Windows-1252", "don\u2019t"),
        ("utf-16-le", "it looks like UTF-16 without a byte-order mark", ""),
        ("utf-16-be", "it looks like UTF-16 without a byte-order mark", ""),
        ("utf-32", "it is UTF-32", ""),
    ],
)
@pytest.mark.parametrize("ending", part_of(["csv", "ndjson", "json"]))
def test_another_encoding_is_named_with_the_command_that_converts_it(
    tmp_path: Path, encoding: str, said: str, word: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(word or "é", "b"), ("b", "c"), ("c", word or "é")]
    text = "winner,loser\n" + "".join(f"{w},{o}\n" for w, o in rows)
    if ending != "csv":
        objects = [f'{{"winner": "{w}", "loser": "{o}"}}' for w, o in rows]
        text = "\n".join(objects) if ending == "ndjson" else f"[{', '.join(objects)}]"
    path = written(tmp_path / f"my votes.{ending}", text.encode(encoding))
    found = CliRunner().invoke(main, ["aggregate", str(path)])
    assert found.exit_code == 2
    assert said in found.stderr
    assert "Traceback" not in found.output
    if not shutil.which("iconv"):
        pytest.skip("no iconv here")
    command = found.stderr[found.stderr.index("iconv") :].split(" converts it")[0].strip()
    monkeypatch.chdir(tmp_path)
    subprocess.run(command, shell=True, check=True)  # it is for a shell
    converted = shlex.split(command)[-1]
    assert rankbench.aggregate(converted).table.height == 3


def zstd(data: bytes) -> bytes:
    """Return a frame of one block that is not compressed: RFC 8878, sections 3.1.1 and 3.1.1.2.3."""
    assert len(data) < 256
    return b"\x28\xb5\x2f\xfd" + bytes([0x20, len(data)]) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def zipped(data: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("__MACOSX/._votes", b"resource fork")
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
}
ROWS = [("a", "b"), ("b", "a"), ("a", "b"), ("a", "c"), ("c", "b")]
TEXTS = {
    "csv": "winner,loser\n" + "".join(f"{w},{o}\n" for w, o in ROWS),
    "jsonl": "".join(json.dumps({"winner": w, "loser": o}) + "\n" for w, o in ROWS),
    "json": json.dumps([{"winner": w, "loser": o} for w, o in ROWS]),
    "toc": "# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n3: 1,2\n1: 2,1\n",
    "txt": "2 qid:1 1:.5 2:1\n0 qid:1 1:1 2:2\n",
}


@pytest.mark.parametrize("ending", TEXTS)
@pytest.mark.parametrize("packing", part_of([*PACKED, "zip"], 3))
def test_a_compressed_file_is_the_plain_one(tmp_path: Path, ending: str, packing: str) -> None:
    plain = written(tmp_path / f"votes.{ending}", TEXTS[ending])
    data = plain.read_bytes()
    if packing == "zip":
        packed = written(tmp_path / "archive.zip", zipped(data, f"folder/votes.{ending}"))
    else:
        packed = written(tmp_path / f"votes.{ending}.{packing}", PACKED[packing](data))
    # Queries of PrefLib are called as the file.
    found, expected = (rankbench.scan(path).collect().drop("query_id") for path in (packed, plain))
    assert found.equals(expected)
    assert found.height == len(expected) > 0


@pytest.mark.parametrize("packing", PACKED)
def test_folders_of_compressed_files_and_group_files_are_read(tmp_path: Path, packing: str) -> None:
    for part in range(2):
        (tmp_path / f"part-{part}.csv.{packing}").write_bytes(PACKED[packing](TEXTS["csv"].encode()))
    assert rankbench.scan(tmp_path).collect().height == 2 * len(ROWS)
    letor = written(tmp_path / f"train.txt.{packing}", PACKED[packing](b"2 1:.5\n0 1:1\n1 1:2\n0 1:3\n"))
    (tmp_path / "train.txt.group").write_text("2\n2\n")
    assert rankbench.scan(letor).collect()["query_id"].to_list() == ["1", "1", "2", "2"]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
def test_what_is_cut_off_is_an_error_with_the_file(tmp_path: Path, packing: str, ending: str) -> None:
    path = written(tmp_path / f"votes.{ending}.{packing}", PACKED[packing](TEXTS[ending].encode())[:-9])
    with pytest.raises(InputError) as error:
        rankbench.aggregate(path)
    assert str(error.value).startswith(str(path))


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.zip", zipped(b"winner,loser\na,b\n", "1.csv", "2.csv"))
    with pytest.raises(InputError, match=r"the archive holds 2 files, and one is read: unzip votes\.zip"):
        rankbench.aggregate(path)
    path.write_bytes(zipped(b"winner,loser\na,b\n", "1.csv")[:-20])
    with pytest.raises(InputError, match="damaged"):
        rankbench.aggregate(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("columns", ["", "winner=W,loser=L"])
def test_a_header_that_stands_again_is_refused(tmp_path: Path, columns: str, end: str) -> None:
    header = "W,L" if columns else "winner,loser"
    path = written(tmp_path / "put.csv", end.join([header, "a,b", *["b,c"] * 300, header, "c,a", ""]))
    with rejected("the row repeats the header", row=303):
        rankbench.aggregate(path, columns=columns)


def test_a_first_row_that_stands_again_may_be_a_row(tmp_path: Path) -> None:
    path = written(tmp_path / "bare.csv", "a,b\nb,c\na,b\n")
    assert rankbench.scan(path, columns="winner=1,loser=2").collect().height == 3
