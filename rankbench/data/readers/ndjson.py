"""Tables as one JSON object a line."""

from __future__ import annotations

import glob
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.errors import InputError
from rankbench.kinds.reader import Reader, existing
from rankbench.text import short_repr

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NdjsonReader", "distinct_keys", "finite_number", "no_constant"]

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
