"""Table checks convert columns, check weights, and name the row of an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from rankbench.core.text import short_repr
from rankbench.errors import InputError, option
from rankbench.interfaces.reading import Reading

E = TypeVar("E", bound=InputError)

UNREADABLE: tuple[type[BaseException], ...] = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Errors of Polars where a file cannot be read; damaged Parquet can make it panic, which is no `Exception`."""

LONGEST_NAME = 10_000
"""Most characters of a name: a longer text is a misread column."""

MOST_COLUMNS = 1 << 17
"""Most columns of a table: Polars keeps something of each of them for each batch of rows."""

QUOTED = 400
"""Most characters of a type, or of Polars' message, that an error quotes."""

BOOLEANS = {
    **dict.fromkeys(("true", "1", "1.0", "yes"), True),
    **dict.fromkeys(("false", "0", "0.0", "no"), False),
}
"""Truth values as texts, in small letters."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table before its checks, whose errors name the file.

    Attributes
    ----------
    frame : LazyFrame
        Columns in any types that convert without loss.
    path : Path, optional
        Named in errors.
    header : int
        Lines before the first row, added to the row numbers of errors.
    allow_single : bool
        Whether a query may have one item.
    diagnose : callable, optional
        Called when Polars cannot read the file; raises an error that knows the place.
    locate : callable, optional
        Returns the file, or the address, and the row there, of a row of a table that is several files, or is elsewhere.
    roles : mapping of str to str
        Names of columns in the file, by role.
    doubts : callable, optional
        Asks about the names of all items, once they are known: raises an `Unread`.
    filtered : bool
        Whether a condition has left rows out: all may be gone.
    in_schema : bool
        Whether the rows are checked, and stand in the schema of a kind of table, already.
    headed : callable, optional
        Returns the table with so many lines as a header; its last line names the columns, and of 0 the first line is
        a row. None: there is no question.
    nested : callable, optional
        Returns the table of the rows at a path in nested JSON: see `rankbench.data.readers.json_values.rows_at`.
    refusal : InputError, optional
        The error of a file that is a table by such a path alone.
    lacking : mapping of str to Path
        Columns that one of several files lacks, with this file.
    notes : tuple of str
        Sentences on how the file was read.
    kept : Reading, optional
        Meanings of its columns that a data card has.
    """

    frame: pl.LazyFrame
    path: Path | None = None
    header: int = 0
    allow_single: bool = False
    diagnose: Callable[[], None] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[int], tuple[Path | str | None, int | None]] | None = None
    doubts: Callable[[Collection[str]], None] | None = None
    filtered: bool = False
    in_schema: bool = False
    headed: Callable[[int], RawTable] | None = None
    nested: Callable[[str], RawTable] | None = None
    refusal: InputError | None = None
    lacking: Mapping[str, Path | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kept: Reading | None = None

    @cached_property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        with self.reading():
            return self.frame.collect_schema()

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in pieces of bounded size, none of them empty."""
        with self.reading():
            for frame in self.frame.collect_batches(maintain_order=True, engine="streaming"):
                if frame.height:
                    yield frame

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """Collect rows, or facts, of the table."""
        with self.reading():
            return frame.collect(engine="streaming")

    def facts(self, *facts: pl.Expr) -> tuple[Any, ...]:
        """Return facts of all rows, found in one pass; none need no pass."""
        named = [fact.alias(str(at)) for at, fact in enumerate(facts)]
        return self.collect(self.frame.select(named)).row(0) if named else ()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Add the file to errors of Polars."""
        try:
            yield
        except UNREADABLE as error:
            if self.diagnose is not None:
                self.diagnose()
            empty = isinstance(error, pl.exceptions.NoDataError)
            said = "the table has no rows" if empty else str(error).strip().split("\n", 1)[0][:QUOTED]
            raise InputError(said, path=self.path) from error

    @contextmanager
    def located(self, column: str | None = None) -> Iterator[None]:
        """Add the file, and the column if given, to errors raised inside; see `reading`."""
        with self.reading():
            try:
                yield
            except InputError as error:
                if error.path is not None:  # it names a row of the file already
                    raise
                path, row = self.place(error.row)
                raise error.placed(path, row, column or error.column) from error

    def at(self, row: int, error: E) -> E:
        """Return an error at a row, from 0."""
        return error.placed(*self.place(row + 1), error.column)

    def place(self, row: int | None) -> tuple[Path | str | None, int | None]:
        """Return the file and the row in it, for errors, of a row of the table from 1."""
        if row is None or self.locate is None:
            return self.path, None if row is None else self.header + row
        return self.locate(row)


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table with its columns read as a reading says: the result of `TableKind.read`.

    Attributes
    ----------
    table : RawTable
        Columns under the names of the kind, with which its check begins.
    reading : Reading
        As it was applied: with columns in place of patterns, and with words found in the values.
    says : tuple of str
        Parts of the line that states it: ``home against visitor``, ``result: H = home 4, A = visitor 5``.
    counts : mapping of str to int
        Rows by word, or by outcome.
    notes : tuple of str
        Sentences on what may surprise, and on rows that are left out.
    """

    table: RawTable
    reading: Reading
    says: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def columns(self) -> set[str]:
        """Return the columns of the file that are read, for covariates too."""
        return self.reading.read() | set(self.table.roles.values())


class TableCheck:
    """Converts and checks the batches of one pass over a table.

    Parameters
    ----------
    raw : RawTable
    schema : Schema
        Of the table after reading.
    """

    def __init__(self, raw: RawTable, schema: pl.Schema) -> None:
        self.raw, self.path, self.rows, self.schema = raw, raw.path, 0, schema
        self.whole: dict[str, bool] = {}

    def feed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the batch in the schema."""
        result = self.convert(frame)
        self.rows += frame.height
        return result

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch whose first row is row `self.rows`, from 0; by default every column by `cast`."""
        return pl.DataFrame([self.cast(frame[name], dtype) for name, dtype in self.schema.items()], schema=self.schema)

    def end(self) -> None:
        """Check all that is known only after the last row."""
        if self.rows == 0 and not self.raw.filtered:
            raise InputError("the table has no rows", path=self.path)

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error about a row of the current batch, counted from 0."""
        path, number = self.raw.place(self.rows + row + 1)
        return InputError(message, path=path, row=number, column=column)

    def refuse(self, bad: pl.Series, column: pl.Series, message: str) -> None:
        """Raise for the first true entry of `bad`; ``{}`` in the message is the value."""
        if bad.any():
            row = int(bad.arg_true()[0])
            # Names of columns in a message may have braces, too.
            raise self.error(message.replace("{}", short_repr(column[row]), 1), row, column.name)

    def cast(self, column: pl.Series, dtype: pl.DataType, *, nulls: bool = False) -> pl.Series:
        """Convert a column, refusing the first value that does not fit, or is missing."""
        if dtype == pl.String and (column.dtype.is_float() or column.dtype.is_nested()):
            raise self.error(f"the column holds {column.dtype}; names must be texts or whole numbers", 0, column.name)
        if column.dtype.is_nested():
            raise self.error(f"the column holds {str(column.dtype)[:QUOTED]}, not single values", 0, column.name)
        if dtype.is_numeric() and column.dtype.is_temporal():
            raise self.error(f"the column holds {column.dtype}, not numbers", 0, column.name)
        if dtype == pl.Boolean and column.dtype != pl.Boolean:
            text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
            result = text.replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)
        else:
            try:
                result = column.cast(dtype, strict=False)
            except pl.exceptions.PolarsError as error:
                raise self.error(f"the column holds {column.dtype}, not {dtype}", 0, column.name) from error
        self.refuse(result.is_null() & column.is_not_null(), column, f"{{}} is not a {_WORDS.get(type(dtype), dtype)}")
        if not nulls:
            self.refuse(result.is_null(), column, MISSING)
        if dtype == pl.String:
            self.refuse((result == "").fill_null(False), column, NAMELESS)
            self.refuse(too_long(result), column, TOO_LONG)
            self.refuse(with_null(result), column, WITH_NULL)
            if not column.dtype.is_integer():
                self.refuse(self.late_floats(result), column, LATE_FLOAT)
        return result

    def late_floats(self, names: pl.Series) -> pl.Series:
        """Return which names are floats, as ``4.0``, where the first rows of all hold whole numbers without a point."""
        first = names.head(max(FIRST_NAMES - self.rows, 0)).drop_nulls().str.contains(r"^-?\d+$")
        if len(first):
            self.whole[names.name] = self.whole.get(names.name, True) and first.all()
        late = names.str.contains(".", literal=True).fill_null(False)
        if not (self.whole.get(names.name) and late.any()):
            return late & False
        return names.str.contains(FLOAT_NAME).fill_null(False)

    def whole_lists(self, column: pl.Series) -> pl.Series:
        """Return lists of floats, or of lists of them, as lists of whole numbers."""
        rows = column.to_frame().with_row_index("row")
        whole: pl.DataType = pl.Int64()
        while rows[column.name].dtype.is_nested():
            rows, whole = rows.explode(column.name), pl.List(whole)
        for row, value in rows.filter(not_whole(column.name, rows[column.name].dtype)).head(1).iter_rows():
            raise self.error(f"{value!r} is no name: {NOT_WHOLE}", row, column.name)
        return column.cast(whole, strict=False)

    def weight(self, frame: pl.DataFrame) -> pl.Series:
        """Return the column ``weight``, positive and finite."""
        if frame["weight"].dtype == pl.Boolean:
            raise self.error("the column holds Boolean, not numbers", 0, "weight")
        weight = self.cast(frame["weight"], pl.Float64())
        self.refuse(~(weight.is_finite() & (weight > 0)), frame["weight"], "weight {} is not positive and finite")
        return weight

    def counts(self, frame: pl.DataFrame) -> pl.Series:
        """Return the column ``count``, whole numbers from 0."""
        given = frame["count"]
        if given.dtype == pl.Boolean:
            raise self.error("the column holds Boolean, not numbers", 0, "count")
        number = given.cast(pl.Float64, strict=False) if not given.dtype.is_nested() else self.cast(given, pl.Float64())
        self.refuse(given.is_null(), given, MISSING)
        good = number.is_finite() & (number >= 0) & (number == number.floor()) & (number < EXACT_BELOW)
        how = option("columns", "weight=NAME,count=")
        what = "{} is no whole number of votes " + f"({how} says the weight of one vote)"
        self.refuse(~good.fill_null(False), given, what)
        return number.cast(pl.Int64).alias("count")

    def judge(self, frame: pl.DataFrame) -> pl.Series:
        """Return the column ``judge``; an empty name counts as missing, as CSV may not distinguish the two."""
        judge = frame["judge"]
        if judge.dtype.is_nested():
            what = f"the column holds {str(judge.dtype)[:QUOTED]}; names must be texts or whole numbers"
            raise self.error(f"{what} ({option('columns', 'judge=')} reads the log without it)", 0, "judge")
        if judge.dtype in (pl.String, pl.Categorical, pl.Enum):
            text = judge.cast(pl.String)
            judge = text.set(text == "", None)
        return self.cast(judge, pl.String(), nulls=True)


TOO_WIDE = f"the table has {{}} columns, and rankbench reads {MOST_COLUMNS:,} at most; is this a table?"

MISSING = "the value is missing"

NAMELESS = "the name is empty: nothing stands between the quotes"

EXACT_BELOW = 2.0**53
"""A float from here on may stand for several whole numbers; one of 32 bits from 2^24 on."""

NOT_WHOLE = "names must be texts or whole numbers; large ones are exact as texts or integers, not as floats"

FIRST_NAMES = 1_000
"""Rows that tell whole numbers from other names, and floats from whole numbers: a log is not read twice for it."""

FLOAT_NAME = r"^(-?\d{1,15})\.0*$"
"""A whole number that some program took for a float; one of more digits may stand for several."""

LATE_FLOAT = (
    f"{{}} stands after {FIRST_NAMES:,} rows of whole numbers, and would be another name than the number without a "
    "point. Write this column's names in one way"
)

TOO_LONG = f"the name {{}} is longer than {LONGEST_NAME:,} characters; is it the right column?"


WITH_NULL = "the name {} has the character 0 in it, at which many programs end a name; write it without"


def with_null(names: pl.Series) -> pl.Series:
    """Return which names have the character 0 in them; missing ones have not."""
    return names.str.contains("\0", literal=True).fill_null(False)


def not_whole(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return whether a float is no whole number, or too large to be exact, for each row; NaN is missing."""
    value, exact = pl.col(name), 2.0**24 if dtype == pl.Float32 else EXACT_BELOW
    return value.is_not_nan() & ~((value == value.round()) & (value.abs() < exact))


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
    pl.Int32: "whole number",
    pl.Int64: "whole number",
    pl.UInt32: "position (a whole number from 0)",
    pl.Boolean: "truth value (true or false)",
}
