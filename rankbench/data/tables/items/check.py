"""Items brought into the schema: queries that stand together, and finite features."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from rankbench.data.tables.items.schema import items_schema
from rankbench.errors import InputError
from rankbench.kinds.table_check import QUOTED, RawTable, TableCheck
from rankbench.text import short_repr

__all__ = ["ItemShape", "ItemsCheck"]

_FEATURE = re.compile(r"x_?([0-9]{1,9})\Z")


class ItemShape:
    """Where the features of an items table are, and how many.

    Parameters
    ----------
    raw : RawTable
        Where features are lists, the first row says how many there are.

    Attributes
    ----------
    spread : list of str
        The columns ``x_0, x_1, ...`` in order; empty if there is a column ``x``.
    d : int
    named : bool
        Whether there is a column ``name``.
    """

    def __init__(self, raw: RawTable) -> None:
        schema, path = raw.schema(), raw.path
        self.spread: list[str] = []
        self.named = "name" in schema
        if "x" in schema:
            dtype = schema["x"]
            if isinstance(dtype, pl.Array):
                self.d = dtype.size
            elif isinstance(dtype, pl.List):
                self.d = _first_length(raw)
            else:
                raise InputError(f"features must be a list of numbers a row, not {dtype}", path=path, column="x")
        else:
            numbered: dict[int, str] = {}
            for name in schema.names():
                if match := _FEATURE.match(name):
                    other = numbered.setdefault(int(match[1]), name)
                    if other != name:
                        raise InputError(
                            f"columns {other!r} and {name!r} are the same feature; remove or rename one", path=path
                        )
            self.spread = [numbered[index] for index in sorted(numbered)]
            self.d = len(self.spread)
            if numbered:
                begin = min(numbered)
                absent = set(range(begin, begin + self.d)) - set(numbered)
                if begin > 1 or absent:
                    missing = "x_1" if begin > 1 else f"x_{min(absent)}"
                    raise InputError(f"column {missing!r} is missing among the features", path=path)
        if self.d == 0:
            raise InputError("column 'x' is missing: a list of numbers, or columns x_0, x_1, ...", path=path)

    @property
    def result(self) -> pl.Schema:
        """The schema of what the table becomes."""
        return items_schema(self.d, named=self.named)


class ItemsCheck(TableCheck):
    """Items: queries stand together, positions count up, everything is finite."""

    def __init__(self, raw: RawTable, shape: ItemShape) -> None:
        super().__init__(raw, shape.result)
        self.shape, self.allow_single = shape, raw.allow_single
        self.seen: set[str] = set()
        self.current: str | None = None
        self.single: tuple[str, int] | None = None
        self.count = 0

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
        if self.shape.named:
            columns.append(self.cast(frame["name"], pl.String()))
        return pl.DataFrame(columns, schema=self.schema)

    def positions(self, ids: pl.Series) -> pl.Series:
        """Return each row's position in its query, following on from the last batch."""
        runs = ids.rle().struct.unnest()
        positions = []
        row = 0
        for query, length in zip(runs["value"].to_list(), runs["len"].to_list(), strict=True):
            if query != self.current:
                self.close(row)
                if query in self.seen:
                    raise self.error(
                        f"query {short_repr(query)} comes back after another one; "
                        "the rows of a query must stand together",
                        row,
                        "query_id",
                    )
                self.seen.add(query)
                self.current, self.count = query, 0
            positions.append(np.arange(self.count, self.count + length, dtype=np.uint32))
            self.count += length
            row += length
        return pl.Series("item", np.concatenate(positions))

    def close(self, row: int) -> None:
        """End the current query, whose last row is the one before `row` of this batch."""
        if self.count == 1 and self.single is None:
            self.single = str(self.current), self.rows + row - 1

    def features(self, frame: pl.DataFrame) -> pl.Series:
        """Return the features as one finite column of arrays."""
        if self.shape.spread:
            columns = [self.cast(frame[name], pl.Float32()) for name in self.shape.spread]
            for name, column in zip(self.shape.spread, columns, strict=True):
                self.refuse(~column.is_finite(), frame[name], "{} is not a finite 32-bit number")
            return pl.Series("x", np.column_stack([column.to_numpy() for column in columns]))
        x = frame["x"]
        self.refuse(x.is_null(), x, "the features are missing")
        if isinstance(x.dtype, pl.List):
            lengths = x.list.len()
            self.refuse(lengths != self.shape.d, x, f"the row has not {self.shape.d} features as the first one has")
            x = x.list.to_array(self.shape.d)
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
            row, feature = divmod(int(bad[0]), self.shape.d)
            value = inner[int(bad[0])]
            raise self.error(
                f"feature {feature} (from 0) is {short_repr(value)}, not a finite 32-bit number"
                if value is not None
                else f"feature {feature} (from 0) is missing",
                row,
                "x",
            )
        return pl.Series("x", flat.reshape(-1, self.shape.d))

    def end(self) -> None:
        """Check the last query too; see `TableCheck.end`."""
        super().end()
        self.close(0)
        # Raised last, as the query might have come back.
        if self.single is not None and not self.allow_single:
            query, row = self.single
            message = f"query {short_repr(query)} has one item, which cannot be ranked"
            raise self.error(message, row - self.rows, "query_id")


def _first_length(raw: RawTable) -> int:
    """Return the length of the first row's list of features."""
    with raw.reading():
        lengths = raw.frame.select(pl.col("x").list.len()).head(1).collect()
    if not lengths.height:
        raise InputError("the table has no rows", path=raw.path)
    if not lengths.item():
        raise InputError("the row has no features", path=raw.path, row=raw.header + 1, column="x")
    return int(lengths.item())
