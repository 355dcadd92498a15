"""The kind `measurements` holds score tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.core.text import short_repr
from rankbench.data.tables.schemas import measurements_schema
from rankbench.data.tables.score_cells import read_measurements, scores_of
from rankbench.errors import InputError, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable, ReadTable, TableCheck


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
        return partial(MeasurementsCheck, raw, measurements_schema(raw.schema))

    def facts(self, table: pl.LazyFrame) -> dict[str, int | float | str]:
        """Return the numbers of systems and of missing cells."""
        row = table.select(pl.col("system").n_unique().alias("systems"), pl.col("score").null_count().alias("empty"))
        return dict(row.collect(engine="streaming").row(0, named=True))


class MeasurementsCheck(TableCheck):
    """Measurements: a row is a cell, which no other row is, and some cells have a score."""

    def __init__(self, raw: RawTable, schema: pl.Schema) -> None:
        super().__init__(raw, schema)
        self.keys: list[pl.DataFrame] = []
        self.filled = False

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the file does."""
        return super().error(message, row, self.raw.roles.get(_WORD.get(column, column), column))

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        keys = pl.DataFrame([self.cast(frame[name], pl.String()) for name in self.schema if name in _WORD])
        self.keys.append(keys)
        score = self.cast(frame["score"], pl.Float64(), nulls=True).fill_nan(None)
        self.refuse(~score.is_finite().fill_null(True), frame["score"], "the score {} is not finite")
        self.filled |= score.count() > 0
        less = [self.cast(frame["less"], pl.Boolean())] if "less" in self.schema else []
        return keys.with_columns(score, *less).select(list(self.schema))

    def end(self) -> None:
        """Refuse a cell that was given twice, and a column without any score."""
        super().end()
        if not self.filled:
            raise InputError("the column has no score at all; remove it, or fill it", path=self.path, column="score")
        keys = pl.concat(self.keys)
        again = ~keys.select(pl.struct(pl.all()).is_first_distinct()).to_series()
        for row in again.arg_true().head(1):
            what = ", ".join(f"{_WORD[name]} {short_repr(keys[name][row])}" for name in keys.columns)
            how = f"({option('where')}), or say which column numbers repetitions ({option('columns', 'seed=NAME')})"
            same = "another row has the same; remove one, keep rows of one metric or setting"
            raise self.raw.at(row, InputError(f"{what}: {same} {how}"))


_WORD = {"query_id": "task", "system": "system", "seed": "seed"}


def load_scores(table: pl.LazyFrame) -> TaskScores:
    """Return measurements in the schema as an array.

    Raises
    ------
    InputError
        A row is wrong; or systems, tasks and seeds are too many to stand side by side.
    """
    return scores_of(table.collect(engine="streaming"))
