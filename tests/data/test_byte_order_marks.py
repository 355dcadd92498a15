"""A byte-order mark before the first row, in plain and in gzipped files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rankbench.data.readers.choose import choose_reader

TEXTS = {
    "votes.csv": b"query_id,winner,loser\nq,a,b\nq,b,c\n",
    "votes.ndjson": b'{"query_id": "q", "winner": "a", "loser": "b"}\n{"query_id": "q", "winner": "b", "loser": "c"}\n',
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_a_mark_changes_nothing(tmp_path: Path, name: str, packed: bool) -> None:
    plain, marked = tmp_path / name, tmp_path / f"marked-{name}"
    plain.write_bytes(TEXTS[name])
    data = b"\xef\xbb\xbf" + TEXTS[name]
    marked.write_bytes(gzip.compress(data) if packed else data)
    frame = choose_reader(marked).scan(marked).collect()
    assert frame.equals(choose_reader(plain).scan(plain).collect())
