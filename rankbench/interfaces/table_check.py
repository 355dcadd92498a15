"""Table checks convert columns, check weights, and name the row of an error."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import listed, plain_name, short_repr
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark

UNREADABLE: tuple[type[BaseException], ...] = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Errors of Polars where a file cannot be read; damaged Parquet can make it panic, which is no `Exception`."""

LONGEST_NAME = 10_000
"""Most characters of a name: what is longer is no name but a misread column."""

QUOTED = 400
"""Most characters of a type, or of what Polars says, that an error quotes."""

_LOOKED_AT = 200
"""Rows that are looked at for what columns mean."""

BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
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
        Names of columns in the file, by role, where they have not the usual names.
    unwanted : set of str
        Columns that the user leaves out: nothing in them is wrong, and nothing is read.
    """

    frame: pl.LazyFrame
    path: Path | None = None
    header: int = 0
    allow_single: bool = False
    diagnose: Callable[[], None] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[int], tuple[Path | str | None, int | None]] | None = None
    unwanted: frozenset[str] = frozenset()

    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        with self.reading():
            return self.frame.collect_schema()

    def first_cells(self) -> dict[str, list[str]]:
        """Return the first 200 rows as texts, by column; without columns of lists and the like."""
        names = [name for name, dtype in self.schema().items() if not dtype.is_nested() and dtype != pl.Binary]
        if not names:
            return {}
        texts = pl.col(names).cast(pl.String).fill_null("").str.strip_chars()
        with self.reading():
            row = self.frame.head(_LOOKED_AT).select(texts.implode()).collect().row(0)
        return dict(zip(names, row, strict=True))

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in pieces of bounded size, none of them empty."""
        with self.reading():
            for frame in self.frame.collect_batches(maintain_order=True, engine="streaming"):
                if frame.height:
                    yield frame

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Name the file where Polars cannot read it."""
        try:
            yield
        except UNREADABLE as error:
            if self.diagnose is not None:
                self.diagnose()
            raise InputError(str(error).strip().split("\n", 1)[0][:QUOTED], path=self.path) from error

    @contextmanager
    def located(self, column: str | None = None) -> Iterator[None]:
        """Name the file, and the column where it is given, in errors of what is found inside; see `reading`."""
        with self.reading():
            try:
                yield
            except InputError as error:
                path, row = self.place(error.row)
                raise InputError(error.message, path=path, row=row, column=column or error.column) from error

    def place(self, row: int | None) -> tuple[Path | str | None, int | None]:
        """Return the file and the row there, as errors name them, of a row of the table from 1."""
        if row is None or self.locate is None:
            return self.path, None if row is None else self.header + row
        return self.locate(row)


class TableCheck:
    """Converts and checks the batches of one pass over a table.

    Parameters
    ----------
    raw : RawTable
    schema : Schema
        Of what the table becomes.
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
        """Check what can be known only after the last row."""
        if self.rows == 0:
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

    def judge(self, frame: pl.DataFrame) -> pl.Series:
        """Return the column ``judge``; an empty name is a missing one, which CSV cannot always tell apart."""
        judge = frame["judge"]
        if judge.dtype.is_nested():
            what = f"the column holds {str(judge.dtype)[:QUOTED]}; names must be texts or whole numbers"
            raise self.error(f"{what} (--columns judge= reads the log without it)", 0, "judge")
        if judge.dtype in (pl.String, pl.Categorical, pl.Enum):
            text = judge.cast(pl.String)
            judge = text.set(text == "", None)
        return self.cast(judge, pl.String(), nulls=True)


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
    f"{{}} stands after {FIRST_NAMES:,} rows of whole numbers without a point, and would be another name than the "
    "number without one: write this column's names in one way"
)

TOO_LONG = f"the name {{}} is longer than {LONGEST_NAME:,} characters; is it the right column?"


