"""The JSON reader reads JSON arrays and JSON lines."""

from __future__ import annotations

import glob
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.text_lines import chunks, head, marked, numbered_lines, whole_text
from rankbench.data.tables.checks import checked
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing, remark

_OF_TEXTS = (pl.List(pl.String), pl.List(pl.List(pl.String)))
_LIST_IN_LIST = re.compile(rb"[\[,]\s*\[")
_SPACED = re.compile(rb'"\s+:')


class NdjsonReader(Reader):
    """JSON objects, one a line; the features of an item are a list ``x``.

    Prefer it to `json` for large logs, and for logs that a program appends to.
    """

    name: ClassVar[str] = "ndjson"
    source: ClassVar[str] = "jsonlines.org"
    extensions: ClassVar[tuple[str, ...]] = (".ndjson", ".jsonl")

    columns: str = Field(default="", description="Roles of columns of votes, as left=model_x,right=model_y.")

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
        # Polars takes a byte-order mark for a part of the first object.
        held = marked(existing(path))
        source: str | bytes = glob.escape(str(path)) if held is None else held
        nested = _check_keys(path)
        raw = pl.scan_ndjson(source, infer_schema_length=None)
        if not head(path, 1 << 16).strip():
            _check_lines(path)
        if nested and _some_lists_in_lists(raw):
            _check_lines(path)
            rows = [json.loads(line) for _, line in numbered_lines(path) if line.strip()]
            return _of_rows(rows, path, self.columns)
        return checked(raw, path=path, diagnose=lambda: _check_lines(path), columns=self.columns)


def _check_lines(path: Path) -> None:
    """Raise for the first line that is not a JSON object; Polars does not say where it is."""
    empty = True
    for row, line in numbered_lines(path):
        if not line.strip():
            continue
        empty = False
        try:
            _object(_DECODER.decode(line))
        except (ValueError, RecursionError) as error:
            raise _refusal(error, path, row, getattr(error, "colno", None)) from error
    if empty:
        raise InputError("the file has no rows", path=path)


def _check_keys(path: Path) -> bool:
    """Raise for the first line with an object that has a key twice: Polars takes the first one and says nothing.

    Returns whether a list may stand in a list.

    Only lines that may have one are parsed: which have two equal keys, wherever, or an escape of what can also
    be written without it.
    """
    nested = False
    for chunk in chunks(path):
        nested = nested or _LIST_IN_LIST.search(chunk.data) is not None
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
    return nested


def _refusal(error: ValueError | RecursionError, path: Path, row: int | None, column: int | None = None) -> InputError:
    """Return the error of a row that is no JSON, or no object."""
    said = "the values are nested too deeply" if isinstance(error, RecursionError) else str(error)
    said = f"not JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else said
    return InputError(said, path=path, row=row, column=column)


_NO_OBJECT = "a row must be a JSON object, not a {}"


def _object(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(_NO_OBJECT.format(type(row).__name__))
    return row


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


_DECODER = json.JSONDecoder(parse_constant=no_constant, parse_float=finite_number, object_pairs_hook=distinct_keys)

_LM_EVAL = (
    ". Results of lm-eval are one model's: write one table of all models, scores.csv, with columns model, task and "
    "score, and rank it: rankbench rank scores.csv"
)


class JsonReader(Reader):
    """A JSON array with an object a row, or an object with a list a column; it is held in memory.

    Other values in rows than single ones and lists of these, as ``conv_metadata`` of LMArena's votes, are no columns.
    rankbench reads a file with an object on each line as NDJSON. Rows in errors count the objects from 1; where the
    text is no JSON they are lines.

    Prefer it for files that are published so, such as votes of LMArena.
    """

    name: ClassVar[str] = "json"
    source: ClassVar[str] = "RFC 8259"
    extensions: ClassVar[tuple[str, ...]] = (".json",)

    columns: str = Field(default="", description="Roles of columns of votes, as left=model_x,right=model_y.")

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
        first = head(existing(path), 1 << 16).lstrip()
        if first[:1] != b"[" and _an_object_a_line(first):
            return NdjsonReader(columns=self.columns).scan(path)
        return _of_rows(_rows(whole_text(path), path), path, self.columns)


def _of_rows(rows: list[dict[str, Any]], path: Path, columns: str) -> pl.LazyFrame:
    """Return the table of objects that are in memory."""
    lines, nested = list[str](), set[str]()
    for row in rows:
        deep = {name for name, value in row.items() if _holds_object(value)}
        nested |= deep
        lines.append(json.dumps({name: _plain(value) for name, value in row.items() if name not in deep}))
    raw = pl.scan_ndjson("\n".join(lines).encode(), infer_schema_length=None)
    if not (kept := [name for name in raw.collect_schema() if name not in nested]):
        raise InputError("the file has no rows with values in them", path=path)
    return checked(raw.select(kept), path=path, columns=columns)


def _some_lists_in_lists(raw: pl.LazyFrame) -> bool:
    """Return whether lists of texts hold lists in some places, which Polars reads as texts or cannot read."""
    try:
        lists = {name: dtype for name, dtype in raw.collect_schema().items() if dtype in _OF_TEXTS}
    except pl.exceptions.PolarsError:
        return False
    opens = pl.element().str.starts_with("[")
    asked = [
        pl.col(name).list.eval(opens).list.any().any() if dtype == _OF_TEXTS[0] else pl.col(name).list.len().max() < 0
        for name, dtype in lists.items()
    ]
    try:
        return bool(asked) and any(raw.select(asked).collect(engine="streaming").row(0))
    except pl.exceptions.PolarsError:
        return True


def _holds_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))


def _plain(value: object) -> object:
    """Return a value that a column can hold: lists with lists in them, as rankings with ties, are JSON texts."""
    return json.dumps(value) if isinstance(value, list) and any(isinstance(one, list) for one in value) else value


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
            remark(f"the file holds {count_text(len(rows), 'row')} of a data set of {total:,}")
        return [[row["row"] for row in rows]]
    return [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]


def _rows(text: str, path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file's text, as objects.

    Raises
    ------
    InputError
        It is no JSON, with line and column; or no rows, with the row.
    """
    try:
        found = _DECODER.decode(text)
        rows = found if isinstance(found, list) else list(_of_columns(_object(found), path))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise _refusal(error, path, getattr(error, "lineno", None), getattr(error, "colno", None)) from error
    if not rows:
        raise InputError("the file has no rows", path=path)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(_NO_OBJECT.format(type(row).__name__), path=path, row=number)
    return rows


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
        yield from inside[0]
        return
    if not _are_columns(found):
        raise InputError(
            f"the file is one object with {listed(list(found))}, neither rows nor columns of equal length: write an "
            "array with an object a row" + (_LM_EVAL if isinstance(found.get("results"), dict) else ""),
            path=path,
        )
    columns = [list(value.values()) if isinstance(value, dict) else value for value in found.values()]
    yield from (dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True))
