"""Text that is not UTF-8: read where its first bytes say what it is, else named, with the command that converts it."""

from __future__ import annotations

import codecs
import io
import re
import shlex
from pathlib import Path
from typing import IO

from rankbench.errors import InputError
from rankbench.text import short_repr

__all__ = ["BOM", "foreign_byte", "in_utf8", "is_recoded"]

BOM = codecs.BOM_UTF8

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BLOCK = 1 << 16
_WORD = 40
"""Most bytes of a word that an error shows."""

_BLANK = re.compile(rb"[\s,;|\"]")


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
    name = _MARKS.get(first[:2])
    if name is not None:
        file.read(2)
        return io.BufferedReader(_Recoded(file, name, path))
    # Of Latin letters every other byte is zero, and no text in UTF-8 has such.
    zeros = [byte == 0 for byte in first]
    if zeros in ([False, True] * 2, [True, False] * 2):
        guess = "UTF-16LE" if zeros[1] else "UTF-16BE"
        raise InputError(
            f"it looks like UTF-16 without a byte-order mark; convert it: {_command(guess, path)}", path=path
        )
    return file


def is_recoded(file: IO[bytes]) -> bool:
    """Return whether `in_utf8` recodes a file."""
    return isinstance(file, io.BufferedReader) and isinstance(file.raw, _Recoded)


def foreign_byte(data: bytes, at: int, path: Path) -> str:
    """Return what is said of a byte that is not UTF-8: in which encoding it would be text, and how to convert the file.

    Parameters
    ----------
    data : bytes
        With the byte at `at`, and the word that it stands in.
    at : int
    path : path
    """
    begin = max((found.end() for found in _BLANK.finditer(data, max(0, at - _WORD), at)), default=max(0, at - _WORD))
    stop = _BLANK.search(data, at, at + _WORD)
    word = data[begin : stop.start() if stop else at + _WORD]
    said = f"byte 0x{data[at]:02x} is not UTF-8"
    try:
        text = word.decode("cp1252")
    except UnicodeDecodeError:
        return f"{said}; convert the file to UTF-8 (from Excel: save it as CSV UTF-8)"
    kind = "Windows-1252" if any(0x80 <= byte < 0xA0 for byte in word) else "Latin-1 or Windows-1252"
    return (
        f"{said}; if the file is {kind} this is {short_repr(text)}: {_command('WINDOWS-1252', path)} converts it (from "
        "Excel: save it as CSV UTF-8)"
    )


def _command(encoding: str, path: Path) -> str:
    name = shlex.quote(path.name)
    return f"iconv -f {encoding} -t UTF-8 {name} > {shlex.quote(f'utf8-{path.name}')}"


class _Recoded(io.RawIOBase):
    """UTF-16 read as UTF-8."""

    def __init__(self, file: IO[bytes], name: str, path: Path) -> None:
        self.file, self.path, self.rest = file, path, b""
        self.decoder = codecs.getincrementaldecoder(name)()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.file.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io.BufferedReader gives
        while not self.rest:
            block = self.file.read(_BLOCK)
            try:
                self.rest = self.decoder.decode(block, final=not block).encode()
            except UnicodeError as error:
                raise InputError(
                    f"the text is damaged or cut off: not all of it is UTF-16, as its first bytes say ({error})",
                    path=self.path,
                ) from error
            if not block:
                break
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        return count
