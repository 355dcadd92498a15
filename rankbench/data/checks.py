"""Tables brought into the schema and checked on the way, one batch after the other.

Rows are checked where they pass by, so a table of any length needs no second look and no
memory beyond the names of its queries.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from rankbench.data.columns import SAID, as_comparisons, guess, parse_columns
from rankbench.data.readers.source import UNREADABLE, io_source
from rankbench.data.schema import (
    COMPARISONS,
    COMPARISONS_OPTIONAL,
    items_schema,
    orders_schema,
    selections_schema,
    table_of,
)
from rankbench.data.shown import shown
from rankbench.errors import InputError

__all__ = ["Check", "checked"]

_FEATURE = re.compile(r"x_?([0-9]{1,9})\Z")
_LONGEST = 400
LONGEST_NAME = 10_000
"""Most characters of a name: what is longer is no name but a misread column."""
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def checked(
    raw: pl.LazyFrame,
    *,
    path: Path | None = None,
    header: int = 0,
    allow_single: bool = False,
    diagnose: Callable[[], None] | None = None,
    columns: str = "",
) -> pl.LazyFrame:
    """Return `raw` in the schema; what is wrong with it is raised when it is collected.

    Parameters
    ----------
    raw : LazyFrame
        Columns of one of the schema's tables, in any types that convert without loss.
    path : Path, optional
        Named in errors.
    header : int
        Lines before the first row, added to the row numbers of errors.
    allow_single : bool
        Whether a query may have one item.
    diagnose : callable, optional
        Called when Polars cannot read the file; raises an error that knows the place.
    columns : str
        What columns of votes mean, where they have not the usual names: see
        `rankbench.data.columns.parse_columns`.

    Raises
    ------
    InputError
        A missing column, at once; anything about rows, later.
    """
    source = _Source(raw, path, diagnose)
    schema = source.schema()
    roles: dict[str, str] = {}
    if columns or not ("query_id" in schema and {"label", "shown", "ranking"} & set(schema)):
        found = guess(schema, parse_columns(columns) if columns else None)
        if found is not None:
            roles = found
            source = _Source(as_comparisons(raw, roles), path, diagnose)
            schema = source.schema()
    table = table_of(schema, path)
    if table == "items":
        shape = _ItemShape(schema, source, path)

        def start() -> Check:
            return _ItemsCheck(shape, path, header, allow_single)

        result = shape.result
    elif table == "selections":
        from rankbench.data.selection_checks import SelectionsCheck

        result = selections_schema(part="part" in schema)

        def start() -> Check:
            return SelectionsCheck(result, path, header)

    elif table == "orders":
        from rankbench.data.order_checks import OrdersCheck

        result = orders_schema(schema)

        def start() -> Check:
            return OrdersCheck(result, path, header)

    else:

        def start() -> Check:
            return _ComparisonsCheck(schema, path, header, roles)

        result = _comparisons_schema(schema)

    def batches() -> Iterator[pl.DataFrame]:
        check = start()
        for frame in source.batches():
            yield check.feed(frame)
        check.end()

    return register_io_source(io_source(batches), schema=result)


class _Source:
    """A lazy frame whose errors name the file."""

    def __init__(self, raw: pl.LazyFrame, path: Path | None, diagnose: Callable[[], None] | None) -> None:
        self.raw, self.path, self.diagnose = raw, path, diagnose

    def schema(self) -> pl.Schema:
        try:
            return self.raw.collect_schema()
        except UNREADABLE as error:
            raise self.unreadable(error) from error

    def batches(self) -> Iterator[pl.DataFrame]:
        try:
            for frame in self.raw.collect_batches(maintain_order=True, engine="streaming"):
                if frame.height:
                    yield frame
        except UNREADABLE as error:
            raise self.unreadable(error) from error

    def first_length(self) -> int:
        """Return the length of the first row's list of features, 0 without rows."""
        try:
            lengths = self.raw.select(pl.col("x").list.len()).head(1).collect()
        except UNREADABLE as error:
            raise self.unreadable(error) from error
        return int(lengths.item() or 0) if lengths.height else 0

    def unreadable(self, error: BaseException) -> InputError:
        if self.diagnose is not None:
            self.diagnose()
        return InputError(str(error).strip().split("\n", 1)[0][:_LONGEST], path=self.path)


