"""Measurements: systems' scores on tasks, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.component import JudgmentKind
from rankbench.data.tables.measurements.schema import COLUMNS, OPTIONAL, measurements_schema
from rankbench.errors import InputError
from rankbench.kinds.table import TableKind

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["MeasurementTable"]


class MeasurementTable(TableKind):
    """Score tables: what each system reached on each task, with each seed.

    A row a cell, or a row a system with its tasks side by side, or a row a task with its systems side by side.
    """

    name: ClassVar[str] = "measurements"
    source: ClassVar[str] = "mteb, SWE-bench, EuroEval; docs/scores.md"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("system", "score")
    roles: ClassVar[tuple[str, ...]] = ("system", "task", "score", "seed")
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

    def claims(self, names: Collection[str]) -> bool:
        """Return whether there is a system and a score: a log of votes may have a column of either name."""
        return all(mark in names for mark in self.marks)

    def known(self, names: Collection[str]) -> bool:
        """Return whether system, task and score are named as usual; see `TableKind.known`."""
        from rankbench.data.tables.measurements.layout import usual_roles

        return {"system", "task", "score"} <= set(usual_roles(names))

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return measurements under the names of the schema, a row of several cells as one; see `TableKind.renamed`."""
        from rankbench.data.tables.measurements.layout import laid_out, roles_said, unwanted

        schema = raw.schema()
        if not columns and not self.known(schema):
            return None
        with raw.located():
            if {"query-id", "corpus-id"} <= set(schema):
                raise InputError(f"these are judgments (qrels), not scores: rankbench rank --qrels {raw.path} RUN...")
            given = roles_said(columns) if columns else {}
            return None if given is None else laid_out(replace(raw, unwanted=unwanted(columns)), given)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; see `TableKind.check`."""
        from rankbench.data.tables.measurements.check import MeasurementsCheck

        return partial(MeasurementsCheck, raw, measurements_schema(raw.schema()))

    def facts(self, table: pl.LazyFrame) -> dict[str, int | float | str]:
        """Return the numbers of systems and of missing cells."""
        import polars as pl

        row = table.select(pl.col("system").n_unique().alias("systems"), pl.col("score").null_count().alias("empty"))
        return dict(row.collect(engine="streaming").row(0, named=True))
