"""The JSON reader reads JSON arrays and JSON lines."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rankbench.core.text import count_text
from rankbench.data.readers.json_values import (
    DECODER,
    NO_OBJECT,
    JsonRefusal,
    JsonText,
    distinct_keys,
    flattened,
    json_bytes,
    refusal,
    rows_at,
    shape_of,
)
from rankbench.data.readers.text_lines import chunks, numbered_lines
from rankbench.data.readers.unpacked import head, held, scannable
from rankbench.data.tables.checks import TableReader
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import MOST_COLUMNS, TOO_WIDE, RawTable

_OF_TEXTS = (pl.List(pl.String), pl.List(pl.List(pl.String)))
_LIST_IN_LIST = re.compile(rb"[\[,]\s*\[")
_SPACED = re.compile(rb'"\s+:')


class NdjsonReader(TableReader):
    """JSON objects, one a line; the features of an item are a list ``x``.

    Prefer it to `json` for large logs, and for logs that a program appends to.
    """

    name: ClassVar[str] = "ndjson"
    source: ClassVar[str] = "jsonlines.org"
    extensions: ClassVar[tuple[str, ...]] = (".ndjson", ".jsonl")

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
        return _first_object(head) is not None

    def raw(self, path: Path) -> RawTable:
        """Return the table; see `Reader.raw`."""
        nested = _check_keys(existing(path))
        raw = _scanned(scannable(path))
        if not head(path, 1 << 16).strip():
            _check_lines(path)
        if nested and _some_lists_in_lists(raw):
            _check_lines(path)
            rows = (json.loads(line) for _, line in numbered_lines(path) if line.strip())
            return replace(_of_rows(rows, path), nested=nested_rows([path]))
        return RawTable(raw, path, diagnose=lambda: _check_lines(path), nested=nested_rows([path]))


def _check_lines(path: Path) -> None:
    """Raise for the first line that is not a JSON object; Polars does not name the line."""
    empty = True
    for row, line in numbered_lines(path):
        if not line.strip():
            continue
        empty = False
        try:
            if not isinstance(found := DECODER.decode(line), dict):
                raise ValueError(NO_OBJECT.format(type(found).__name__))
            json_bytes(found)
        except (ValueError, RecursionError) as error:
            raise refusal(error, path, row, getattr(error, "colno", None)) from error
    if empty:
        raise InputError("the file has no rows", path=path)


def _check_keys(path: Path) -> bool:
    """Raise for the first line with an object that has a key twice: Polars silently takes the first one.

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
        for row in (keys.list.len() > MOST_COLUMNS).arg_true().head(1):
            raise InputError(TOO_WIDE.format(f"{len(keys[row]):,}"), path=path, row=chunk.line + row)
        odd = (keys.list.len() != keys.list.n_unique()) | texts.str.contains(r"\\[u/]")
        for row in odd.arg_true():
            try:
                json_bytes(json.loads(texts[row], object_pairs_hook=distinct_keys))
            except JsonRefusal as error:
                raise InputError(str(error), path=path, row=chunk.line + row) from error
            except (ValueError, RecursionError):
                continue  # Polars refuses it, and `_check_lines` says where
    return nested


