"""JSON is read one value at a time, so that a file of any length takes little memory."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankbench.core.text import short_repr
from rankbench.data.readers.unpacked import blocks, foreign_byte
from rankbench.errors import InputError

_LONGEST = 32 << 20
"""Characters of one value; in memory it may take thirty times as much."""

_TOKEN = 16
"""More characters than any word or escape of JSON has: an error so near the end may be of a value that is cut there."""

_BETWEEN = re.compile(r"[ \t\n\r]*,[ \t\n\r]*(?=\{)")
_SPACE = re.compile(r"[ \t\n\r]*")
NO_OBJECT = "a row must be a JSON object, not a {}"
_TYPES = {"[": "list", '"': "str", "t": "bool", "f": "bool", "n": "NoneType"}


class JsonRefusal(ValueError):
    """A key is twice in one object, or a text is none."""


def distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of these pairs; a key that is there twice is a `JsonRefusal`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise JsonRefusal(f"the key {short_repr(twice)} is there twice; remove or rename one")
    if not (keys := "".join(found)).isascii():
        json_bytes(keys)
    return found


def json_bytes(value: object) -> bytes:
    """Return a value as JSON in UTF-8.

    Raises
    ------
    JsonRefusal
        A text has half of a character in it: Polars would read every half as one and the same.
    """
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise JsonRefusal(
            f"a text has {half} in it, which is half of a character: write both halves, or leave it out"
        ) from error


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def no_constant(name: str) -> float:
    """Raise for constants that are not JSON, such as NaN."""
    raise ValueError(f"{name} is not a finite number")


def finite_number(text: str) -> float:
    """Return a number, which must be finite."""
    number = float(text)
    return number if math.isfinite(number) else no_constant(text)


DECODER = json.JSONDecoder(parse_constant=no_constant, parse_float=finite_number, object_pairs_hook=distinct_keys)


def refusal(error: ValueError | RecursionError, path: Path, row: int | None, column: int | None = None) -> InputError:
    """Return the error of a row that is no JSON, or no object."""
    said = "the values are nested too deeply" if isinstance(error, RecursionError) else str(error)
    said = f"not JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else said
    return InputError(said, path=path, row=row, column=column)


class JsonText:
    """The text of a JSON file, from where it has been read to.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path, self.pieces = path, _texts(path)
        self.text, self.at, self.ended = "", 0, False
        self.line, self.column = 1, 0  # of the first character that is held

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of an array.

        Raises
        ------
        InputError
            It is no JSON, with line and column; an entry is no object, with its number.
        """
        self._expect("[")
        if self.peek() == "]":
            self.at += 1
        else:
            number = 0
            while True:
                number += 1
                if (first := self.peek()) != "{" and (first in _TYPES or first.isdigit() or first == "-"):
                    what = NO_OBJECT.format(_TYPES.get(first, "number"))
                    raise InputError(what, path=self.path, row=number)
                yield self.value()
                while (between := _BETWEEN.match(self.text, self.at)) is not None:
                    self.at = between.end()
                    number += 1
                    yield self._value()
                if self.peek() == "]":
                    self.at += 1
                    break
                self._expect(",")
        self.end()

    def value(self) -> Any:
        """Return the value that comes next."""
        self.peek()
        return self._value()

    def _value(self) -> Any:
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut = error.pos > len(self.text) - _TOKEN or error.msg.startswith("Unterminated string")
                if self.ended or not cut:
                    raise self._wrong(error.msg, error.pos) from error
            except (ValueError, RecursionError) as error:
                raise refusal(error, self.path, *self._place(self.at)) from error
            else:
                if end < len(self.text) or self.ended:  # else a number may go on
                    self.at = end
                    return value
            self._more(len(self.text) - self.at)
            if len(self.text) - self.at > _LONGEST:
                raise InputError(
                    f"a value of more than {_LONGEST >> 20} MB begins here; write an array with an object a row, or "
                    "an object a line (NDJSON)",
                    path=self.path,
                    row=self._place(self.at)[0],
                )

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self._more()

    def end(self) -> None:
        """Raise if anything follows the last value."""
        if self.peek():
            raise self._wrong("Extra data", self.at)

    def _expect(self, sign: str) -> None:
        if self.peek() != sign:
            raise self._wrong(f"Expecting {sign!r} delimiter", self.at)
        self.at += 1

    def _more(self, size: int = 1) -> None:
        """Read on until `size` more characters are held, or the end is reached, and drop the characters read."""
        self.line, self.column = self._place(self.at)
        self.column -= 1
        parts, self.at = [self.text[self.at :]], 0
        while size > 0 and not self.ended:
            piece = next(self.pieces, None)
            self.ended = piece is None
            parts.append(piece or "")
            size -= len(piece or "")
        self.text = "".join(parts)

    def _place(self, at: int) -> tuple[int, int]:
        """Return the line and the column of a held character, from 1."""
        lines = self.text.count("\n", 0, at)
        before = at - self.text.rfind("\n", 0, at) - 1 if lines else self.column + at
        return self.line + lines, before + 1

    def _wrong(self, what: str, at: int) -> InputError:
        line, column = self._place(at)
        return InputError(f"not JSON: {what}", path=self.path, row=line, column=column)


def _texts(path: Path) -> Iterator[str]:
    """Yield the text of a file in pieces; see `chunks` for errors."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in blocks(path, 1 << 20):
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(foreign_byte(error.object, error.start, path), path=path) from error


