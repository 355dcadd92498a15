"""The kind `measurements` holds score tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.core.text import short_repr
from rankbench.data.tables.schemas import measurements_schema
from rankbench.data.tables.score_cells import read_measurements, scores_of
from rankbench.errors import InputError, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import QUOTED, RawTable, ReadTable, TableCheck


class MeasurementTable(TableKind):
    """Score tables: what each system reached on each task, with each seed.

    A row a cell, or a row a system with its tasks side by side, or a row a task with its systems side by side.

    Prefer it for scores of systems on tasks, which ``rankbench rank`` reads.
    """

    name: ClassVar[str] = "measurements"
    source: ClassVar[str] = "mteb, SWE-bench, EuroEval"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "system", "score")
    optional: ClassVar[tuple[str, ...]] = ("seed", "less")
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = (
        *(("system", "task", way, *metric) for way in ("score", "loss") for metric in ((), ("metric",))),
        *((row, side) for row in ("system", "task") for side in ("scores", "losses")),
    )
    beside: ClassVar[tuple[str, ...]] = ("seed",)
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ("measurements",)
    words: ClassVar[str] = "score tables"
    method: ClassVar[str] = "mean-score"

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return two systems on two tasks, one cell of them missing."""
        return {
            "query_id": ["t", "t", "u", "u"],
            "system": ["a", "b", "a", "b"],
            "score": [0.5, 0.25, None, 80.0],
            "seed": ["1", "1", "1", "1"],
        }

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return a score table by a reading; see `TableKind.read`."""
        return read_measurements(raw, reading)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks; see `TableKind.check`."""
        return partial(MeasurementsCheck, raw, measurements_schema(raw.schema()))

    def facts(self, table: pl.LazyFrame) -> dict[str, int | float | str]:
        """Return the numbers of systems and of missing cells."""
        row = table.select(pl.col("system").n_unique().alias("systems"), pl.col("score").null_count().alias("empty"))
        return dict(row.collect(engine="streaming").row(0, named=True))


class MeasurementsCheck(TableCheck):
    """Measurements: a row is a cell, or has several side by side, as a struct.

    Beside such a struct, ``less`` is one of those cells in which less is better.
    """

    def __init__(self, raw: RawTable, schema: pl.Schema) -> None:
        super().__init__(raw, schema)
        self.roles = dict(raw.roles)
        self.keys: list[pl.DataFrame] = []
        self.filled: dict[str, bool] = {}

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        several = isinstance(frame["score"].dtype, pl.Struct)
        named = [name for name in self.schema if name not in ("score", "less")]
        if several:
            named.remove("query_id" if "system" in self.roles else "system")
        columns = {name: self.cast(self._own(frame, name), pl.String()).alias(name) for name in named}
        self.keys.append(pl.DataFrame(columns))
        score = self._own(frame, "score")
        cells = score.struct.unnest() if several else score.to_frame()
        side = pl.Series("query_id" if "system" in self.roles else "system", cells.columns, pl.String)
        at = np.repeat(np.arange(cells.width), frame.height)
        repeated = [column.gather(np.tile(np.arange(frame.height), cells.width)) for column in columns.values()]
        scores = [self._scores(cells), *([side.gather(at)] if several else [])]
        if "less" in self.schema:
            down = np.isin(cells.columns, frame["less"].struct.fields)[at] if several else frame["less"]
            scores.append(self.cast(pl.Series("less", down), pl.Boolean()))
        return pl.DataFrame([*repeated, *scores]).select(list(self.schema))

    def end(self) -> None:
        """Refuse a cell that was given twice, and a column without any score."""
        super().end()
        if empty := [name for name, some in self.filled.items() if not some]:
            raise InputError("the column has no score at all; remove it, or fill it", path=self.path, column=empty[0])
        keys = pl.concat(self.keys)
        again = ~keys.select(pl.struct(pl.all()).is_first_distinct()).to_series()
        for row in again.arg_true().head(1):
            what = ", ".join(f"{_WORD[name]} {short_repr(keys[name][row])}" for name in keys.columns)
            how = f"({option('where')}), or say which column numbers repetitions ({option('columns', 'seed=NAME')})"
            same = "another row has the same; remove one, keep rows of one metric or setting"
            raise self.raw.at(row, InputError(f"{what}: {same} {how}"))

    def _own(self, frame: pl.DataFrame, name: str) -> pl.Series:
        """Return a column under its name in the file, for errors."""
        return frame[name].alias(self.roles.get("task" if name == "query_id" else name, name))

    def _scores(self, cells: pl.DataFrame) -> pl.Series:
        """Return the scores of all columns, one column after the other; null if missing.

        All columns are looked at together: a thousand columns are a thousand times as many calls.
        """
        for cell in cells:
            if cell.dtype.is_nested() or cell.dtype.is_temporal():
                raise self.error(f"the column holds {str(cell.dtype)[:QUOTED]}, not numbers", 0, cell.name)
        numeric = all(dtype.is_numeric() for dtype in cells.dtypes)
        column = pl.concat(cells.cast(pl.Float64 if numeric else pl.String).get_columns())
        scores = column.cast(pl.Float64, strict=False)
        self._refuse_cell(cells, scores.is_null() & column.is_not_null(), _NO_NUMBER)
        scores = scores.fill_nan(None)
        self._refuse_cell(cells, ~scores.is_finite().fill_null(True), "the score {} is not finite")
        some = scores.is_not_null().to_numpy().reshape(cells.width, cells.height)
        for name, filled in zip(cells.columns, some, strict=True):
            self.filled[name] = self.filled.get(name, False) or bool(filled.any())
        return scores.alias("score")

    def _refuse_cell(self, cells: pl.DataFrame, bad: pl.Series, message: str) -> None:
        """Raise for the first true entry of `bad`, of all columns one after the other."""
        for place in bad.arg_true().head(1):
            at, row = divmod(place, cells.height)
            self.refuse(pl.Series(range(cells.height)) == row, cells.to_series(at), message)


_NO_NUMBER = "{} is not a number; write one, or leave the cell empty"


_WORD = {"query_id": "task", "system": "system", "seed": "seed"}


def load_scores(table: pl.LazyFrame) -> TaskScores:
    """Return measurements in the schema as an array.

    Raises
    ------
    InputError
        A row is wrong; or systems, tasks and seeds are too many to stand side by side.
    """
    return scores_of(table.collect(engine="streaming"))
