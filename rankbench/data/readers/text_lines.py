"""Text is read as whole lines with their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from rankbench.core.system import GB, free_memory
from rankbench.core.text import short_repr
from rankbench.data.readers.unpacked import blocks, foreign_byte
from rankbench.errors import InputError

_CHUNK = 8 << 20
_LONGEST_LINE = 64 << 20
_KEPT = 8
"""Bytes of memory that a byte of text takes in the rows of a reader that keeps them all."""

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


def chunks(path: Path, size: int = _CHUNK, *, kept: bool = False) -> Iterator[Chunk]:
    """Yield a file as whole lines, about `size` bytes at a time.

    A byte-order mark is stripped; line ends are left as they are.

    Parameters
    ----------
    path : Path
    size : int
    kept : bool
        Whether the caller keeps all rows in memory, as readers of formats do that have to be seen as a whole.

    Raises
    ------
    InputError
        More than there is memory for, where all is kept; bytes that are not UTF-8 or are 0, damaged compressed
        data, a line of more than 64 MB, an empty file.
    """
    line, rest, held = 1, list[bytes](), 0
    block, room, seen = b"", free_memory() if kept else None, 0
    for block in blocks(path, size):
        seen += len(block)
        if room is not None and seen * _KEPT > room:
            raise InputError(
                f"it holds more than {seen / GB:,.3f} GB of text. Files of this format are kept in memory, and "
                f"{room / GB:,.1f} GB are free: read it in parts",
                path=path,
            )
        if not (end := block.rfind(b"\n") + 1):
            rest.append(block)
            held += len(block)
            if held > _LONGEST_LINE:
                raise InputError(
                    f"the line is longer than {_LONGEST_LINE >> 20} MB; is this a text file?", path=path, row=line
                )
            continue
        chunk = Chunk(b"".join([*rest, block[:end]]), line, path)
        _check_utf8(chunk)
        yield chunk
        line += chunk.data.count(b"\n")
        rest, held = [block[end:]], len(block) - end
    if data := b"".join(rest):
        chunk = Chunk(data, line, path)
        _check_utf8(chunk)
        yield chunk
    if not block and line == 1:
        raise InputError("the file is empty", path=path)


def numbered_lines(path: Path, *, kept: bool = False) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line, without its newline; see `chunks`."""
    for chunk in chunks(path, kept=kept):
        texts = chunk.data.decode("utf-8").split("\n")
        if not texts[-1]:
            texts.pop()
        yield from enumerate(texts, chunk.line)


@dataclass(frozen=True)
class TextLine:
    """A line of a file that is kept in memory, without its newline.

    Attributes
    ----------
    text : str
    number : int
        From 1.
    path : Path
    """

    text: str
    number: int
    path: Path

    def error(self, message: str) -> InputError:
        """Return an error on the line."""
        return InputError(message, path=self.path, row=self.number)

    def until(self, at: int) -> TextLine:
        """Return the line up to its comment, which begins at a ``#``, without blanks around; -1: it has none.

        Raises
        ------
        InputError
            A letter follows: ``#Ann`` may be a name.
        """
        if at >= 0 and self.text[at + 1 : at + 2].isalnum():
            what = "may be a comment, or a name: a blank behind the # makes it a comment"
            raise self.error(f"{short_repr(self.text[at:])} {what}")
        return replace(self, text=(self.text[:at] if at >= 0 else self.text).strip())


def kept_lines(path: Path) -> Iterator[TextLine]:
    """Yield the lines of a file that are all kept; see `chunks`."""
    return (TextLine(text, number, path) for number, text in numbered_lines(path, kept=True))


def refuse_rows(rows: pl.DataFrame, bad: pl.Series, message: str, path: Path | None) -> None:
    """Raise for the first bad, or unknown, row; rows have the column ``line``.

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
