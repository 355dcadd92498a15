"""Measurements brought into the schema: one finite score a cell, and no cell twice."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankbench.data.tables.measurements.layout import MISSING, without_errors
from rankbench.errors import InputError
from rankbench.kinds.table_check import RawTable, TableCheck
from rankbench.text import short_repr

__all__ = ["MeasurementsCheck"]

_TRUTH = {"true": "1", "false": "0"}


class MeasurementsCheck(TableCheck):
    """Measurements: a row is a cell, or has several side by side, as a struct."""

    def __init__(self, raw: RawTable, schema: pl.Schema) -> None:
        super().__init__(raw, schema)
        self.roles = dict(raw.roles)
        self.keys: list[pl.DataFrame] = []
        self.filled: dict[str, bool] = {}
        self.percent: dict[str, bool] = {}

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        several = isinstance(frame["score"].dtype, pl.Struct)
        named = [name for name in self.schema if name != "score"]
        if several:
            named.remove("query_id" if "system" in self.roles else "system")
        columns = {name: self.cast(self._own(frame, name), pl.String()).alias(name) for name in named}
        self.keys.append(pl.DataFrame(columns))
        if not several:
            score = self._numbers(self._own(frame, "score")).alias("score")
            return pl.DataFrame([*columns.values(), score]).select(list(self.schema))
        cells = frame["score"].struct.unnest()
        side = pl.Series("query_id" if "system" in self.roles else "system", cells.columns, pl.String)
        at = np.repeat(np.arange(cells.width), frame.height)
        repeated = [column.gather(np.tile(np.arange(frame.height), cells.width)) for column in columns.values()]
        together = self._together(cells)
        if together is None:
            together = pl.concat([self._numbers(cells[name]) for name in cells.columns])
        score = together.alias("score")
        return pl.DataFrame([*repeated, side.gather(at), score]).select(list(self.schema))

    def end(self) -> None:
        """Refuse a cell that was given twice, and a column without any score."""
        super().end()
        empty = [name for name, some in self.filled.items() if not some and name not in self.raw.unwanted]
        if empty:
            raise InputError("the column has no score at all; remove it, or fill it", path=self.path, column=empty[0])
        keys = pl.concat(self.keys)
        again = ~keys.select(pl.struct(pl.all()).is_first_distinct()).to_series()
        if again.any():
            row = int(again.arg_true()[0])
            path, number = self.raw.place(row + 1)
            what = ", ".join(f"{_WORD[name]} {short_repr(keys[name][row])}" for name in keys.columns)
            raise InputError(
                f"{what}: another row has the same; remove one, or say which column tells them apart "
                "(--columns seed=NAME)",
                path=path,
                row=number,
            )

    def _own(self, frame: pl.DataFrame, name: str) -> pl.Series:
        """Return a column under its name in the file, for errors."""
        return frame[name].alias(self.roles.get("task" if name == "query_id" else name, name))

    def _together(self, cells: pl.DataFrame) -> pl.Series | None:
        """Return the scores of all columns, one after the other; None if each must be looked at by itself.

        A thousand columns are a thousand times as many calls. Signs, types that differ, and whatever is wrong are
        things of one column, and are found there.
        """
        texts = all(dtype == pl.String for dtype in cells.dtypes)
        if any(self.percent.values()) or not (texts or all(dtype.is_numeric() for dtype in cells.dtypes)):
            return None
        column = cells.unpivot(variable_name="name", value_name="score")["score"]
        if texts:
            column = _plain(column)
            if column.str.ends_with("%").any():
                return None
        try:
            scores = self._finite(column)
        except InputError:
            return None
        some = scores.is_not_null().to_numpy().reshape(cells.width, cells.height)
        for name, filled in zip(cells.columns, some, strict=True):
            self.filled[name] = self.filled.get(name, False) or bool(filled.any())
            if texts:
                self.percent.setdefault(name, False)
        return scores

    def _numbers(self, column: pl.Series) -> pl.Series:
        """Return scores, null where one is missing."""
        if column.dtype == pl.String:
            column = self._without_signs(_plain(column))
        scores = self._finite(column)
        self.filled[column.name] = self.filled.get(column.name, False) or scores.null_count() < len(scores)
        return scores

    def _finite(self, column: pl.Series) -> pl.Series:
        if column.dtype == pl.String:
            scores = column.cast(pl.Float64, strict=False)
            self.refuse(scores.is_null() & column.is_not_null(), column, _NO_NUMBER)
        else:
            scores = self.cast(column, pl.Float64(), nulls=True)
        scores = scores.fill_nan(None)
        self.refuse(~scores.is_finite().fill_null(True), column, "the score {} is not finite")
        return scores

    def _without_signs(self, column: pl.Series) -> pl.Series:
        """Return scores that have all a percent sign without it, ``60.25%`` as 60.25; or the column as it is."""
        signed = column.str.ends_with("%")
        with_sign = self.percent.setdefault(column.name, bool(signed.any()))
        self.refuse((signed != with_sign) & column.is_not_null(), column, _SIGNS)
        return column.str.strip_suffix("%").str.strip_chars_end() if with_sign else column


def _plain(column: pl.Series) -> pl.Series:
    """Return texts without errors, null where one says that the score is missing, truth values as numbers."""
    column = column.to_frame().select(without_errors(pl.col(column.name))).to_series()
    text = column.str.to_lowercase()
    known = column.set(text.is_in(list(MISSING)).fill_null(False), None)
    return known.zip_with(~text.is_in(list(_TRUTH)).fill_null(False), text.replace(_TRUTH)).alias(column.name)


_NO_NUMBER = "{} is not a number; write one, or leave the cell empty (--without NAME leaves a column out)"

_SIGNS = "the score {} is written otherwise than others of its column: some have a percent sign, some have none"

_WORD = {"query_id": "task", "system": "system", "seed": "seed"}
