"""Files are read as they are from gzip, bzip2, xz, Zstandard and ZIP, and damaged ones are named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from data_files import written

import rankbench
from rankbench.errors import InputError


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
@pytest.mark.parametrize("packing", [*PACKED, "zip"])
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
