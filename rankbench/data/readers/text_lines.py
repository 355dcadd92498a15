"""Text is read as whole lines with their places, in any encoding, compressed or not."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from rankbench.core.text import short_repr
from rankbench.errors import InputError
from rankbench.interfaces.table_check import QUOTED, UNREADABLE

BOM = codecs.BOM_UTF8

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BLOCK = 1 << 16


def in_utf8(file: IO[bytes], path: Path) -> IO[bytes]:
    """Return a file's bytes in UTF-8: UTF-16 with a byte-order mark, as Excel's "Unicode text", is recoded.

    Parameters
    ----------
    file : file
        That can be looked into by ``peek``.
    path : path
        Named in errors.

    Raises
    ------
    InputError
        It is UTF-32, or looks like UTF-16 and has no mark.
    """
    first = file.peek(4)[:4]  # type: ignore[attr-defined]
    if first in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise InputError(f"it is UTF-32; convert it: {_command('UTF-32', path)}", path=path)
    if (name := _MARKS.get(first[:2])) is not None:
        file.read(2)
        return io.BufferedReader(_Pieces(_recoded(file, name, path), recoded=True))
    # Of Latin letters every other byte is zero, and no text in UTF-8 has such.
    zeros = [byte == 0 for byte in first]
    if zeros in ([False, True] * 2, [True, False] * 2):
        guess = "UTF-16LE" if zeros[1] else "UTF-16BE"
        raise InputError(
            f"it looks like UTF-16 without a byte-order mark; convert it: {_command(guess, path)}", path=path
        )
    return file


def foreign_byte(data: bytes, at: int, path: Path) -> str:
    """Return what is said of a byte that is not UTF-8: how to convert the file."""
    return (
        f"byte 0x{data[at]:02x} is not UTF-8; if the file is Latin-1 or Windows-1252, {_command('WINDOWS-1252', path)} "
        "converts it (from Excel: save it as CSV UTF-8)"
    )


def _command(encoding: str, path: Path) -> str:
    name = shlex.quote(path.name)
    return f"iconv -f {encoding} -t UTF-8 {name} > {shlex.quote(f'utf8-{path.name}')}"


class _Pieces(io.RawIOBase):
    """A file of bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes], *, recoded: bool = False) -> None:
        self.pieces, self.rest, self.recoded = pieces, b"", recoded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io.BufferedReader gives
        self.rest = self.rest or next(filter(None, self.pieces), b"")
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        return count


def _recoded(file: IO[bytes], name: str, path: Path) -> Iterator[bytes]:
    """Yield UTF-16 as UTF-8."""
    try:
        with file:
            for text in codecs.iterdecode(iter(lambda: file.read(_BLOCK), b""), name):
                yield text.encode()
    except UnicodeError as error:
        raise InputError(
            f"the text is damaged or cut off: not all of it is UTF-16, as its first bytes say ({error})", path=path
        ) from error


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
    """Open a file for reading, decompressing it by its first bytes; in UTF-8 if a mark says what it is."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", path=path) from error
    name = _packing(file.peek(8)[:8])  # type: ignore[attr-defined, unused-ignore]
    if not name:
        return in_utf8(file, path)
    with _unpacked(path):
        if name == "zstd":
            file.close()
            return in_utf8(io.BufferedReader(_Pieces(_lines(path))), path)
        if name == "zip":
            archive = zipfile.ZipFile(file)
            plain: Any = archive.open(_only_member(archive, path))
        else:
            plain = _UNPACK[name](file)
        return in_utf8(io.BufferedReader(plain), path)


def _packing(first: bytes) -> str:
    return next((name for name, mark in _PACKED.items() if first.startswith(mark)), "")


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [info.filename for info in archive.infolist() if not info.is_dir() and info.file_size]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise InputError(
            f"the archive holds {len(names)} files, and one is read: unzip {shlex.quote(path.name)}", path=path
        )
    return names[0]


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that Polars decompresses: of Zstandard, which the standard library cannot read yet."""
    for batch in pl.scan_lines(path, glob=False).collect_batches(maintain_order=True, engine="streaming"):
        yield "".join(f"{line}\n" for line in batch.to_series()).encode()


_PACKED = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zip": b"PK\3\4", "zstd": b"\x28\xb5\x2f\xfd"}
"""The first bytes of what is decompressed."""

_UNPACK: dict[str, Callable[[IO[bytes]], Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}

_SCANNED = ("", "gzip", "zstd")
"""Compressions that Polars reads by itself."""


def unpacked_name(path: Path) -> str:
    """Return a file's name without the ending of what it is compressed by; of a ZIP archive, the name of its file.

    Raises
    ------
    InputError
        A ZIP archive holds several files, or is damaged.
    """
    ending = path.suffix.lower()
    if ending == ".zip" and path.is_file():
        with _unpacked(path), zipfile.ZipFile(path) as archive:
            return Path(_only_member(archive, path)).name
    return path.stem if ending in (".gz", ".bz2", ".xz", ".zst") else path.name


def _read(file: IO[bytes], size: int, path: Path) -> bytes:
    with _unpacked(path):
        return file.read(size)


_DAMAGED: tuple[type[BaseException], ...] = (
    EOFError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    *UNREADABLE,
)
"""Errors for compressed data that cannot be read; zipfile raises `RuntimeError` where a password is needed."""


@contextmanager
def _unpacked(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        # bz2 raises an `OSError` that is not the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(
            f"the compressed data is damaged or cut off ({str(error).splitlines()[0][:QUOTED]}); fetch or "
            "compress the file again",
            path=path,
        ) from error


def head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes, decompressed, without a byte-order mark."""
    with _open(path) as file:
        return _read(file, size, path).removeprefix(BOM)


def marked(path: Path, *, utf8: bool = True) -> bytes | None:
    """Return all of a file that Polars cannot read in UTF-8, decompressed and without a byte-order mark; else None.

    Polars reads UTF-8 alone, plain or as gzip or Zstandard; with `utf8` for what takes the mark of UTF-8 for text.
    """
    with path.open("rb") as plain:
        scanned = _packing(plain.read(8)) in _SCANNED
    with _open(path) as file:
        recoded = isinstance(file, io.BufferedReader) and isinstance(file.raw, _Pieces) and file.raw.recoded
        if recoded or not scanned:
            return _read(file, -1, path).removeprefix(BOM)
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
            if not (end := block.rfind(b"\n") + 1):
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


def whole_text(path: Path) -> str:
    """Return the text of a file, decompressed, without a byte-order mark.

    Raises
    ------
    InputError
        Bytes that are not UTF-8, damaged gzip.
    """
    with _open(path) as file:
        data = _read(file, -1, path).removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(foreign_byte(data, error.start, path), path=path) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line, without its newline; see `chunks` for errors."""
    for chunk in chunks(path):
        texts = chunk.data.decode("utf-8").split("\n")
        if not texts[-1]:
            texts.pop()
        yield from enumerate(texts, chunk.line)


def refuse_rows(rows: pl.DataFrame, bad: pl.Series, message: str, path: Path | None) -> None:
    """Raise for the first of the bad rows, or unknown ones, which have the column ``line``.

    Parameters
    ----------
    rows : DataFrame
    bad : Series of bool
    message : str
        ``{name}`` stands for the row's value of the column `name`, as it is shown.
    path : Path, optional
    """
    for row in rows.filter(bad.fill_null(True)).head(1).iter_rows(named=True):
        shown = {name: short_repr(value) for name, value in row.items()}
        raise InputError(message.format_map(shown), path=path, row=row["line"])


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
