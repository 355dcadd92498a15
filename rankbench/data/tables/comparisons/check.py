"""Comparisons brought into the schema: two different items, and what is said of them."""

from __future__ import annotations

import polars as pl

from rankbench.data.tables.comparisons.schema import COLUMNS
from rankbench.data.tables.comparisons.sides import CONTRADICTED, MARKED, SAID
from rankbench.data.tables.comparisons.times import TimeReading
from rankbench.errors import InputError
from rankbench.kinds.table_check import RawTable, TableCheck
from rankbench.text import short_repr

__all__ = ["ComparisonsCheck"]


class ComparisonsCheck(TableCheck):
    """Comparisons: two different items, a positive weight, times of one reading."""

    def __init__(self, raw: RawTable, schema: pl.Schema, times: TimeReading | None) -> None:
        super().__init__(raw, schema)
        self.times = times
        roles = dict(raw.roles)
        winner, tie = roles.get("winner", ""), roles.get("tie", "")
        self.names = {"query_id": roles.get("query", ""), SAID: winner, CONTRADICTED: winner, MARKED: tie} | roles

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the log does."""
        return super().error(message, row, self.names.get(column) or column)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        if MARKED in frame.columns:
            self.cast(frame[MARKED], pl.Boolean(), nulls=True)
            marked = short_repr(self.names[MARKED])
            against = f"the winner is {{}}, but the column {marked} says otherwise; mend one of the two"
            self.refuse(frame[CONTRADICTED].is_not_null(), frame[CONTRADICTED], against)
        if SAID in frame.columns:
            what = "sides" if "side" in self.names else "items"
            sides = f"{short_repr(self.names['left'])} and {short_repr(self.names['right'])}"
            neither = f"{{}} is neither of the two {what}, nor a tie; the sides are {sides} here"
            self.refuse(frame[SAID].is_not_null(), frame[SAID], neither)
        columns = [self.cast(frame[name], pl.String()) for name in COLUMNS]
        winner, loser = columns[1], columns[2]
        self.refuse(winner == loser, winner, "item {} is compared with itself")
        if "weight" in self.schema:
            columns.append(self.weight(frame))
        if "judge" in self.schema:
            columns.append(self.judge(frame))
        if self.times is not None:
            columns.append(self.time(frame, self.times))
        if "tie" in self.schema:
            columns.append(self.cast(frame["tie"], pl.Boolean()))
        if "first" in self.schema:
            columns.append(self.cast(frame["first"], pl.Boolean()))
        return pl.DataFrame(columns, schema=self.schema)

    def time(self, frame: pl.DataFrame, times: TimeReading) -> pl.Series:
        """Return the column ``time``, in its type; times may be missing."""
        read = frame.select(times.expression("time").alias("time"))["time"]
        given = frame["time"]
        missing = given.is_null()
        if given.dtype == pl.String:
            missing |= given.str.strip_chars() == ""
        wrong = read.is_null() & ~missing
        if wrong.any():
            row = int(wrong.arg_true()[0])
            raise self.error(times.refusal(given[row]), row, "time")
        return read
