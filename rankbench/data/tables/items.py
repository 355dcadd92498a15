"""The kind `items` holds items with features and labels; transforms scale features.

``signed-log1p``         x -> sign(x) log(1 + abs(x)): tames heavy tails, keeps signs and zeros
``zscore-within-query``  each feature to mean 0 and standard deviation 1 (divisor m_q) among
                         the items of its query; a feature that is constant there becomes 0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.data.tables.schemas import features, items_schema
from rankbench.errors import InputError, SpecError, nearest
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import QUOTED, RawTable, ReadTable, TableCheck


class ItemTable(TableKind):
    """Items with features and graded labels, the rows of a query together.

    ``item`` may be missing; features stand in a column ``x`` of lists, or in columns ``x_0, x_1, ...`` (or from
    ``x_1``).

    Prefer it for queries whose items have features and grades, from which methods such as `erm` learn.
    """

    name: ClassVar[str] = "items"
    source: ClassVar[str] = "[DMJ13]_ section 1"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "label")
    optional: ClassVar[tuple[str, ...]] = ("item", "x", "name")
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = (("query", "label"),)
    beside: ClassVar[tuple[str, ...]] = ("item", "x", "name")
    words: ClassVar[str] = "items"
    together: ClassVar[bool] = True
    features: ClassVar[bool] = True

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return two queries, of two items and of three."""
        return {
            "query_id": ["a", "a", "b", "b", "b"],
            "label": [1.0, 0.0, None, 2.0, 0.0],
            "x": [[0.5, 2.0], [1.5, -1.0], [0.0, 1.0], [3.0, 0.25], [1.0, 1.0]],
        }

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return items with their queries as ``query_id``; features need no role. See `TableKind.read`."""
        applied = reading.expanded(raw.schema.names())
        roles = {role: names[0] for role, names in applied.columns.items() if names[0]}
        own = {name: {"query": "query_id"}.get(role, role) for role, name in roles.items()}
        return ReadTable(replace(raw, frame=raw.frame.rename(own, strict=False)), applied, (", ".join(own),))

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks; features are found here, see `TableKind.check`."""
        from functools import partial

        spread, d = _feature_columns(raw)
        if d == 0:
            raise InputError("column 'x' is missing: a list of numbers, or columns x_0, x_1, ...", path=raw.path)
        return partial(ItemsCheck, raw, items_schema(d, named="name" in raw.schema), spread)


_FEATURE = re.compile(r"x_?([0-9]{1,9})\Z")


def _feature_columns(raw: RawTable) -> tuple[list[str], int]:
    """Return the columns ``x_0, x_1, ...`` in order, none with a column ``x``, and the number of features."""
    schema = raw.schema
    if "x" in schema:
        dtype = schema["x"]
        if not isinstance(dtype, pl.Array | pl.List):
            raise InputError(f"features must be a list of numbers a row, not {dtype}", path=raw.path, column="x")
        return [], dtype.size if isinstance(dtype, pl.Array) else _first_length(raw)
    numbered: dict[int, str] = {}
    for name in schema.names():
        if match := _FEATURE.match(name):
            other = numbered.setdefault(int(match[1]), name)
            if other != name:
                what = f"columns {other!r} and {name!r} are the same feature; remove or rename one"
                raise InputError(what, path=raw.path)
    first = min(numbered, default=0)
    if absent := set(range(min(first, 1), min(first, 1) + len(numbered))) - set(numbered):
        raise InputError(f"column 'x_{min(absent)}' is missing among the features", path=raw.path)
    return [numbered[index] for index in sorted(numbered)], len(numbered)