class Check(ABC):
    """Converts and checks the batches of one pass over a table."""

    def __init__(self, path: Path | None, header: int) -> None:
        self.path, self.header, self.rows = path, header, 0

    def feed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the batch in the schema."""
        result = self.convert(frame)
        self.rows += frame.height
        return result

    @abstractmethod
    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch whose first row is row `self.rows`, from 0."""

    def end(self) -> None:
        """Check what can be known only after the last row."""
        if self.rows == 0:
            raise InputError("the table has no rows", path=self.path)

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error about a row of the current batch, counted from 0."""
        return InputError(message, path=self.path, row=self.header + self.rows + row + 1, column=column)

    def refuse(self, bad: pl.Series, column: pl.Series, message: str) -> None:
        """Raise for the first true entry of `bad`; ``{}`` in the message is the value."""
        if bad.any():
            row = int(bad.arg_true()[0])
            raise self.error(message.format(shown(column[row])), row, column.name)

    def cast(self, column: pl.Series, dtype: pl.DataType, *, nulls: bool = False) -> pl.Series:
        """Convert a column, refusing the first value that does not fit, or is missing."""
        if dtype == pl.String and (column.dtype.is_float() or column.dtype.is_nested()):
            raise self.error(f"the column holds {column.dtype}; names must be texts or whole numbers", 0, column.name)
        if column.dtype.is_nested():
            raise self.error(f"the column holds {str(column.dtype)[:_LONGEST]}, not single values", 0, column.name)
        if dtype == pl.Boolean and column.dtype != pl.Boolean:
            text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
            result = text.replace_strict(_BOOLEANS, default=None, return_dtype=pl.Boolean)
        else:
            try:
                result = column.cast(dtype, strict=False)
            except pl.exceptions.PolarsError as error:
                raise self.error(f"the column holds {column.dtype}, not {dtype}", 0, column.name) from error
        self.refuse(result.is_null() & column.is_not_null(), column, f"{{}} is not a {_WORDS[type(dtype)]}")
        if not nulls:
            self.refuse(result.is_null(), column, "the value is missing")
        if dtype == pl.String:
            self.refuse(too_long(result), column, TOO_LONG)
        return result


TOO_LONG = f"the name {{}} is longer than {LONGEST_NAME:,} characters; is it the right column?"


def too_long(names: pl.Series) -> pl.Series:
    """Return which names are longer than `LONGEST_NAME`; missing ones are not."""
    # Bytes are known without counting, and are as many at least.
    if (names.str.len_bytes().max() or 0) <= LONGEST_NAME:  # type: ignore[operator]  # of a column of integers
        return pl.Series(np.zeros(len(names), np.bool_))
    return (names.str.len_chars() > LONGEST_NAME).fill_null(False)


_WORDS: dict[type[pl.DataType], str] = {
    pl.String: "text",
    pl.Float32: "number",
    pl.Float64: "number",
    pl.UInt32: "position (a whole number from 0)",
    pl.Boolean: "truth value (true or false)",
}


class _ItemShape:
    """Where the features of an items table are, and how many.

    Attributes
    ----------
    spread : list of str
        The columns ``x_0, x_1, ...`` in order; empty if there is a column ``x``.
    d : int
    named : bool
        Whether there is a column ``name``.
    """

    def __init__(self, schema: pl.Schema, source: _Source, path: Path | None) -> None:
        self.spread: list[str] = []
        self.named = "name" in schema
        if "x" in schema:
            dtype = schema["x"]
            if isinstance(dtype, pl.Array):
                self.d = dtype.size
            elif isinstance(dtype, pl.List):
                self.d = source.first_length()
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


class _ItemsCheck(Check):
    """Items: queries stand together, positions count up, everything is finite."""

    def __init__(self, shape: _ItemShape, path: Path | None, header: int, allow_single: bool) -> None:
        super().__init__(path, header)
        self.shape, self.allow_single = shape, allow_single
        self.seen: set[str] = set()
        self.current: str | None = None
        self.count = 0

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
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
        return pl.DataFrame(columns, schema=self.shape.result)

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
                        f"query {shown(query)} comes back after another one; the rows of a query must stand together",
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
        if self.count == 1 and not self.allow_single:
            raise self.error(f"query {shown(self.current)} has one item, which cannot be ranked", row - 1, "query_id")

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
            raise self.error(f"features must be numbers, not {str(inner.dtype)[:_LONGEST]}", 0, "x")
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
                f"feature {feature} (from 0) is {shown(value)}, not a finite 32-bit number"
                if value is not None
                else f"feature {feature} (from 0) is missing",
                row,
                "x",
            )
        return pl.Series("x", flat.reshape(-1, self.shape.d))

    def end(self) -> None:
        super().end()
        self.close(0)


def _comparisons_schema(schema: pl.Schema) -> pl.Schema:
    result: dict[str, pl.DataType] = {name: pl.String() for name in COMPARISONS}
    for name, dtype in COMPARISONS_OPTIONAL.items():
        if name in schema:
            result[name] = schema[name] if dtype is None else dtype
    return pl.Schema(result)


class _ComparisonsCheck(Check):
    """Comparisons: two different items, a positive weight."""

    def __init__(self, schema: pl.Schema, path: Path | None, header: int, roles: Mapping[str, str]) -> None:
        super().__init__(path, header)
        self.schema = _comparisons_schema(schema)
        self.names = {"query_id": roles.get("query", ""), SAID: roles.get("winner", "")} | dict(roles)

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the log does."""
        return super().error(message, row, self.names.get(column) or column)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        if SAID in frame.columns:
            self.refuse(frame[SAID].is_not_null(), frame[SAID], "{} is neither of the two items, nor a side, nor a tie")
        columns = [self.cast(frame[name], pl.String()) for name in COMPARISONS]
        winner, loser = columns[1], columns[2]
        self.refuse(winner == loser, winner, "item {} is compared with itself")
        if "weight" in self.schema:
            weight = self.cast(frame["weight"], pl.Float64())
            bad = ~(weight.is_finite() & (weight > 0))
            self.refuse(bad, frame["weight"], "weight {} is not positive and finite")
            columns.append(weight)
        if "judge" in self.schema:
            columns.append(self.cast(frame["judge"], pl.String(), nulls=True))
        if "time" in self.schema:
            columns.append(frame["time"])
        if "tie" in self.schema:
            columns.append(self.cast(frame["tie"], pl.Boolean()))
        if "first" in self.schema:
            columns.append(self.cast(frame["first"], pl.Boolean()))
        return pl.DataFrame(columns, schema=self.schema)
