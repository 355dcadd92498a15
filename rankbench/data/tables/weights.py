"""Weights and counts of rows are read: numbers of at least 0, counts whole ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.cells import ROW, cell_at, form_of, missing_number, number_of, refuse_no_numbers, text_of
from rankbench.data.tables.codes import refuse_code
from rankbench.data.tables.doubts import refuse_grouped
from rankbench.data.tables.totals import is_kept, keeping
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable


class Weighed(NamedTuple):
    """Rows and their weights, or counts: how many there are, of weight 0 too, their sum, the lowest, the highest."""

    rows: int
    zero: int
    total: float
    low: float | None
    high: float | None

    def text(self, name: str, role: str, noun: str = "ballot", unit: str = "voter") -> str:
        """Return a text on the column of a role, which has one weight for each `noun`, or counts its `unit`."""
        what = f"are {count_text(self.total, unit)}" if role == "count" else f"weigh {self.total:,.10g}"
        each = f", {self.low:g} to {self.high:g} each" if self.low != self.high else ""
        return f"{name}: {count_text(self.rows, noun)} {what}{each}"


def weight_of(raw: RawTable, role: str, reading: Reading) -> pl.Expr:
    """Return the numbers of the column of weights, or of counts; 0 for words that mean missing, null for others.

    Raises
    ------
    InputError
        The column holds no numbers.
    """
    name, words = reading.first[role], reading.words.get("missing", ())
    refuse_no_numbers(raw, [name])
    if raw.schema[name].is_numeric():
        value: pl.Expr = pl.when(pl.col(name).is_finite()).then(pl.col(name).cast(pl.Float64))
    else:
        # Weights have any unit, but one; counts have none.
        text = text_of(name)
        shares = pl.lit(value=role == "weight") & text.str.contains("%$").all()
        text = pl.when(shares).then(text.str.strip_suffix("%").str.strip_chars_end()).otherwise(text)
        number = pl.when(~text.str.to_lowercase().is_in(["true", "false"])).then(text)
        value = number_of(number, form_of(reading), errors=False)
    return pl.when(~missing_number(text_of(name), value, words)).then(value).otherwise(0.0) if words else value


def checked_weights(raw: RawTable, role: str, reading: Reading) -> Weighed:
    """Check the weights, or the counts, of a table's rows, and add them up.

    Raises
    ------
    InputError
        The column holds no numbers.
    Unread
        With its row: a cell is no weight; or a point or a comma may group thousands, or a number may be a code.
    """
    name, value = reading.first[role], weight_of(raw, role, reading)
    refuse_grouped(raw, [name], reading)
    good = (value >= 0) if role == "weight" else (value >= 0) & (value == value.floor())
    wrong = pl.col(ROW).filter(~good.fill_null(value=False)).min().alias("wrong")
    facts = pl.len(), (value == 0).sum().alias("zero"), value.sum().alias("sum"), value.min().alias("low"), value.max()
    number = pl.col(ROW).cast(pl.Float64)
    numbers = ((value == number).all() | (value == number + 1).all()).alias("numbers")
    row, index, *found = raw.collect(raw.frame.with_row_index(ROW).select(wrong, numbers, *facts)).row(0)
    if row is not None:
        what = "positive and finite number" if role == "weight" else "whole number of votes"
        one = "; weight=NAME is the weight of one vote" * (role == "count")
        step = f"{option('columns', f'{role}=')} counts each row once{one}"
        cell = short_repr(cell_at(raw, row, name))
        raise raw.at(row, Unread(f"{cell} is no {what}", step, code="number", column=name))
    if index and found[0] > 3 and not is_kept(reading, name):
        step = (
            f"{option('columns', f'{role}=,ignore={name}')} counts each row once; {keeping(name)} says that it counts"
        )
        raise Unread(f"{short_repr(name)} numbers the rows", step, code="index", column=name)
    refuse_code(raw, {name: value}, reading, lowest=-math.inf)
    return Weighed(*found)
