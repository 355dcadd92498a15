"""What is read takes bounded memory, whatever it unpacks to; texts that would merge are refused with their row."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from amounts import part_of
from data_files import rejected, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankbench
from rankbench.core import temporary
from rankbench.data.readers import json_values, parquet_footer, text_lines, unpacked
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.json_values import JsonText
from rankbench.data.readers.trec import read_qrels
from rankbench.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def zipped(data: bytes, name: str = "inner.csv") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstd.compress,
    "zip": zipped,
}
BEGINNINGS = {"csv": b"winner,loser\n", "ndjson": b'{"a": 1}\n', "txt": b"1 qid:1 1:", "soi": b"# FILE NAME: "}


def peak(work: Callable[[], object]) -> int:
    """Return the most bytes that Python's objects took while something was done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", part_of(PACKINGS))
def test_a_line_without_an_end_is_refused_before_it_is_unpacked(
    tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "_LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(text_lines.chunks, "__defaults__", (1 << 18,))
    for name, text in (("warm.csv", "winner,loser\na,b\n"), ("warm.txt", "1 qid:1 1:2\n0 qid:1 1:1\n")):
        rankbench.scan(written(tmp_path / name, text)).collect()  # imports are not counted
    for ending, begin in BEGINNINGS.items():
        data = PACKINGS[packing](begin + b" " * (24 << 20))
        name = "votes.zip" if packing == "zip" else f"votes.{ending}.{packing}"
        path = written(tmp_path / name, zipped(begin + b" " * (24 << 20), f"a.{ending}") if packing == "zip" else data)

        def read(path: Path = path) -> None:
            with pytest.raises(InputError, match="the line is longer than 1 MB"):
                choose_reader(path).scan(path).collect()

        assert peak(read) < 16 << 20, ending


RUN = """
import resource, sys
from pathlib import Path
from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
path = Path(sys.argv[1])
try:
    choose_reader(path).scan(path)
except InputError as error:
    print(error.message)
# Not ru_maxrss, which begins at what the process that forked had.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kB on Linux alone")
def test_four_gigabytes_of_zeros_in_zstandard_are_refused(tmp_path: Path) -> None:
    # RFC 8878: a window of 1 MB, and blocks (type 1) that say one byte 131,072 times.
    size = 1 << 17
    blocks = [(size << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\0" for last in [0] * 32_767 + [1]]
    path = written(tmp_path / "zeros.csv.zst", b"\x28\xb5\x2f\xfd\x00\x50" + b"".join(blocks))
    assert path.stat().st_size < 132_000
    done = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=True)
    said, most = done.stdout.splitlines()
    assert said == "the line is longer than 64 MB; is this a text file?"
    assert int(most) < 500_000


@pytest.mark.full
def test_rows_of_an_array_are_read_one_by_one(tmp_path: Path) -> None:
    row = b'{"winner": "a", "loser": "b"}'
    path = written(tmp_path / "votes.json.gz", gzip.compress(b"[" + row + (b"," + row) * 150_000 + b"]"))
    assert peak(lambda: [None for _ in JsonText(path).rows()]) < 10 << 20  # the objects take 28 MB


@pytest.mark.parametrize("text", ['[{"a": [%s]}]', '{"a": [%s], "b": [%s]}'], ids=["row", "columns"])
def test_a_value_without_an_end_is_refused(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "_LONGEST", 1 << 20)
    values = ",".join(["[]"] * (4 << 20))
    path = written(tmp_path / "votes.json.gz", gzip.compress(text.replace("%s", values).encode(), 1))
    assert path.stat().st_size < 1 << 20
    with rejected("a value of more than 1 MB begins here", row=1):
        choose_reader(path).scan(path)


def piecewise(size: int) -> Callable[..., Iterator[bytes]]:
    return lambda path, _=0: (path.read_bytes()[at : at + size] for at in range(0, path.stat().st_size, size))


TEXT = st.text(st.sampled_from('a"\\/\n é🦊\u2028\x1f'), max_size=4)
LEAF = TEXT | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.dictionaries(TEXT, VALUE, max_size=3), max_size=5),
    size=st.integers(1, 9),
    indent=st.none() | st.integers(0, 2),
    ascii_only=st.booleans(),
    cut=st.integers(1, 30),
)
def test_rows_are_those_of_the_json_module_wherever_pieces_end(
    tmp_path: Path, rows: list[dict[str, Any]], size: int, indent: int | None, ascii_only: bool, cut: int
) -> None:
    path = tmp_path / "rows.json"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_values, "blocks", piecewise(size))
        text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
        assert list(JsonText(written(path, text)).rows()) == rows
        damaged = text[: max(0, len(text) - cut)]
        with pytest.raises(json.JSONDecodeError) as expected:
            json.loads(damaged)
        with pytest.raises(InputError, match="not JSON") as found:
            list(JsonText(written(path, damaged)).rows())
    assert found.value.row == expected.value.lineno


@pytest.mark.parametrize(
    "text", ['[{"a": 1},\n {"b": tru}]', '[{"a": 1}\n\n {"a": 2}]', '[\n{"a": 1}]\n x', "[1e5, {}]"]
)
def test_what_is_no_json_has_its_line_and_column(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "votes.json", text)
    for size in (1, 3, 100):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(json_values, "blocks", piecewise(size))
            with pytest.raises(InputError) as found:
                list(JsonText(path).rows())
        if text.startswith("[1"):
            assert (found.value.row, found.value.message) == (1, "a row must be a JSON object, not a number")
            continue
        with pytest.raises(json.JSONDecodeError) as expected:
            json.loads(text)
        assert (found.value.row, found.value.column) == (expected.value.lineno, expected.value.colno)


def test_what_is_long_is_unpacked_into_a_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(unpacked, "_IN_MEMORY", 100)
    text = "winner,loser\n" + "a,b\nb,c\n" * 40
    logs = {
        "votes.csv.xz": lzma.compress(text.encode()),
        "votes.csv": text.encode("utf-16"),
        "votes.json": json.dumps([{"winner": w, "loser": o} for w, o in (("a", "b"), ("b", "c")) * 40]).encode(),
    }
    for name, data in logs.items():
        path = written(tmp_path / name, data)
        found = [rankbench.scan(path).collect() for _ in range(2)]
        assert found[0].equals(found[1])
        assert found[0].select("winner", "loser").rows() == [("a", "b"), ("b", "c")] * 40
    assert len(list(tmp_path.glob("rankbench-*/unpacked"))) == 4  # of JSON two, as its rows are not what it holds
    temporary.remove_folders()
    assert not list(tmp_path.glob("rankbench-*"))
    monkeypatch.setattr(unpacked, "free_disk", lambda folder: 300)
    path = written(tmp_path / "more.csv.bz2", bz2.compress(text.encode() * 2))
    with pytest.raises(InputError, match=r"it holds more than 0\.000 GB, and 0\.000 GB are free"):
        rankbench.scan(path)
    assert not list(tmp_path.glob("rankbench-*"))


def test_streams_one_after_the_other_and_their_padding(tmp_path: Path) -> None:
    text = b"winner,loser\na,b\n"
    for name, pack in PACKINGS.items():
        if name == "zip":
            continue
        padding = bytes(8) if name in ("xz", "gz") else b""
        path = written(tmp_path / f"votes.csv.{name}", pack(text) + padding + pack(b"b,c\n"))
        assert rankbench.scan(path).collect()["winner"].to_list() == ["a", "b"]
        written(path, pack(text) + b"and something else")
        with pytest.raises(InputError, match="damaged or cut off"):
            rankbench.scan(path).collect()


@pytest.mark.full
def test_a_table_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range((1 << 17) + 1)]
    ndjson = json.dumps(dict.fromkeys(names, 1))
    for path in (
        written(tmp_path / "wide.csv", f"{','.join(names)}\n{',' * (1 << 17)}\n"),
        written(tmp_path / "wide.ndjson", ndjson),
        written(tmp_path / "wide.json", f"[{ndjson}]"),
    ):
        with pytest.raises(InputError, match="the table has 131,073 columns, and rankbench reads 131,072 at most"):
            rankbench.scan(path)


def test_rows_that_are_kept_must_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "free_memory", lambda: 1000)
    lines = {"q.txt": "1 0 d{} 1\n", "b.blt": "4 2\n", "b.soi": "# NUMBER ALTERNATIVES: {}\n"}
    for name, line in lines.items():
        path = written(tmp_path / name, "".join(line.format(number) for number in range(100)))
        with pytest.raises(InputError, match="Files of this format are kept in memory"):
            read_qrels(path) if name == "q.txt" else rankbench.scan(path).collect()


def test_a_row_group_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = pl.select(winner=pl.repeat("a", 40_000, dtype=pl.String), loser=pl.repeat("b", 40_000, dtype=pl.String))
    (tmp_path / "parts").mkdir()
    for path in (tmp_path / "log.parquet", tmp_path / "parts" / "0.parquet"):
        votes.write_parquet(path, row_group_size=40_000)
        assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet_footer, "free_memory", lambda: 1_000_000)
    for log in (tmp_path / "log.parquet", tmp_path / "parts"):
        with pytest.raises(InputError, match="a row group has 40,000 rows"):
            rankbench.scan(log)
    votes.write_parquet(tmp_path / "log.parquet", row_group_size=9_000)
    assert rankbench.scan(tmp_path / "log.parquet").collect().height == 40_000


@pytest.mark.parametrize("size", [3, 700, 5000])
def test_row_groups_are_those_that_were_written(tmp_path: Path, size: int) -> None:
    frame = pl.DataFrame({"a": range(5000), "b": [[1, 2]] * 5000, "c": [{"d": True, "e": "x"}] * 5000})
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=size)
    groups = parquet_footer._rows_of_groups(tmp_path / "x.parquet")
    assert groups == [size] * (5000 // size) + [5000 % size] * (5000 % size > 0)
    data = (tmp_path / "x.parquet").read_bytes()
    for cut in range(0, 60, 7):  # of a damaged footer nothing is said here
        parquet_footer._rows_of_groups(written(tmp_path / "y.parquet", data[: -70 + cut] + data[-8:]))
        parquet_footer._rows_of_groups(written(tmp_path / "y.parquet", data[: cut + 1]))


def test_a_number_of_alternatives_that_nobody_has(tmp_path: Path) -> None:
    path = written(tmp_path / "a.soi", "# NUMBER ALTERNATIVES: 999999999999999\n1: 1,2\n")
    with rejected("there are 999999999999999 alternatives", row=1):
        rankbench.scan(path, reader="preflib:names=false").collect()


HALVES = [r"a\ud800b", r"a\ud801b", r"\udc00", r"x\ud800\ud801y", r"\ud800\u0041", r"z\uD83D"]
"""Texts of JSON with half of a character."""


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(
    "row",
    [
        '{"winner": "%s", "loser": "b"}',
        '{"winner": "a", "loser": "b", "lang": "%s"}',
        '{"winner": "a", "loser": "b", "%s": 1}',
        '{"query_id": "q", "ranking": ["a", "%s"]}',
        '{"query_id": "q", "ranking": [["a"], ["%s", "b"]]}',
    ],
)
def test_half_of_a_character_is_refused_with_its_row(tmp_path: Path, half: str, row: str) -> None:
    rows = [row % "c", row % "d", row % half]
    for name, text in (("log.ndjson", "\n".join(rows)), ("log.json", f"[{', '.join(rows)}]")):
        path = written(tmp_path / name, text)
        if name == "log.json" and row.count("%s") and '"%s": 1' in row:
            with pytest.raises(InputError, match="half of a character"):
                rankbench.scan(path).collect()
            continue
        with rejected("half of a character", row=3):
            rankbench.scan(path).collect()


def test_both_halves_are_one_character(tmp_path: Path) -> None:
    path = written(tmp_path / "log.ndjson", '{"winner": "\\ud83e\\udd8a", "loser": "b"}\n')
    assert rankbench.scan(path).collect()["winner"].to_list() == ["🦊"]


def test_half_of_a_character_in_a_ranking_as_text(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", 'query_id,ranking\nq,"[""a"", ""b""]"\nq,"[""a"", ""\\ud800""]"\n')
    with rejected("is not JSON", row=3):
        rankbench.scan(path).collect()


@pytest.mark.parametrize("column", ["winner", "judge"])
def test_the_character_0_in_a_name_is_refused_with_its_row(tmp_path: Path, column: str) -> None:
    columns = {"winner": ["a", "b", "c"], "loser": ["x"] * 3, "judge": ["i", "j", "k"]}
    frame = pl.DataFrame(columns | {column: ["a", "b", "a\0"]})
    frame.write_parquet(tmp_path / "log.parquet")
    written(tmp_path / "log.ndjson", "\n".join(json.dumps(row) for row in frame.to_dicts()))
    written(tmp_path / "log.json", json.dumps(frame.to_dicts()))
    parquet = [tmp_path / "log.parquet"] if column == "winner" else []  # judges are not looked at there
    for log in (*parquet, tmp_path / "log.ndjson", tmp_path / "log.json", frame):
        with rejected("has the character 0 in it", row=3, column=column):
            rankbench.aggregate(log)
    lists = pl.DataFrame({"query_id": ["q", "q"], "ranking": [["a", "b"], ["a\0", "a"]]})
    with rejected("has the character 0 in it", row=2):
        rankbench.scan(lists).collect()
