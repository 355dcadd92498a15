"""Where a CSV file is malformed: what Polars knows is only that it is."""

from __future__ import annotations

import re
from pathlib import Path

from rankbench.data.readers.text_lines import chunks, numbered_lines
from rankbench.errors import InputError

__all__ = ["blank_end", "check_lines"]


_BLANK = re.compile(rb"(?:\A|\n)(?:[ \r]*\n|[ \r]+\Z)")
"""A line of a chunk, which holds whole lines, with nothing in it but spaces: no separator is one."""


def check_lines(path: Path, separator: str, skipped: int = 0) -> None:
    """Raise for the first row of a CSV file that is not one of RFC 4180.

    Parameters
    ----------
    path : Path
        Text in UTF-8.
    separator : str
        One character.
    skipped : int
        Lines before the first row.

    Raises
    ------
    InputError
        With its line: a stray quote, a quote that is never closed, or more fields than
        the header has.
    """
    scanner = _Scanner(path, separator)
    for number, line in numbered_lines(path):
        if number <= skipped:
            continue
        scanner.feed(line.removesuffix("\r"), number)
    if scanner.quoted:
        raise scanner.error("a quote is opened here and never closed", scanner.opened)


def blank_end(path: Path) -> bool:
    """Return whether blank lines stand at the end of a CSV file.

    Raises
    ------
    InputError
        One stands before other rows: with its line. Within quotes a line may be blank.
    """
    if not any(_BLANK.search(chunk.data) for chunk in chunks(path)):
        return False
    quoted, blank = False, 0
    for number, line in numbered_lines(path):
        if not quoted and not line.strip(" \r"):
            blank = blank or number
        elif blank:
            raise InputError("the line is blank; remove it", path=path, row=blank)
        quoted ^= line.count('"') % 2 == 1
    return blank > 0


class _Scanner:
    def __init__(self, path: Path, separator: str) -> None:
        self.path, self.separator = path, separator
        self.quoted, self.opened = False, 0
        self.fields, self.header = 0, 0

    def error(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, row=line)

    def feed(self, line: str, number: int) -> None:
        """Take a line, which may begin within a quoted field."""
        if not self.quoted:
            self.fields = 1
        if '"' not in line:
            self.fields += 0 if self.quoted else line.count(self.separator)
        else:
            self._scan(line, number)
        if self.quoted or not line:
            return
        self.header = self.header or self.fields
        if self.fields > self.header:
            raise self.error(f"the row has {self.fields} fields, the header {self.header}", number)

    def _scan(self, line: str, number: int) -> None:
        start, closed = not self.quoted, False
        at = 0
        while at < len(line):
            character = line[at]
            if self.quoted:
                if character == '"':
                    if line[at + 1 : at + 2] == '"':
                        at += 1
                    else:
                        self.quoted, closed = False, True
            elif character == self.separator:
                self.fields, start, closed = self.fields + 1, True, False
            elif closed or (character == '"' and not start):
                what = 'a stray quote: a field that holds one is written "like ""this"""'
                raise self.error(what, number)
            elif character == '"':
                self.quoted, self.opened, start = True, number, False
            else:
                start = False
            at += 1