class JsonReader(TableReader):
    """A JSON array with an object a row, or an object with a list a column.

    Other values in rows than single ones and lists of these, as ``conv_metadata`` of LMArena's votes, are no columns.
    rankbench reads a file with an object on each line as NDJSON. Rows in errors count the objects from 1; where the
    text is no JSON they are lines.

    Prefer it for files that are published so, such as votes of LMArena.
    """

    name: ClassVar[str] = "json"
    source: ClassVar[str] = "RFC 8259"
    extensions: ClassVar[tuple[str, ...]] = (".json",)

    @classmethod
    def example(cls) -> bytes:
        """Return three comparisons."""
        rows = (("a", "x", "y"), ("a", "y", "z"), ("b", "u", "v"))
        return json.dumps([{"query_id": q, "winner": w, "loser": o, "more": {"n": 1}} for q, w, o in rows]).encode()

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first character opens an array with something in it that JSON has."""
        return head.lstrip()[:1] == b"[" and head.lstrip()[1:].lstrip()[:1] in (b"{", b"[", b"]", b"")

    def raw(self, path: Path) -> RawTable:
        """Return the table; see `Reader.raw`."""
        first = head(existing(path), 1 << 16).lstrip()
        line = _first_object(first)
        if line is not None and not _are_columns(line) and len(_rows_inside(line)) != 1:
            return NdjsonReader().raw(path)
        text = JsonText(path)
        if text.peek() == "[":
            return replace(_of_rows(text.rows(), path), nested=nested_rows([path]))
        notes = list[str]()
        try:
            found = _of_rows(_rows_of_object(text, notes), path)
            return replace(found, nested=nested_rows([path]), notes=tuple(notes))
        except InputError as error:
            if error.row is not None:
                raise
            return RawTable(pl.LazyFrame(), path, nested=nested_rows([path]), refusal=error)


def nested_rows(files: Sequence[Path]) -> Callable[[str], RawTable]:
    """Return a reader of the rows at a path of JSON files: see `rankbench.data.readers.json_values.rows_at`.

    Each has the columns ``_row``, the number of the entry of its file, and ``_folder`` and ``_file``, their names.
    """

    def entries(file: Path) -> Iterator[Any]:
        text = JsonText(file)
        if text.peek() == "[":
            yield from text.rows()
        while text.peek():
            yield text.value()

    def found(path: str) -> Iterator[dict[str, Any]]:
        for file in files:
            own = {"_folder": file.resolve().parent.name, "_file": file.name.split(".", 1)[0]}
            some = False
            for number, entry in enumerate(entries(file)):
                for row in rows_at(entry, path, {"_row": str(number), **own}):
                    some = True
                    yield row
                if not some and number >= _ENTRIES:
                    break

    def table(path: str) -> RawTable:
        if next(found(path), None) is None:
            raise InputError(f"there are no rows at {path}", path=files[0])
        several = files[0] if len(files) == 1 else files[0].parent
        return replace(_of_rows(found(path), several), locate=lambda row: (several, None))

    return table


_ENTRIES = 5
"""Entries of a file that are looked through for rows at a path; others have none either, then."""


def _scanned(source: Path | bytes) -> pl.LazyFrame:
    """Return the objects of lines, from a file or from memory."""
    return pl.scan_ndjson(glob.escape(str(source)) if isinstance(source, Path) else source, infer_schema_length=None)


def _of_rows(rows: Iterable[dict[str, Any]], path: Path) -> RawTable:
    """Return the table of objects, which are held as lines."""
    nested = set[str]()

    def lines() -> Iterator[bytes]:
        number = 0
        for number, row in enumerate(rows, 1):
            try:
                if any(isinstance(value, list | dict) for value in row.values()):
                    row = flattened(row, longest=-1)
                    deep = {name for name, value in row.items() if _holds_object(value)}
                    nested.update(deep)
                    row = {name: _plain(value) for name, value in row.items() if name not in deep}
                line = json_bytes(row)
            except JsonRefusal as error:
                raise InputError(str(error), path=path, row=number) from error
            yield line + b"\n"
        if not number:
            raise InputError("the file has no rows", path=path)

    raw = _scanned(held(lines(), str(path)))
    if not (kept := [name for name in raw.collect_schema() if name not in nested]):
        raise InputError("the file has no rows with values in them", path=path)
    return RawTable(raw.select(kept), path)


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
    tied = isinstance(value, list) and any(isinstance(one, list) for one in value)
    return json_bytes(value).decode() if tied else value


def _first_object(first: bytes) -> dict[str, Any] | None:
    """Return the object that the first line is, or None."""
    try:
        found = json.loads(first.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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
        return [[row["row"] for row in rows]]
    return [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]


def _rows_of_object(text: JsonText, notes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file that is one object.

    Raises
    ------
    InputError
        It is no JSON, with line and column; or no rows, with the row.
    """
    found = text.value()
    text.end()
    if not isinstance(found, dict):
        raise InputError(NO_OBJECT.format(type(found).__name__), path=text.path)
    for number, row in enumerate(_of_columns(found, text.path, notes), 1):
        if not isinstance(row, dict):
            raise InputError(NO_OBJECT.format(type(row).__name__), path=text.path, row=number)
        yield row


def _of_columns(found: dict[str, Any], path: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of an object: of columns, by name, or with the rows in it, as pandas and others write it."""
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        names = [str(name) for name in found["columns"]]
        for row in found["data"]:
            if not isinstance(row, list) or len(row) != len(names):
                raise InputError("a row has not as many values as there are columns", path=path)
            yield dict(zip(names, row, strict=True))
        return
    inside = _rows_inside(found)
    if len(inside) == 1:
        total = found.get("num_rows_total")
        if isinstance(total, int) and total != len(inside[0]):
            notes.append(f"the file holds {count_text(len(inside[0]), 'row')} of a data set of {total:,}")
        yield from inside[0]
        return
    if not _are_columns(found):
        raise InputError(
            f"the file is one object, {shape_of(found)}, neither rows nor columns of equal length. In "
            f'{path.name}.reading.toml the path of its rows says where they are, as rows = "results.*task.*metric"',
            path=path,
        )
    columns = [list(value.values()) if isinstance(value, dict) else value for value in found.values()]
    yield from (dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True))
