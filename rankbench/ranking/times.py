"""Votes of a unit of time go together: hours, days, quarters, or stretches of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import SpecError, option

CalendarUnit: TypeAlias = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
"""Span of dates and date-times."""

TimeUnit: TypeAlias = Literal["time", CalendarUnit]
"""Span whose votes count as of one time; ``time``: the same time in the log."""

CALENDAR_UNITS: dict[CalendarUnit, str] = {
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


def _moments_of_numbers(times: pl.Series, since: str = "") -> tuple[pl.Series, list[str]]:
    """Return numbers as moments, with a note, unless `since` needs numbers; other times unchanged.

    Numbers are moments if all of them are seconds since 1970, or thousandths of them and so on, from 1990 to 2100.
    """
    if _later(since) or not times.dtype.is_numeric() or not len(times):
        return times, []
    near = times.cast(pl.Float64)
    for name, parts in _EPOCHS.items():
        if near.is_between(_BEGIN * parts, _END * parts).all():
            micros = (times * (10**6 / parts)).round() if parts <= 10**6 else times // 10**3
            moments = micros.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
            return moments, [f"rankbench reads times as {name} since 1970, in UTC"]
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
        They are numbers, and no unit is known.
    """
    if unit == "time" or (times.dtype == pl.Date and unit in ("minute", "hour")):
        return times
    if not isinstance(times.dtype, pl.Datetime) and times.dtype != pl.Date:
        raise SpecError(
            f"the log's times are numbers, and nothing says how many make a {unit}; leave {option('time_unit')} out, "
            "or write dates or date-times"
        )
    return times.dt.truncate(CALENDAR_UNITS[unit])


def _units_since(times: pl.Series, unit: TimeUnit) -> pl.Series:
    """Return the number of units since the first of some times, as floats.

    Parameters
    ----------
    times : Series
        Not decreasing, as `in_units` returns them; not numbers.
    unit : TimeUnit
        Not ``time``.
    """
    if unit in _MONTHS:
        months = (times.dt.year().cast(pl.Int64) * 12 + times.dt.month()) // _MONTHS[unit]
        return pl.Series((months - months[0]).cast(pl.Float64))
    moments = times.cast(pl.Datetime("us")).cast(pl.Int64)
    return pl.Series((moments - moments[0]).cast(pl.Float64) / (_MINUTES[unit] * 60e6))


_MOST_TIMES = 200
"""Most times of a log: without a unit of time, rankbench takes the finest within this limit."""

_STRETCHES = 50
"""Times of a log whose times are numbers, more than `_MOST_TIMES` of them: stretches of about equally many votes."""


def _times_together(times: pl.Series, unit: CalendarUnit | None) -> tuple[pl.Series, TimeUnit, NDArray[np.float64]]:
    """Return the time unit of each vote, the unit's name, and the number of units since the first."""
    if isinstance(times.dtype, pl.Datetime) or times.dtype == pl.Date:
        units = [unit] if unit is not None else list(CALENDAR_UNITS)
        if times.dtype == pl.Date and unit is None:
            units = units[units.index("day") :]
        for one in units:
            found = in_units(times, one)
            if one == units[-1] or found.n_unique() <= _MOST_TIMES:
                return found, one, _units_since(found, one).to_numpy()
    if unit is not None:
        in_units(times, unit)
    place = (times != times.shift(1)).fill_null(False).cum_sum().to_numpy()
    if place[-1] >= _MOST_TIMES:
        n = len(place)
        # A stretch begins with a time, so that all votes of one time are in one stretch.
        begins = np.unique(np.searchsorted(place, place[np.arange(_STRETCHES) * n // _STRETCHES]))
        place = np.searchsorted(begins, np.arange(n), side="right") - 1
        times = times.gather(begins[place])
    return times, "time", place.astype(np.float64)


def _written_time(time: object, unit: TimeUnit) -> str:
    """Return a time for people: of a year the year, of a month the month, else in ISO 8601."""
    if not isinstance(time, date):
        return str(time)
    if unit == "quarter":
        return f"{time.year:04d}-Q{(time.month + 2) // 3}"
    text = time.isoformat()
    return {"year": text[:4], "month": text[:7], "week": text[:10], "day": text[:10]}.get(unit, text)


_BEGINS = re.compile(r"(\d{4})(?:-(?:(\d{2})|Q([1-4])))?")


def _comparable_time(time: float | date) -> float | datetime:
    """Return a time in the type of `read_time`."""
    if isinstance(time, date) and not isinstance(time, datetime):
        return datetime(time.year, time.month, time.day)
    return time


def read_time(text: str, like: float | date) -> float | datetime:
    """Return a text as a time to compare with a log's: the beginning of a year, quarter, month or day.

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


class TimesTogether(NamedTuple):
    """Times of a log, T of them, whose votes go together.

    Attributes
    ----------
    moments : Series, T
    unit : TimeUnit
    names : list of str
        As they are written.
    x : ndarray of float64, shape (T,)
        How many units have passed.
    place : ndarray of int64, shape (n,)
        Time of each vote, in the order of time.
    then : int
        The time that the last one is compared with.
    notes : list of str
    """

    moments: pl.Series
    unit: TimeUnit
    names: list[str]
    x: NDArray[np.float64]
    place: NDArray[np.int64]
    then: int
    notes: list[str]

    @property
    def dated(self) -> bool:
        """Whether times are dates."""
        return isinstance(self.moments.dtype, pl.Datetime) or self.moments.dtype == pl.Date

    @property
    def axis(self) -> tuple[float, ...]:
        """Positions of times on an axis: dates in days since 1970, numbers unchanged, other times by index."""
        if self.dated:
            return tuple(self.moments.cast(pl.Datetime("us")).cast(pl.Int64) / 86_400e6)
        return tuple(map(float, self.moments if self.moments.dtype.is_numeric() else self.x))

    @classmethod
    def from_votes(cls, coded: pl.LazyFrame, unit: CalendarUnit | None, since: str) -> TimesTogether:
        """Return the times of a log's votes, by a unit."""
        times, dated = _moments_of_numbers(coded.select("time").collect()["time"].sort(), since)
        periods, chosen, x = _times_together(times, unit)
        place = (periods != periods.shift(1)).fill_null(False).cum_sum().to_numpy().astype(np.int64)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        if len(starts) < 2:
            raise SpecError(
                f"all votes are of one {chosen}: there is nothing over time; say a finer {option('time_unit')}"
            )
        moments = periods.gather(starts)
        names = [_written_time(time, chosen) for time in moments.to_list()]
        then = _then(moments.to_list(), names[-1], since, place)
        return cls(moments, chosen, names, x[starts], place, then, [*dated])


def _then(moments: Sequence[Any], last: str, since: str, place: NDArray[np.int64]) -> int:
    """Return the time to compare the last one with; `last` is its text."""
    if not since:
        return min(int(place[len(place) // 2]), len(moments) - 2)
    try:
        asked = read_time(since, moments[0])
    except SpecError as error:
        raise SpecError(f"{option('since', since)}: {error}") from error
    after: Iterator[Any] = map(_comparable_time, moments)
    found = next((t for t, moment in enumerate(after) if moment >= asked), len(moments))
    if found > len(moments) - 2:
        raise SpecError(f"{option('since', since)}: the log has no time from there on before its last one, {last}")
    return found