def not_whole(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return which floats of a column are no whole number, or may stand for several; NaN is a missing one."""
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


WEIGHTLESS = "weightless"
"""Role, beside ``weight``, of a weight's column where it is 0 in some rows, which are left out."""

_WEIGHTS = "weights"

_COUNTS = {
    *("count", "counts", "cnt", "n", "freq", "freqs", "frequency", "votes", "num_votes", "n_votes", "number_of_votes"),
    *("vote_count", "voters", "num_voters", "n_voters", "ballots", "num_ballots", "multiplicity", "occurrences"),
    _WEIGHTS,
}
"""Names, as `plain_name` gives them, of columns that say how many votes or ballots a row stands for."""

_PERHAPS = {
    *("games", "num_games", "n_games", "matches", "num_matches", "n_matches", "battles", "num_battles", "n_battles"),
    *("times", "total", "wins", "num_wins", "num", "no", "tally", "no_of_votes", "number", "comparisons"),
}
"""Names of columns that may say, beside a winner and a loser, how often the one won."""

_RATIO = 1e15
_HUGE, _TINY = 1e100, 1e-100


def with_counts(raw: pl.LazyFrame, roles: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a log by role, with a column of counts as its ``weight``.

    One pass over the columns that are called like counts. A column of whole numbers weighs rows, and rows of 0 are
    to be left out: the column is `WEIGHTLESS` as well. Of 1 in every row it says nothing, and words are no counts.

    Parameters
    ----------
    raw : LazyFrame
    roles : mapping of str to str
        Columns by role, given or guessed.
    given : mapping of str to str
        The user's: what they say of ``weight`` decides.

    Raises
    ------
    InputError
        Several columns may weigh the rows, or one that is called like counts holds other numbers, or 1, 2, 3, ...
    """
    taken = set(roles.values())
    known = _COUNTS | _PERHAPS if "loser" in roles else _COUNTS
    plain = {name: plain_name(name).strip("_") for name in raw.collect_schema() if name not in taken}
    named = [name for name, words in plain.items() if words in known]
    if "weight" in given or not named:
        return _without_nothing(raw, roles)
    rows, *facts = raw.select(pl.len(), *map(_facts_of, named)).collect(engine="streaming").row(0)
    likely, why = list[str](), ""
    for name, found in zip(named, facts, strict=True):
        numbers, low, high = found["numbers"], found["low"], found["high"]
        if not numbers or (low == high == 1 and numbers == rows):
            continue
        perhaps = plain[name] in _PERHAPS
        if perhaps and (found["whole"] < rows or low < 0):
            continue
        likely.append(name)
        whole = found["whole"] == rows or plain[name] == _WEIGHTS
        if perhaps:
            why = f"{short_repr(name)} may say how many votes a row stands for"
        elif not (low >= 0 and high > 0 and numbers == rows and whole):
            why = f"{short_repr(name)} is called like a column of counts, but holds other values than 0, 1, 2, ..."
        elif low in (0, 1) and high - low + 1 == rows > 1 and _distinct(raw, name) == rows:
            why = f"{short_repr(name)} may count votes, or number the rows from {low:g} to {high:,g}"
    weights = ([roles["weight"]] if "weight" in roles else []) + likely
    if likely and len(weights) > 1:
        why = f"{listed(weights)} may each say how many votes a row stands for"
    elif likely and not why and "left_wins" in roles:
        why = f"{short_repr(likely[0])} may count the games of a series, or series that went alike"
    if why:
        choices = " | ".join(
            f"--columns {shlex.quote(f'weight={name}')} weighs each row by {short_repr(name)}" for name in weights
        )
        raise InputError(f"{why}: {choices} | --columns weight= counts each row once")
    if not likely:
        return _without_nothing(raw, roles)
    remark(f"{short_repr(likely[0])} weighs the rows: each counts so many times (--columns weight= counts each once)")
    return _without_nothing(raw, {**roles, "weight": likely[0]})


def without_counts(names: Iterable[str], roles: Mapping[str, str]) -> None:
    """Remark which columns of counts are not used, of a table whose rows count once."""
    for name in names:
        if plain_name(name).strip("_") in _COUNTS and name not in roles.values():
            remark(f"{short_repr(name)} is not used: each row counts once")


def _without_nothing(raw: pl.LazyFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """Return columns by role, with a weight that is 0 somewhere as `WEIGHTLESS` too; a remark counts rows."""
    dtype = raw.collect_schema()[roles["weight"]] if "weight" in roles else None
    if dtype is None or not (dtype.is_numeric() or dtype == pl.String):
        return dict(roles)  # the check refuses what is no number
    count = raw.select(weightless(roles["weight"]).sum()).collect(engine="streaming").item()
    if not count:
        return dict(roles)
    remark(f"{count:,} rows whose {short_repr(roles['weight'])} is 0 are left out")
    return {**roles, WEIGHTLESS: roles["weight"]}


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _facts_of(name: str) -> pl.Expr:
    """Return how many numbers a column has, how many of them are whole, and the least and the largest."""
    value = _number(name)
    whole = (value == value.floor()) & value.is_finite()
    facts = {"numbers": value.count(), "whole": whole.sum(), "low": value.min(), "high": value.max()}
    return pl.struct([fact.alias(key) for key, fact in facts.items()]).alias(name)


def weightless(name: str) -> pl.Expr:
    """Return in which rows a column of weights is 0."""
    return (_number(name) == 0).fill_null(False)


def _distinct(raw: pl.LazyFrame, name: str) -> int:
    return int(raw.select(pl.col(name).n_unique()).collect(engine="streaming").item())


def check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights, or sums of them, that would make scores silently wrong.

    A float has sixteen digits: besides a weight that is 1e15 times as large, another one is lost
    in the sum. Squares of weights beyond 1e100, or below 1e-100, leave the finite numbers.

    Parameters
    ----------
    weights : ndarray of float64
        Positive.

    Raises
    ------
    InputError
        Their sum is not finite or beyond these bounds, or they differ too much.
    """
    if not weights.size:
        return
    low, high = float(weights.min()), float(weights.max())
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total) or total > _HUGE or high < _TINY or high > _RATIO * low:
        raise InputError(
            f"weights add up to {total:.3g}, and range from {low:.3g} to {high:.3g}: scores would be lost in rounding; "
            "divide all of them by one number, so that they are about 1, and mend those that are far from the others",
            column="weight",
        )
