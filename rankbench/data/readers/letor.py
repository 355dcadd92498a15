"""The LETOR reader reads LETOR and SVMlight files.

References
----------
.. [QL13] T. Qin and T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.text import short_repr
from rankbench.data.readers.frame_source import streamed
from rankbench.data.readers.text_lines import Chunk, chunks, numbered_lines
from rankbench.data.readers.unpacked import unpacked_name
from rankbench.data.tables.items import AdjoiningRows
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing

_ROW_BYTES = 64 << 20
_MOST_FEATURES = 1 << 17
_TOKEN = re.compile(rb"[^ \t\r\n]+")
_ENDLESS = 10**12  # where the scanner stops counting
_LINE = re.compile(rb"[ \t]*[-+.0-9eE]+([ \t]+qid:[^ \t\r\n#]+)?([ \t]+[0-9]+:[^ \t\r\n#]+)*[ \t]*(#.*)?\r?\Z")


class LetorReader(Reader):
    """Graded items as text lines, sparse or dense, plain or gzip.

    The items of a query stand together, named by ``qid:N`` right after the label; a file
    without ``qid`` has a neighbour ``FILE.group`` (or ``FILE.query``) with the number of
    lines of each query, and its queries are then called 1, 2, ... Features that a line
    does not mention are zero.

    Prefer it for files of LETOR, LightGBM and XGBoost; ``rankbench data convert`` makes Parquet of large ones.
    """

    name: ClassVar[str] = "letor"
    source: ClassVar[str] = "[QL13]_ section 2; SVMlight file format"
    extensions: ClassVar[tuple[str, ...]] = (
        *(".txt", ".letor", ".svm", ".svmlight", ".libsvm", ".dat", ".train", ".vali", ".test"),
    )

    d: int = Field(default=0, ge=0, le=1 << 24, description="Number of features; 0: the largest index of the file.")
    zero_based: bool = Field(default=False, alias="zero-based", description="Feature indices count from 0.")
    allow_single: bool = Field(default=False, alias="allow-single", description="A query may have a single item.")
    negative: bool = Field(default=False, description="Labels below 0 are grades, and not an error.")

    @classmethod
    def example(cls) -> bytes:
        """Return two queries of two features."""
        return b"2 qid:1 1:0.5 2:1 # a comment\n0 qid:1 1:0.25\n1 qid:7 2:3\n0 qid:7 1:-1 2:0.5\n1 qid:7 1:0.5\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line with content is a LETOR line."""
        for line in head.split(b"\n"):
            content = line.strip()
            if content and not content.startswith(b"#"):
                return b":" in content and _LINE.match(line) is not None
        return False

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the items; see `Reader.scan`. Counts the features at once unless d is given."""
        d = self._features(existing(path))
        return streamed(lambda: self._frames(path, d), items_schema(d))

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the items in pieces of bounded size."""
        yield from self._frames(path, self._features(existing(path)))

    def _features(self, path: Path) -> int:
        """Return d, counting the features of the file if it was not given."""
        if self.d:
            return self.d
        from rankbench.data.readers import kernels as kernel

        largest = max((kernel.largest_index(np.frombuffer(chunk.data, np.uint8)) for chunk in chunks(path)), default=-1)
        if largest < 0:
            # The scanner names the first line's error best.
            for _ in self._frames(path, 1):
                pass
            raise InputError("no line has a feature; a line is 'label qid:N index:value ...'", path=path)
        d = largest + self.zero_based
        if d > _MOST_FEATURES:
            index = str(largest) if largest < _ENDLESS else f"{_ENDLESS} or more"
            raise InputError(
                f"the largest feature index is {index}; features are kept densely, "
                f"up to {_MOST_FEATURES} unless you say how many there are, as in letor:d=200000",
                path=path,
            )
        return max(d, 1)

    def _frames(self, path: Path, d: int) -> Iterator[pl.DataFrame]:
        queries: _NamedQueries | _GroupedQueries | None = None
        for chunk in chunks(path):
            for x, labels, places in self._parse(chunk, d):
                if queries is None:
                    kind = _NamedQueries if places[0, 1] >= 0 else _GroupedQueries
                    queries = kind(path, self.allow_single)
                if not self.negative and labels.min() < 0:
                    row = int(np.flatnonzero(labels < 0)[0])
                    name = shlex.quote(path.name)
                    raise chunk.error(
                        f"the label is {labels[row]:g}: LETOR 4.0 writes -1 of a document that nobody judged. "
                        f"Leave such lines out (grep -v '^ *-' {name} > judged-{name}), or say that it is a grade: "
                        "letor:negative=true",
                        int(places[row, 0]),
                    )
                ids, items = queries.assign(chunk, places)
                yield pl.DataFrame(
                    [ids, pl.Series("item", items), pl.Series("label", labels), pl.Series("x", x)],
                    schema=items_schema(d),
                )
        if queries is None:
            raise InputError("the file has no rows, only blank lines and comments", path=path)
        queries.end()

    def _parse(
        self, chunk: Chunk, d: int
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]]:
        """Yield features (R, d), labels (R,) and places (R, 4) of the chunk's rows."""
        from rankbench.data.readers import kernels as kernel

        buffer = np.frombuffer(chunk.data, np.uint8)
        rows = max(1, min(chunk.data.count(b"\n") + 1, _ROW_BYTES // (4 * d)))
        hard = np.empty((max(4096, d + 1), 4), np.int64)
        state = np.zeros(4, np.int64)
        position = 0
        while position < len(buffer):
            x, labels, places = (
                np.zeros((rows, d), np.float32),
                np.empty(rows, np.float32),
                np.empty((rows, 4), np.int64),
            )
            status = kernel.parse_lines(
                buffer, position, int(not self.zero_based), kernel.POWERS, x, labels, places, hard, state
            )
            if status:
                raise self._malformed(chunk, status, int(state[kernel.STATE_ERROR]), d)
            position, count = int(state[kernel.STATE_POSITION]), int(state[kernel.STATE_ROWS])
            for row, column, begin, end in hard[: state[kernel.STATE_HARD]].tolist():
                value = self._hard(chunk, begin, end, d)
                if column < 0:
                    labels[row] = value
                else:
                    x[row, column] = value
            if count:
                yield x[:count], labels[:count], places[:count]

    def _hard(self, chunk: Chunk, begin: int, end: int, d: int) -> np.float32:
        from rankbench.data.readers import kernels as kernel

        with np.errstate(over="ignore"):
            value = np.float32(float(chunk.data[begin:end]))
        if np.isinf(value):
            raise self._malformed(chunk, kernel.OVERFLOW, begin, d)
        return value

    def _malformed(self, chunk: Chunk, status: int, position: int, d: int) -> InputError:
        from rankbench.data.readers import kernels as kernel

        # Of the scanner's blanks: there are more of them to `split`, which finds nothing between those.
        found = _TOKEN.search(chunk.data[position : position + 200])
        token = found[0].decode("utf-8", errors="replace") if found else ""
        return chunk.error(kernel.ERRORS[status].format(token=short_repr(token), d=d), position)


_DIGITS = 12


def single_item_error(query: str, path: Path, row: int) -> InputError:
    """Return the error on a query with one item, given by the query's printable name."""
    return InputError(
        f"query {query} has one item, which cannot be ranked; remove it, or read the file as "
        "letor:allow-single=true to leave such queries out later",
        path=path,
        row=row,
    )


def _sizes(path: Path, allow_single: bool) -> list[int]:
    sizes: list[int] = []
    for row, line in numbered_lines(path):
        if not (text := line.strip()):
            continue
        if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or int(text) == 0:
            raise InputError(
                f"{short_repr(text)} is not the size of a query: a positive whole number", path=path, row=row
            )
        if int(text) == 1 and not allow_single:
            raise single_item_error(str(len(sizes) + 1), path, row)
        sizes.append(int(text))
    if not sizes:
        raise InputError("the file has no sizes", path=path)
    return sizes


class _NamedQueries:
    """Queries named by ``qid:N``."""

    def __init__(self, path: Path, allow_single: bool) -> None:
        self.path, self.allow_single, self.queries = path, allow_single, AdjoiningRows()

    def assign(self, chunk: Chunk, places: NDArray[np.int64]) -> tuple[pl.Series, NDArray[np.uint32]]:
        nameless = np.flatnonzero(places[:, 1] < 0)
        if len(nameless):
            raise chunk.error("this line has no qid:N, unlike the first one", int(places[nameless[0], 0]))
        places[0, 3] = 0
        starts = np.flatnonzero(places[:, 3] == 0)
        lengths = np.diff(starts, append=len(places))
        ids = [chunk.data[begin:end].decode("utf-8") for begin, end in places[starts, 1:3].tolist()]

        def again(query: str, row: int) -> InputError:
            name = shlex.quote(self.path.name)
            what = f"query {short_repr(query)} comes back after another one; the lines of a query must stand together"
            return chunk.error(f"{what}: sort -s -k2,2 {name} > sorted-{name}", int(places[row, 1]))

        items = self.queries.positions(ids, lengths.tolist(), lambda row: chunk.place(int(places[row, 0]))[0], again)
        return pl.Series("query_id", ids).gather(np.repeat(np.arange(len(ids)), lengths)), items

    def end(self) -> None:
        # Raised last, as the query might have come back.
        if (single := self.queries.end()) is not None and not self.allow_single:
            raise single_item_error(short_repr(single[0]), self.path, single[1])


class _GroupedQueries:
    """Queries named 1, 2, ... by the sizes in ``FILE.group`` or ``FILE.query``; of ``FILE.gz``, without ``.gz`` too."""

    def __init__(self, path: Path, allow_single: bool) -> None:
        names = [f"{stem}.{ending}" for stem in (path.name, unpacked_name(path)) for ending in ("group", "query")]
        found = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
        if found is None:
            raise InputError(
                f"the lines have no qid:N, and there is no file {path.name}.group with the number of lines of each "
                "query",
                path=path,
                row=1,
            )
        self.path, self.file, self.stops = path, found, np.cumsum(_sizes(found, allow_single))
        self.rows = 0

    def assign(self, chunk: Chunk, places: NDArray[np.int64]) -> tuple[pl.Series, NDArray[np.uint32]]:
        named = np.flatnonzero(places[:, 1] >= 0)
        if len(named):
            raise chunk.error("this line has a qid:N, unlike the first one", int(places[named[0], 1]))
        rows = np.arange(self.rows, self.rows + len(places))
        self.rows += len(places)
        if self.rows > self.stops[-1]:
            self.end()
        query = np.searchsorted(self.stops, rows, side="right")
        starts = np.append(0, self.stops)[query]
        return pl.Series("query_id", query + 1).cast(pl.String), (rows - starts).astype(np.uint32)

    def end(self) -> None:
        if self.rows != self.stops[-1]:
            raise InputError(
                f"the group sizes add up to {self.stops[-1]} lines, but {self.path.name} has others",
                path=self.file,
                row=len(self.stops),
            )
