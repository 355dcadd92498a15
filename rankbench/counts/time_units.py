"""Votes by the hour, day or year: what of a log is taken to be of one time."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from rankbench.errors import SpecError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    *("CALENDAR_UNITS", "TimeUnit", "comparable_time", "in_units", "moments_of_numbers", "read_time", "units_since"),
    "written_time",
]

TimeUnit: TypeAlias = Literal["time", "minute", "hour", "day", "week", "month", "quarter", "year"]
"""What votes are taken to be of one time; ``time``: of the same one in the log."""

CALENDAR_UNITS: dict[TimeUnit, str] = {
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
}
"""The units that only dates and date-times have, the finest first, as Polars writes them."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MINUTES = {"minute": 1, "hour": 60, "day": 1440, "week": 10080}


_EPOCHS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_BEGIN, _END = 631_152_000, 4_102_444_800
"""Seconds since 1970 at the beginnings of 1990 and of 2100."""


def moments_of_numbers(times: pl.Series, unit: TimeUnit | None, since: str = "") -> tuple[pl.Series, list[str]]:
    """Return numbers as moments, and a note, where a calendar's unit or a date is asked of them; others as they are.

    Numbers are moments if all of them are seconds since 1970, or thousandths of them and so on, from 1990 to 2100.
    """
    import polars as pl

    asked = unit in CALENDAR_UNITS or (since.strip() and not _later(since))
    if not asked or not times.dtype.is_numeric() or not len(times):
        return times, []
    for name, parts in _EPOCHS.items():
        if times.is_between(_BEGIN * parts, _END * parts).all():
            micros = (times * (10**6 / parts)).round() if parts <= 10**6 else times // 10**3
            moments = micros.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
            return moments, [f"times are read as {name} since 1970, in UTC"]
    return times, []


def _later(since: str) -> bool:
    """Return whether a text is a number beyond years."""
    try:
        return abs(float(since)) > 9999
    except ValueError:
        return False


def in_units(times: pl.Series, unit: TimeUnit) -> pl.Series:
    """Return times as the beginnings of their hours, days, ..

    Raises
    ------
    SpecError
        They are numbers, of which nobody knows what a day is.
    """
    import polars as pl

    if unit == "time" or (times.dtype == pl.Date and unit in ("minute", "hour")):
        return times
    if not isinstance(times.dtype, pl.Datetime) and times.dtype != pl.Date:
        raise SpecError(
            f"the log's times are numbers, of which nobody knows what a {unit} is; leave --time-unit out, or write "
            "dates or date-times"
        )
    return times.dt.truncate(CALENDAR_UNITS[unit])


def units_since(times: pl.Series, unit: TimeUnit) -> pl.Series:
    """Return how many units have passed since the first of some times, floats.

    Parameters
    ----------
    times : Series
        Not decreasing, as `in_units` returns them; not numbers.
    unit : TimeUnit
        Not ``time``.
    """
    import polars as pl

    if unit in _MONTHS:
        months = (times.dt.year().cast(pl.Int64) * 12 + times.dt.month()) // _MONTHS[unit]
        return pl.Series((months - months[0]).cast(pl.Float64))
    moments = times.cast(pl.Datetime("us")).cast(pl.Int64)
    return pl.Series((moments - moments[0]).cast(pl.Float64) / (_MINUTES[unit] * 60e6))


def written_time(time: object, unit: TimeUnit) -> str:
    """Return a time for people: of a year the year, of a month the month, else as ISO 8601 has it."""
    if not isinstance(time, date):
        return str(time)
    if unit == "quarter":
        return f"{time.year:04d}-Q{(time.month + 2) // 3}"
    text = time.isoformat()
    return {"year": text[:4], "month": text[:7], "week": text[:10], "day": text[:10]}.get(unit, text)


_BEGINS = re.compile(r"(\d{4})(?:-(?:(\d{2})|Q([1-4])))?")


def comparable_time(time: float | date) -> float | datetime:
    """Return a time as `read_time` returns it."""
    if isinstance(time, date) and not isinstance(time, datetime):
        return datetime(time.year, time.month, time.day)
    return time


def read_time(text: str, like: float | date) -> float | datetime:
    """Return the time that a text says, to compare with those of a log: of a year, quarter, month or day its beginning.

    Parameters
    ----------
    text : str
        A number; or ``2024``, ``2024-Q2``, ``2024-03`` or what ISO 8601 has for days and moments.
    like : float, date or datetime
        A time of the log. One with a zone is in UTC, and so is a text without.

    Raises
    ------
    SpecError
        It is no such time.
    """
    text = text.strip()
    if not isinstance(like, date):
        try:
            number = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise SpecError("the log's times are numbers, and this is none")
        return number
    zone = like.tzinfo if isinstance(like, datetime) else None
    try:
        if begins := _BEGINS.fullmatch(text):
            year, month, quarter = begins.groups()
            moment = datetime(int(year), int(month or 3 * int(quarter or 1) - 2), 1)
        else:
            moment = datetime.fromisoformat(text)
    except ValueError:
        raise SpecError("write a time as 2024, 2024-Q2, 2024-03, 2024-03-31 or 2024-03-31T12:00") from None
    if zone is None and moment.tzinfo is not None:
        raise SpecError("the log's times have no zone: write one without")
    if zone is not None:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment
