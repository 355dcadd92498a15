"""What is piped in is kept as far as there is room; what has no end is refused, and nothing of it stays."""

from __future__ import annotations

import errno
import io
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from rankbench.data.readers import remote as pipe
from rankbench.data.readers import unpacked
from rankbench.errors import InputError


class Endless:
    """Gives the same bytes for ever, and counts them."""

    def __init__(self, text: bytes) -> None:
        self.text, self.given = text, 0

    def read(self, size: int) -> bytes:
        self.given += size
        return (self.text * (size // len(self.text) + 1))[:size]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def piped_in(source: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, buffer=source))
    return pipe.piped.__wrapped__()


def test_what_has_no_end_is_refused_with_the_numbers(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "free_disk", lambda folder: 50_000_000)
    source = Endless(b"winner,loser\na,b\n")
    with pytest.raises(InputError) as error:
        piped_in(source, monkeypatch)
    assert str(error.value) == (
        f"-: it holds more than 0.025 GB, and 0.050 GB are free in {empty}; rankbench takes "
        "half of that at most; give a file, or set TMPDIR to where there is room"
    )
    assert source.given < 27_000_000
    assert not list(empty.iterdir())


def test_nulls_are_refused_at_once(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Endless(b"\0")
    with pytest.raises(InputError, match="-: a byte that is 0"):
        piped_in(source, monkeypatch)
    assert source.given == 1 << 20
    assert not list(empty.iterdir())


def test_a_disk_that_gets_full_meanwhile(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Endless):
        def read(self, size: int) -> bytes:
            if self.given >= 3 << 20:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().read(size)

    with pytest.raises(InputError, match=r"cannot keep what it holds in .* \(No space left on device, after 0"):
        piped_in(Full(b"winner,loser\na,b\n"), monkeypatch)
    assert not list(empty.iterdir())


def test_utf_16_of_columns_that_nobody_knows_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "one,other\r\na,b\r\n".encode("utf-16")
    assert piped_in(io.BytesIO(text), monkeypatch).read_bytes() == text
