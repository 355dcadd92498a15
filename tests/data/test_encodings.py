"""Files that are not UTF-8: read where a byte-order mark says what they are, else an error with the command to run."""

from __future__ import annotations

import gzip
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from data_files import written

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError

ROWS = 70_000 // 12
VOTES = {
    "votes.csv": "query_id,winner,loser\nq,Zoë,b\nq,b,🦊 fox\n" + "q,a,b\n" * ROWS,
    "votes.tsv": "query_id\twinner\tloser\r\nq\tZoë\tb\r\nq\tb\t🦊 fox\r\n",
    "votes.ndjson": '{"query_id": "q", "winner": "Zoë", "loser": "b"}\n{"query_id": "q", "winner": "b", "loser": "c"}',
    "votes.json": '[{"query_id": "q", "winner": "Zoë", "loser": "b"}, {"query_id": "q", "winner": "b", "loser": "é"}]',
    "items.txt": "1 qid:é 1:0.5 2:3\n0 qid:é 1:1 # Zoë\n"
    + "".join(f"{i % 2} qid:{i // 5} 1:{i}\n" for i in range(ROWS)),
    "ballots.soi": "# FILE NAME: é.soi\n# TITLE: t\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n"
    "# NUMBER UNIQUE ORDERS: 1\n# ALTERNATIVE NAME 1: Zoë\n# ALTERNATIVE NAME 2: b\n3: 1,2\n",
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", VOTES)
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
        ("latin-1", "if the file is Latin-1 or Windows-1252 this is", "café"),
        ("cp1252", "if the file is Windows-1252 this is", "don\u2019t"),
        ("utf-16-le", "it looks like UTF-16 without a byte-order mark", ""),
        ("utf-16-be", "it looks like UTF-16 without a byte-order mark", ""),
        ("utf-32", "it is UTF-32", ""),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "ndjson", "json"])
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
    assert word in found.stderr
    assert "Traceback" not in found.output
    if not shutil.which("iconv"):
        pytest.skip("no iconv here")
    command = found.stderr[found.stderr.index("iconv") :].split(" converts it")[0].strip()
    monkeypatch.chdir(tmp_path)
    subprocess.run(command, shell=True, check=True)  # it is for a shell
    converted = shlex.split(command)[-1]
    assert rankbench.aggregate(converted).table.height == 3


def test_what_no_encoding_reads_is_said_plainly(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", b"winner,loser\na,b\n\x81\x8d,b\n")
    with pytest.raises(InputError, match=r"votes.csv:3:1: byte 0x81 is not UTF-8; convert the file to UTF-8"):
        rankbench.aggregate(path)