class ItemsCheck(TableCheck):
    """Items: rows of a query are contiguous, positions count up, everything is finite."""

    def __init__(self, raw: RawTable, schema: pl.Schema, spread: Sequence[str]) -> None:
        super().__init__(raw, schema)
        self.spread, self.d, self.queries = spread, features(schema), AdjoiningRows()

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        ids = self.cast(frame["query_id"], pl.String())
        items = self.positions(ids)
        if "item" in frame.columns:
            given = self.cast(frame["item"], pl.UInt32())
            self.refuse(given != items, frame["item"], "{} is not the item's position in its query, counted from 0")
        label = self.cast(frame["label"], pl.Float32(), nulls=True)
        self.refuse((~label.is_finite()).fill_null(False), frame["label"], "{} is not a finite number")
        columns = [ids, items, label, self.features(frame)]
        if "name" in self.schema:
            columns.append(self.cast(frame["name"], pl.String()))
        return pl.DataFrame(columns, schema=self.schema)

    def positions(self, ids: pl.Series) -> pl.Series:
        """Return each row's position in its query, following on from the last batch."""
        runs = ids.rle().struct.unnest()

        def again(query: str, row: int) -> InputError:
            what = f"query {short_repr(query)} comes back after another one; the rows of a query must stand together"
            return self.error(what, row, "query_id")

        lengths = runs["len"].to_list()
        return pl.Series("item", self.queries.positions(runs["value"].to_list(), lengths, self.rows.__add__, again))

    def features(self, frame: pl.DataFrame) -> pl.Series:
        """Return the features as one finite column of arrays."""
        if self.spread:
            columns = [self.cast(frame[name], pl.Float32()) for name in self.spread]
            for name, column in zip(self.spread, columns, strict=True):
                self.refuse(~column.is_finite(), frame[name], "{} is not a finite 32-bit number")
            return pl.Series("x", np.column_stack([column.to_numpy() for column in columns]))
        x = frame["x"]
        self.refuse(x.is_null(), x, "the features are missing")
        if isinstance(x.dtype, pl.List):
            self.refuse(x.list.len() != self.d, x, f"the row has not {self.d} features as the first one has")
            x = x.list.to_array(self.d)
        inner = x.explode(empty_as_null=False, keep_nulls=True)
        if inner.dtype.is_nested():
            raise self.error(f"features must be numbers, not {str(inner.dtype)[:QUOTED]}", 0, "x")
        try:
            numbers = inner.cast(pl.Float32, strict=False)
        except pl.exceptions.PolarsError as error:
            raise self.error(f"features must be numbers, not {inner.dtype}", 0, "x") from error
        flat = numbers.fill_null(float("nan")).to_numpy()
        bad = np.flatnonzero(~np.isfinite(flat))
        if len(bad):
            row, feature = divmod(int(bad[0]), self.d)
            value = inner[int(bad[0])]
            what = "missing" if value is None else f"{short_repr(value)}, not a finite 32-bit number"
            raise self.error(f"feature {feature} (from 0) is {what}", row, "x")
        return pl.Series("x", flat.reshape(-1, self.d))

    def end(self) -> None:
        """Check the last query too; see `TableCheck.end`."""
        super().end()
        # Raised last, as the query might have come back.
        if (single := self.queries.end()) is not None and not self.raw.allow_single:
            query, row = single
            message = f"query {short_repr(query)} has one item, which cannot be ranked"
            raise self.error(message, row - self.rows, "query_id")


class AdjoiningRows:
    """Queries whose rows must stand together, as batches of rows pass by."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.current, self.count, self.place = "", 0, 0
        self.single: tuple[str, int] | None = None

    def positions(
        self,
        queries: Sequence[str],
        lengths: Sequence[int],
        place: Callable[[int], int],
        again: Callable[[str, int], InputError],
    ) -> NDArray[np.uint32]:
        """Return the position of each row of a batch in its query, from 0, also across batches.

        Parameters
        ----------
        queries : sequence of str
            The query of each run of rows.
        lengths : sequence of int
            Rows of each run.
        place : callable
            Returns the place of a row of the batch in the file.
        again : callable
            Returns the error of a query that comes back, in a row of the batch.

        Raises
        ------
        InputError
        """
        found, row = list[NDArray[np.uint32]](), 0
        for query, length in zip(queries, lengths, strict=True):
            if query != self.current or not self.count:
                self.end()
                if query in self.seen:
                    raise again(query, row)
                self.seen.add(query)
                self.current, self.count = query, 0
            found.append(np.arange(self.count, self.count + length, dtype=np.uint32))
            self.count += length
            if self.count == 1:
                self.place = place(row)
            row += length
        return np.concatenate(found)

    def end(self) -> tuple[str, int] | None:
        """Return the first query with one row, and its place, where the current one ends; None: there is none."""
        if self.count == 1 and self.single is None:
            self.single = self.current, self.place
        return self.single


def _first_length(raw: RawTable) -> int:
    """Return the length of the first row's list of features."""
    with raw.reading():
        lengths = raw.frame.select(pl.col("x").list.len()).head(1).collect()
    if not lengths.height:
        raise InputError("the table has no rows", path=raw.path)
    if not lengths.item():
        raise InputError("the row has no features", path=raw.path, row=raw.header + 1, column="x")
    return int(lengths.item())


