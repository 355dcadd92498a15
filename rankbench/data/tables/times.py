"""Times of votes are read.

Texts sort otherwise than their values ("10" before "9"), so a column of texts is read as what all
of it is; a value that is something else is an error with its row. A reading is decided before
the rows pass by, because a lazy frame must know its types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from rankbench.core.text import short_repr
from rankbench.errors import InputError, option
from rankbench.interfaces.table_check import RawTable, TableCheck

_QUOTED = 100
_TEXTS = (pl.String, pl.Categorical, pl.Enum)

_DAY = r"^(\d{4})[-/.](\d{2})[-/.](\d{2})"
_COMPACT = r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
_CLOCK = r"[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})0*)?)?"
_CLOCK_TEXT = r"^.{10}.(\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,6})?)?)"
_ZONE = r" ?(?:([Zz]|UTC|GMT)|([+-])(0\d|1[0-5]):?([0-5]\d)?)"
_DATE = f"{_DAY}$"
_LOCAL = f"{_DAY}{_CLOCK}$"
_ZONED = f"{_DAY}{_CLOCK}{_ZONE}$"
_WHOLE = r"^[+-]?\d+$"
_PLAIN = r"^[+-]?\d+\.?0*$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def _how() -> str:
    """Return a text on valid forms of times."""
    return (
        "write all of them as numbers, as dates (2024-01-31), as date-times without a zone (2024-01-31 12:00:00) or "
        f"with one (2024-01-31T12:00:00Z). Or read the log without its times ({option('columns', 'time=')})"
    )


_EXACT = 2**53
"""From here on not every whole number is a float."""

_DIGITS = 17
"""As many as tell every two floats apart."""

_LONG = re.compile(rf"{_DAY}.*[.,]\d{{7,}}|[+-]?[\d.]{{16,}}([eE][+-]?\d+)?$")


@dataclass(frozen=True)
class TimeReading:
    """Reading of a column's times.

    Attributes
    ----------
    words : str
        For people, ``dates``; empty where no time of the column is known to be one.
    dtype : DataType
        Type of the times that they become.
    pattern : str
        Pattern of texts that are such times; empty where the column holds no texts.
    """

    words: str
    dtype: pl.DataType
    pattern: str = ""

    def expression(self, name: str) -> pl.Expr:
        """Return the times of a column; other values become null."""
        if not self.pattern:
            column = pl.col(name)
            # NaN has no place in the order.
            return pl.when(column.is_finite()).then(column) if self.dtype.is_float() else column
        text = _text(name)
        fits = text.str.contains(self.pattern)
        if self.dtype.is_numeric():
            number = pl.when(fits).then(text).cast(self.dtype, strict=False)
            return pl.when(number.is_finite() & _held(text, number)).then(number) if self.dtype.is_float() else number
        if self.dtype == pl.Date:
            day = pl.when(fits).then(text).str.replace_all(r"[-/.]", "")
            return day.str.to_date("%Y%m%d", strict=False)
        return pl.when(fits).then(_moment(text, zoned=self.pattern == _ZONED)).cast(self.dtype)

    def refusal(self, given: object) -> str:
        """Return the error message for an unreadable time, `given`."""
        value = short_repr(given)
        if _LONG.match(str(given).strip()):
            return (
                f"{value} is not a time, or has too many digits. rankbench keeps microseconds of date-times, whole "
                f"numbers below 2**63 (2**53 beside fractions), and {_DIGITS} digits of other numbers; {_how()}"
            )
        if not self.words:
            return f"time {value} is neither a number nor an ISO date or date-time; {_how()}"
        return f"time {value} is not one of {self.words}, which is what the first time of the column is; {_how()}"


_WHOLE_NUMBERS = TimeReading("whole numbers", pl.Int64(), _WHOLE)
_NUMBERS = TimeReading("numbers", pl.Float64(), _NUMBER)
_DATES = TimeReading("dates", pl.Date(), _DATE)
_COMPACTS = TimeReading("dates such as 20240131", pl.Date(), _COMPACT)
_LOCALS = TimeReading("date-times without a zone", pl.Datetime("us"), _LOCAL)
_ZONEDS = TimeReading("date-times with a zone", pl.Datetime("us", "UTC"), _ZONED)
_READINGS = (_WHOLE_NUMBERS, _NUMBERS, _DATES, _LOCALS, _ZONEDS)
_NONE = TimeReading("", pl.Float64(), _NUMBER)


def _text(name: str) -> pl.Expr:
    """Return the column's texts; blank ones are missing, as CSV may not distinguish the two."""
    text = pl.col(name).cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)


def _held(text: pl.Expr, number: pl.Expr) -> pl.Expr:
    """Return whether a float equals its text; otherwise different times would be rounded to one."""
    digits = (
        text.str.replace(r"[eE].*$", "").str.replace_all(r"\D", "").str.strip_chars_start("0").str.strip_chars_end("0")
    )
    return (digits.str.len_bytes() <= _DIGITS) & ~(text.str.contains(_PLAIN) & (number.abs() >= _EXACT))


def _moment(text: pl.Expr, *, zoned: bool) -> pl.Expr:
    """Return ISO date-times to the microsecond, in UTC if they have a zone; null for invalid days and hours."""
    day = text.str.slice(0, 10).str.replace_all("[/.]", "-")
    clock = text.str.extract(_CLOCK_TEXT).str.replace(",", ".", literal=True).str.replace(r"^(\d\d:\d\d)$", "$1:00")
    if not zoned:
        return pl.concat_str([day, clock], separator=" ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False)
    zone = text.str.extract(f"{_ZONE}$", 0).str.strip_chars().str.replace(":", "", literal=True)
    zone = zone.str.replace("(?i)^[a-z]+$", "+0000").str.replace(r"^(.\d\d)$", "${1}00")
    moment = pl.concat_str([day, pl.lit(" "), clock, zone])
    return moment.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_unit="us")


def time_of(raw: RawTable) -> TimeReading | None:
    """Return the reading of a table's column ``time``, or None without one; see `time_reading`."""
    if "time" not in raw.schema:
        return None
    with raw.located(raw.roles.get("time", "time")):
        return time_reading(raw.frame, "time")


def time_reading(raw: pl.LazyFrame, name: str) -> TimeReading:
    """Return the type of a column's times; texts are read as the first one can be.

    The check of the rows raises for the first one that is something else. Only where the first is a whole
    number is the column read for it, to see whether all of them are, or dates such as 20240131.

    Parameters
    ----------
    raw : LazyFrame
    name : str
        The column.

    Raises
    ------
    InputError
        The column's type is not one of times.
    """
    dtype = raw.collect_schema()[name]
    if dtype not in _TEXTS and not dtype.is_integer():
        return _native(dtype, name)
    texts = raw.select(_text(name).alias(name)).drop_nulls()
    first = texts.head(1).collect(engine="streaming").lazy()
    # No text at all can be read as anything.
    if len(first.collect()) and _taken(first, _COMPACTS, name) and _taken(texts, _COMPACTS, name):
        return _COMPACTS
    if dtype not in _TEXTS:
        return _native(dtype, name)
    reading = next((known for known in _READINGS if _taken(first, known, name)), _NONE)
    return _NUMBERS if reading is _WHOLE_NUMBERS and not _taken(texts, reading, name) else reading


def checked_times(check: TableCheck, given: pl.Series, times: TimeReading) -> pl.Series:
    """Return a batch's column ``time``, in its type; times may be missing.

    Raises
    ------
    InputError
        With its row: a value that is no such time.
    """
    read = given.to_frame("time").select(times.expression("time").alias("time"))["time"]
    missing = given.is_null()
    if given.dtype == pl.String:
        missing |= given.str.strip_chars() == ""
    wrong = read.is_null() & ~missing
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise check.error(times.refusal(given[row]), row, "time")
    return read.alias("time")


def _taken(texts: pl.LazyFrame, reading: TimeReading, name: str) -> bool:
    """Return whether all of some texts can be read so."""
    return texts.select(reading.expression(name).is_not_null().all()).collect(engine="streaming").item() is True


_NATIVE = {pl.Null: "times", pl.Date: "dates", pl.Datetime: "date-times", pl.Duration: "durations"}


def _native(dtype: pl.DataType, name: str) -> TimeReading:
    words = "numbers" if dtype.is_numeric() else _NATIVE.get(dtype.base_type())
    if words is None:
        raise InputError(f"the column holds {str(dtype)[:_QUOTED]}, which does not order votes; {_how()}", column=name)
    return TimeReading(words, dtype)
