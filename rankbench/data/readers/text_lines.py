"""Text files as a stream of whole lines, with the place of anything that is wrong."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rankbench.data.readers.encodings import BOM, foreign_byte, in_utf8, is_recoded
from rankbench.errors import InputError

__all__ = ["NULLS", "Chunk", "chunks", "head", "marked", "numbered_lines", "pieces"]

_CHUNK = 8 << 20
_LONGEST_LINE = 64 << 20
NULLS = "a byte that is 0: this is no text, or not in UTF-8; convert the file to UTF-8, or fetch it again"


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file.

    Attributes
    ----------
    data : bytes
        UTF-8; every line ends with a newline, the file's last one perhaps without.
    line : int
        1-based number of the first line.
    path : Path
    """

    data: bytes
    line: int
    path: Path

    def place(self, position: int) -> tuple[int, int]:
        """Return the 1-based line and character column of a byte."""
        begin = self.data.rfind(b"\n", 0, position) + 1
        column = len(self.data[begin:position].decode("utf-8", errors="replace")) + 1
        return self.line + self.data.count(b"\n", 0, position), column

    def error(self, message: str, position: int) -> InputError:
        """Return an error that points at a byte."""
        line, column = self.place(position)
        return InputError(message, path=self.path, row=line, column=column)


def _open(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressing it if its content is gzip; in UTF-8 if a mark says what it is."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", path=path) from error
    if file.peek(2)[:2] != b"\x1f\x8b":
        return in_utf8(file, path)
    packed = io.BufferedReader(gzip.GzipFile(fileobj=file))  # type: ignore[type-var, unused-ignore]
    with _unpacked(path):
        return in_utf8(packed, path)  # type: ignore[arg-type, unused-ignore]


def _read(file: IO[bytes], size: int, path: Path) -> bytes:
    with _unpacked(path):
        return file.read(size)


@contextmanager
def _unpacked(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"the gzip data is damaged or cut off ({error}); fetch or compress the file again", path=path
        ) from error


def head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes, decompressed, without a byte-order mark."""
    with _open(path) as file:
        return _read(file, size, path).removeprefix(BOM)


def marked(path: Path, *, utf8: bool = True) -> bytes | None:
    """Return all of a file with a byte-order mark in UTF-8, decompressed and without it; None: there is no mark.

    For what reads UTF-8 alone, and with `utf8` for what takes its mark for text.
    """
    with _open(path) as file:
        if is_recoded(file):
            return _read(file, -1, path)
        return _read(file, -1, path) if utf8 and _read(file, len(BOM), path) == BOM else None


def chunks(path: Path, size: int = _CHUNK) -> Iterator[Chunk]:
    """Yield a file, plain or gzip, as whole lines, about `size` bytes at a time.

    A byte-order mark is stripped; line ends are left as they are.

    Raises
    ------
    InputError
        Bytes that are not UTF-8 or are 0, damaged gzip, a line of more than 64 MB, an empty file.
    """
    line, rest, empty = 1, b"", True
    with _open(path) as file:
        while block := _read(file, size, path):
            if empty:
                block = block.removeprefix(BOM)
                empty = not block
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                if len(rest) > _LONGEST_LINE:
                    raise InputError(
                        f"the line is longer than {_LONGEST_LINE >> 20} MB; is this a text file?", path=path, row=line
                    )
                continue
            chunk = Chunk(rest + block[:end], line, path)
            _check_utf8(chunk)
            yield chunk
            line += chunk.data.count(b"\n")
            rest = block[end:]
    if rest:
        chunk = Chunk(rest, line, path)
        _check_utf8(chunk)
        yield chunk
    if empty:
        raise InputError("the file is empty", path=path)


def pieces(path: Path, size: int = _CHUNK) -> Iterator[str]:
    """Yield the text of a file, plain or gzip, about `size` bytes at a time, wherever its lines end.

    Raises
    ------
    InputError
        Bytes that are not UTF-8, damaged gzip.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with _open(path) as file:
        while block := _read(file, size, path):
            yield _decoded(decoder, block, path)
        yield _decoded(decoder, b"", path, final=True)


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, path: Path, *, final: bool = False) -> str:
    try:
        return decoder.decode(block, final)
    except UnicodeDecodeError as error:
        raise InputError(foreign_byte(error.object, error.start, path), path=path) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line, without its newline; see `chunks` for errors."""
    for chunk in chunks(path):
        texts = chunk.data.decode("utf-8").split("\n")
        if not texts[-1]:
            texts.pop()
        yield from enumerate(texts, chunk.line)


def _check_utf8(chunk: Chunk) -> None:
    """Raise an `InputError` that points at the first byte that is not UTF-8, or is no character."""
    null = chunk.data.find(0)
    if null >= 0:
        raise chunk.error(NULLS, null)
    if chunk.data.isascii():
        return
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise chunk.error(foreign_byte(chunk.data, error.start, chunk.path), error.start) from error