def load_queries(items: pl.LazyFrame, features: bool = True) -> Queries:
    """Collect items into a `Queries`; features are shared with the frame where types allow.

    Nothing is left out: see `usable`.

    Parameters
    ----------
    items : LazyFrame
        In the schema of `rankbench.data.tables`, the rows of a query together.
    features : bool
        False: leave features out, x has shape (N, 0). They are the most of a table: choose queries without them.

    Raises
    ------
    InputError
        There are no rows, or a query's rows do not stand together.
    """
    frame = items.select("query_id", "label", *(["x"] if features else [])).collect(engine="streaming")
    if not frame.height:
        raise InputError("the data has no rows")
    runs = frame["query_id"].rle().struct.unnest()
    ids = [str(query) for query in runs["value"].to_list()]
    again = runs["value"].filter(~runs["value"].is_first_distinct())
    if len(again):
        raise InputError(f"the rows of query {again[0]!r} do not stand together", column="query_id")
    offsets = np.concatenate([[0], np.cumsum(runs["len"].to_numpy().astype(np.int64))])
    labels = frame["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    x = frame.drop_in_place("x").to_numpy() if features else np.zeros((frame.height, 0), np.float32)
    return Queries(ids, offsets, np.ascontiguousarray(x, np.float32), labels)


def load_some(items: pl.LazyFrame, names: Sequence[str]) -> Queries:
    """Collect the queries of these names, in their order, without holding other features in memory.

    Parameters
    ----------
    items : LazyFrame
        As for `load_queries`.
    names : sequence of str
        Distinct names of queries that are there, at least one.
    """
    found = load_queries(items.filter(pl.col("query_id").is_in(list(names))))
    place = {name: at for at, name in enumerate(found.ids)}
    return found.take(np.array([place[name] for name in names], np.int64))


def usable(queries: Queries) -> NDArray[np.int64]:
    """Return the indices of the queries that can judge a ranking.

    Left out are queries with fewer than two items, with a single label value, or with an
    item without a label; callers count them.
    """
    first = queries.offsets[:-1]
    low = np.minimum.reduceat(queries.labels, first) if len(queries) else np.zeros(0)
    high = np.maximum.reduceat(queries.labels, first) if len(queries) else np.zeros(0)
    # NaN (unlabelled) spreads through minimum and maximum and compares false.
    return np.flatnonzero((queries.sizes > 1) & (low < high)).astype(np.int64)


def load_dataset(dataset: Dataset) -> Queries:
    """Return a data set's queries.

    Raises
    ------
    InputError
        The data is not there (says how to get it) or cannot be read.
    """
    return load_queries(dataset.scan())


def _signed_log1p(queries: Queries) -> NDArray[np.float32]:
    x = np.log1p(np.abs(queries.x, dtype=np.float32))
    np.copysign(x, queries.x, out=x)
    return x


def _zscore_within_query(queries: Queries) -> NDArray[np.float32]:
    out = np.empty_like(queries.x, order="C")
    for q in range(len(queries)):
        rows = slice(queries.offsets[q], queries.offsets[q + 1])
        x = queries.x[rows].astype(np.float64)
        constant = (x == x[0]).all(axis=0)
        centred = x - x.mean(axis=0)
        deviation = np.sqrt(np.mean(centred * centred, axis=0))
        # Constancy is read off the values: the computed deviation of equal numbers need not be 0.
        scale = np.where(constant | (deviation == 0), 1.0, deviation)
        out[rows] = np.where(constant, 0.0, centred / scale)
    return out


TRANSFORMS: dict[str, Callable[[Queries], NDArray[np.float32]]] = {
    "signed-log1p": _signed_log1p,
    "zscore-within-query": _zscore_within_query,
}
"""Transforms by name: `Queries` to new features of shape (N, d)."""


def apply(names: Sequence[str], queries: Queries) -> Queries:
    """Return `queries` with its features transformed; labels and ids are shared.

    Parameters
    ----------
    names : sequence of str
        Applied in order.
    queries : Queries
        Not changed.

    Raises
    ------
    SpecError
        An unknown transform, with the nearest valid name.
    """
    for name in names:
        if name not in TRANSFORMS:
            raise SpecError(f"there is no feature transform {name!r}{nearest(name, TRANSFORMS)}")
        queries = replace(queries, x=TRANSFORMS[name](queries))
    return queries
