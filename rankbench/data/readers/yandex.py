"""The Yandex reader reads click sessions of the Relevance Prediction Challenge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import polars as pl

from rankbench.core.text import short_repr
from rankbench.data.readers.frame_source import streamed
from rankbench.data.readers.text_lines import Chunk, chunks
from rankbench.data.tables.schemas import selections_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing

_RECORD = re.compile(rb"[^\t\r\n;]+\t[^\t\r\n;:,]+(,[^\t\r\n;:,]+)* *:[^\t\r\n;:]*(;|\r?\n|\Z)")
_BATCH = 50_000


class YandexReader(Reader):
    """Selections as ``query TAB item,item,... : clicked , clicked``, with ``;`` or a line end between.

    One record a session: the items in the order in which they were shown, then those
    that were clicked in the order of the clicks. Empty records are passed over. A session is
    named by its line and its number in the line, as ``3.17``.

    Prefer it for the sample of this challenge alone; other clicks are tables.
    """

    name: ClassVar[str] = "yandex"
    source: ClassVar[str] = "Yandex Relevance Prediction Challenge 2011, as sampled for PyClick"

    @classmethod
    def example(cls) -> bytes:
        """Return three sessions of two queries."""
        return b"9_0\t13,70,377 : 70 , 13;9_0\t13,70,377 :\n8_1\t5,7 : 7\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the file begins with a record."""
        return _RECORD.match(head) is not None

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the selections; see `Reader.scan`."""
        existing(path)
        return streamed(lambda: self.batches(path), selections_schema(part=False))

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the selections in pieces of bounded size."""
        records = (record for chunk in chunks(existing(path)) for record in _records(chunk))
        empty = True
        while together := list(islice(records, _BATCH)):
            empty = False
            yield pl.DataFrame(together, schema=selections_schema(part=False), orient="row")
        if empty:
            raise InputError("the file has no sessions", path=path)


def _records(chunk: Chunk) -> Iterator[tuple[str, str, list[str], list[int]]]:
    """Yield query, session, items and clicked positions of each record of whole lines."""
    begin = 0
    for line, text in enumerate(chunk.data.split(b"\n"), chunk.line):
        at, number = begin, 0
        for record in text.split(b";"):
            if record.strip():
                number += 1
                query, items, clicked = _record(record, at, chunk)
                yield query, f"{line}.{number}", items, clicked
            at += len(record) + 1
        begin += len(text) + 1


def _record(record: bytes, at: int, chunk: Chunk) -> tuple[str, list[str], list[int]]:
    """Return query, items and clicked positions of the record that begins at byte `at`."""

    def wrong(message: str, place: int) -> Exception:
        return chunk.error(f"{message}; a session is 'query TAB item,item,... : clicked , clicked'", at + place)

    start = len(record) - len(record.lstrip())
    query, _, rest = record[start:].partition(b"\t")
    shown, colon, clicks = rest.partition(b":")
    if not colon:
        raise wrong("the record has no tab after the query, or no colon after the items", start)
    first = start + len(query) + 1
    items = [item.strip().decode() for item in shown.split(b",")]
    place: dict[str, int] = {}
    for position, item in enumerate(items, 1):
        if not item:
            raise wrong(f"the name of the item in position {position} is missing", first)
        if place.setdefault(item, position) != position:
            raise wrong(f"item {short_repr(item)} is shown twice in one list", first)
    names = [name.strip() for name in clicks.decode().split(",")] if clicks.strip() else []
    for number, name in enumerate(names, 1):
        if not name or ":" in name or "\t" in name:
            raise wrong(f"click {number} is {short_repr(name)}, not the name of an item", first + len(shown) + 1)
    return query.strip().decode(), items, [place.get(name, len(items) + 1) for name in names]