_MOST_CELLS = 16
"""Entries of a list that become columns; a longer one is no row's own value."""


def rows_at(value: Any, path: str, beside: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows at a path, each with the values beside the path.

    Parameters
    ----------
    value : object
        A value of JSON.
    path : str
        Steps with dots between them: a key; ``*name``, each entry of an object or a list, whose key or number is the
        column of that name; ``key!``, a text of JSON, which is parsed.
    beside : mapping of str to object
        Columns of all rows.

    Yields
    ------
    dict of str to object
        Objects within a row have their own columns: ``score.ft.0`` is the first entry of a list ``ft`` in ``score``.
    """
    if not path:
        yield {**beside, **(flattened(value) if isinstance(value, dict) else {"value": value})}
        return
    step, _, rest = path.partition(".")
    if step.startswith("*"):
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in entries:
            yield from rows_at(one, rest, {**beside, step[1:]: str(key)})
        return
    key = step.removesuffix("!")
    if isinstance(value, dict) and key in value:
        beside = {**beside, **{name: one for name, one in value.items() if not isinstance(one, dict | list)}}
        yield from rows_at(json.loads(value[key]) if step.endswith("!") else value[key], rest, beside)


def flattened(value: Mapping[str, Any], prefix: str = "", longest: int = _MOST_CELLS) -> dict[str, Any]:
    """Return an object with the values of the objects, and of lists of `longest` entries, in it, by names with dots.

    Longer lists are left out; with a negative number no list is.
    """
    found: dict[str, Any] = {}
    for key, one in value.items():
        inner = dict(enumerate(one)) if isinstance(one, list) and len(one) <= longest else one
        if isinstance(inner, dict):
            found |= flattened({str(k): v for k, v in inner.items()}, f"{prefix}{key}.", longest)
        elif longest < 0 or not isinstance(one, list):
            found[prefix + key] = one
    return found


def shape_of(value: Any, depth: int = 2) -> str:
    """Return an object's shape as a short text: ``{results: {arc: {..}, ..}, model: oak}``."""
    if isinstance(value, dict):
        inner = [f"{key}: {shape_of(one, depth - 1)}" for key, one in list(value.items())[:3]] if depth else [".."]
        return "{" + ", ".join([*inner, *([".."] if len(value) > 3 and depth else [])]) + "}"
    if isinstance(value, list):
        return f"[{shape_of(value[0], depth - 1) if value and depth else '..'}, ..]"
    return str(value)[:20]
