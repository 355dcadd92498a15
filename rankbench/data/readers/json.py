"""JSON and JSON lines."""

from __future__ import annotations

import glob
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from rankbench.core.text import listed, short_repr
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing, remark

if TYPE_CHECKING:
    import polars as pl


_SPACED = re.compile(rb'"\s+:')


class NdjsonReader(Reader):
    """JSON objects, one a line; the features of an item are a list ``x``."""

    name: ClassVar[str] = "ndjson"
    source: ClassVar[str] = "jsonlines.org"
    extensions: ClassVar[tuple[str, ...]] = (".ndjson", ".jsonl")

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons."""
        return b"".join(
            b'{"query_id": "%s", "winner": "%s", "loser": "%s", "weight": 1.5}\n' % row
            for row in ((b"a", b"x", b"y"), (b"a", b"y", b"z"), (b"b", b"u", b"v"))
        )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is a JSON object."""
        try:
            return isinstance(json.loads(head.split(b"\n", 1)[0]), dict)
        except (ValueError, RecursionError):
            return False

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        import polars as pl

        from rankbench.data.readers.text_lines import head, marked
        from rankbench.data.tables.checks import checked

        # Polars takes a byte-order mark for a part of the first object.
        held = marked(existing(path))
        source: str | bytes = glob.escape(str(path)) if held is None else held
        _check_keys(path)
        raw = pl.scan_ndjson(source, infer_schema_length=None)
        if not head(path, 1 << 16).strip():
            _check_lines(path)
        return checked(raw, path=path, diagnose=lambda: _check_lines(path), columns=self.columns)


def _check_lines(path: Path) -> None:
    """Raise for the first line that is not a JSON object; Polars does not say where it is."""
    from rankbench.data.readers.text_lines import numbered_lines

    empty = True
    for row, line in numbered_lines(path):
        if not line.strip():
            continue
        empty = False
        try:
            found = json.loads(
                line, parse_constant=no_constant, parse_float=finite_number, object_pairs_hook=distinct_keys
            )
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON: {error.msg}", path=path, row=row, column=error.colno) from error
        except RecursionError as error:
            raise InputError("the values are nested too deeply", path=path, row=row) from error
        except ValueError as error:
            raise InputError(str(error), path=path, row=row) from error
        if not isinstance(found, dict):
            raise InputError(f"a line must be a JSON object, not {type(found).__name__}", path=path, row=row)
    if empty:
        raise InputError("the file has no rows", path=path)


def _check_keys(path: Path) -> None:
    """Raise for the first line with an object that has a key twice: Polars takes the first one and says nothing.

    Only lines that may have one are parsed: which have two equal keys, wherever, or an escape of what can also
    be written without it.
    """
    import polars as pl

    from rankbench.data.readers.text_lines import chunks

    for chunk in chunks(path):
        texts = pl.Series(chunk.data.decode("utf-8").split("\n"), dtype=pl.String)
        if _SPACED.search(chunk.data):
            texts = texts.str.replace_all(r'"\s+:', '":')
        keys = texts.str.extract_all(r'"(?:[^"\\]|\\.)*":')
        odd = (keys.list.len() != keys.list.n_unique()) | texts.str.contains(r"\\[u/]")
        for row in odd.arg_true():
            try:
                json.loads(texts[row], object_pairs_hook=distinct_keys)
            except _TwiceError as error:
                raise InputError(str(error), path=path, row=chunk.line + row) from error
            except (ValueError, RecursionError):
                continue  # Polars refuses it, and `_check_lines` says where


class _TwiceError(ValueError):
    """A key is twice in one object."""


def distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of these pairs; a key that is there twice is a `ValueError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise _TwiceError(f"the key {short_repr(twice)} is there twice; remove or rename one")
    return found


def no_constant(name: str) -> float:
    """Refuse what JSON has no word for, as NaN."""
    raise ValueError(f"{name} is not a finite number")


def finite_number(text: str) -> float:
    """Return a number, which must be finite."""
    number = float(text)
    return number if math.isfinite(number) else no_constant(text)


_TOGETHER = 8192
"""Rows that become a frame together."""

_SPACE = " \t\r\n"

_LM_EVAL = (
    ". Results of lm-eval are one model's: write one table of all models, scores.csv, with columns model, task and "
    "score, and rank it: rankbench rank scores.csv"
)


class JsonReader(Reader):
    """A JSON array with an object a row, read piece by piece; or an object with a list a column.

    What rows have in them besides single values and lists of these, as ``conv_metadata`` of LMArena's votes, is no
    column. A file with an object on each line is read as NDJSON is. Rows in errors count the objects from 1.
    """

    name: ClassVar[str] = "json"
    source: ClassVar[str] = "RFC 8259"
    extensions: ClassVar[tuple[str, ...]] = (".json",)

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons."""
        rows = (("a", "x", "y"), ("a", "y", "z"), ("b", "u", "v"))
        return json.dumps([{"query_id": q, "winner": w, "loser": o, "more": {"n": 1}} for q, w, o in rows]).encode()

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first character opens an array with something in it that JSON has."""
        return head.lstrip()[:1] == b"[" and head.lstrip()[1:].lstrip()[:1] in (b"{", b"[", b"]", b"")

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        import polars as pl
        from polars.io.plugins import register_io_source

        from rankbench.data.readers.frame_source import io_source
        from rankbench.data.readers.text_lines import head
        from rankbench.data.tables.checks import checked

        first = head(existing(path), 1 << 16).lstrip()
        if first[:1] != b"[" and _an_object_a_line(first):
            return NdjsonReader(columns=self.columns).scan(path)
        kinds: dict[str, set[str]] = {}
        for row in _rows(path):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_kind(value))
        kept = {name: _dtype(found) for name, found in kinds.items() if "nested" not in found}
        if not kept:
            raise InputError("the file has no rows with values in them", path=path)

        def batches() -> Iterator[pl.DataFrame]:
            rows = _rows(path)
            while together := list(islice(rows, _TOGETHER)):
                yield _frame(together, kept)

        return checked(register_io_source(io_source(batches), schema=pl.Schema(kept)), path=path, columns=self.columns)


def _an_object_a_line(first: bytes) -> bool:
    """Return whether a file begins with an object of one line that is not one of columns."""
    line = first.split(b"\n", 1)[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not _are_columns(found) and len(_rows_inside(found)) != 1


def _are_columns(found: Mapping[str, Any]) -> bool:
    sizes = {len(value) if isinstance(value, list | dict) else -1 for value in found.values()}
    return len(sizes) == 1 and sizes != {-1}


class _Text:
    """The text of a file, as much of it as is needed, of which what was read is forgotten."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self.pieces, self.text, self.at = pieces, "", 0
        self.decoder = json.JSONDecoder(
            parse_constant=no_constant, parse_float=finite_number, object_pairs_hook=distinct_keys
        )

    def more(self) -> bool:
        """Read on; return whether there was more."""
        piece = next(self.pieces, None)
        self.text, self.at = self.text[self.at :] + (piece or ""), 0
        return piece is not None

    def character(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> Any:
        """Return the next value."""
        self.character()
        while True:
            try:
                found, end = self.decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError:
                if not self.more():
                    raise
                continue
            length = end - self.at
            # Digits may go on in the next piece.
            if end < len(self.text) or not self.more():
                self.at += length
                return found


def _rows_inside(found: Mapping[str, Any]) -> list[list[Any]]:
    """Return the lists of rows that an object holds; the dataset server of Hugging Face wraps each row of its one."""
    rows = found.get("rows")
    if (
        isinstance(rows, list)
        and rows
        and all(isinstance(row, dict) and isinstance(row.get("row"), dict) for row in rows)
    ):
        total = found.get("num_rows_total", len(rows))
        if total != len(rows):
            remark(f"the file holds {len(rows):,} rows of a data set of {total:,}")
        return [[row["row"] for row in rows]]
    return [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, as objects.

    Raises
    ------
    InputError
        It is no JSON, or no rows; with the row.
    """
    from rankbench.data.readers.text_lines import pieces

    text, row = _Text(pieces(path)), 0
    try:
        if text.character() == "{":
            for found in _of_columns(text.value(), path):
                row += 1
                yield found
        elif text.character() == "[":
            text.at += 1
            while text.character() not in ("]", ""):
                if row:
                    _expect(text, ",")
                found = text.value()
                row += 1
                if not isinstance(found, dict):
                    what = type(found).__name__
                    raise InputError(f"an entry must be a JSON object, not a {what}", path=path, row=row)
                yield found
            _expect(text, "]")
        if text.character():
            _expect(text, "")
    except RecursionError as error:
        raise InputError("the values are nested too deeply", path=path, row=row + 1) from error
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, row=row + 1) from error
    except ValueError as error:
        raise InputError(str(error), path=path, row=row + 1) from error
    if not row:
        raise InputError("the file has no rows", path=path)


def _expect(text: _Text, character: str) -> None:
    found = text.character()
    if found != character or not character:
        wanted = repr(character) if character else "the end"
        raise json.JSONDecodeError(f"{found!r} where {wanted} is to stand" if found else "it ends too early", "", 0)
    text.at += 1


def _of_columns(found: Any, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an object: of columns, by name, or with the rows in it, as pandas and others write it."""
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        names = [str(name) for name in found["columns"]]
        for row in found["data"]:
            if not isinstance(row, list) or len(row) != len(names):
                raise ValueError("a row has not as many values as there are columns")
            yield dict(zip(names, row, strict=True))
        return
    inside = _rows_inside(found)
    if len(inside) == 1:
        for row in inside[0]:
            if not isinstance(row, dict):
                raise ValueError(f"an entry must be a JSON object, not a {type(row).__name__}")
            yield row
        return
    if not _are_columns(found):
        raise InputError(
            f"the file is one object with {listed(list(found))}, neither rows nor columns of equal length: write an "
            "array with an object a row" + (_LM_EVAL if isinstance(found.get("results"), dict) else ""),
            path=path,
        )
    columns = [list(value.values()) if isinstance(value, dict) else value for value in found.values()]
    yield from (dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True))


def _kind(value: object) -> str:
    """Return what a value is: nothing, a bool, an int, a float, a text, a list of these, or something nested."""
    if isinstance(value, list):
        inner = {_kind(entry) for entry in value} - {"nothing"}
        if not inner:
            return "empty"
        if inner <= {"int", "float"}:
            return "floats" if "float" in inner else "ints"
        if inner == {"text"}:
            return "texts"
        return "nested" if "nested" in inner else "written"
    if isinstance(value, dict):
        return "nested"
    if isinstance(value, int) and value.bit_length() > 63:
        return "text"
    names = {bool: "bool", int: "int", float: "float", str: "text"}
    return names.get(type(value), "nothing")


def _dtype(kinds: set[str]) -> pl.DataType:
    """Return the type of a column of values of some kinds; what is mixed is text."""
    import polars as pl

    some = kinds - {"nothing"}
    if not some:
        return pl.Null()
    if some <= {"ints", "floats", "empty"}:
        return pl.List(pl.Int64() if some <= {"ints", "empty"} else pl.Float64())
    if some <= {"texts", "empty"}:
        return pl.List(pl.String())
    if some == {"bool"}:
        return pl.Boolean()
    if some <= {"int", "float"}:
        return pl.Int64() if some == {"int"} else pl.Float64()
    return pl.String()


def _frame(rows: Sequence[Mapping[str, Any]], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    import polars as pl

    columns = []
    for name, dtype in types.items():
        values = [row.get(name) for row in rows]
        if dtype == pl.String:
            values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        columns.append(pl.Series(name, values, dtype, strict=False))
    return pl.DataFrame(columns)
