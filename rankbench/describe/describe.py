"""What is in a table of any kind: one describer a kind, chosen by its class."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from rankbench.data.tables.comparisons.kind import ComparisonTable
from rankbench.data.tables.items.kind import ItemTable
from rankbench.data.tables.items.schema import features
from rankbench.data.tables.orders.kind import OrderTable
from rankbench.data.tables.recognize import table_of
from rankbench.data.tables.selections.kind import SelectionTable
from rankbench.kinds.table import TableKind

__all__ = ["TableSummary", "describe"]


class TableSummary(Protocol):
    """What a describer finds."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""


def describe(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize a table in the schema.

    Parameters
    ----------
    table : LazyFrame
        As readers return it.
    path : Path, optional
        Named in errors.

    Raises
    ------
    InputError
        The table is empty, or reading it fails.
    """
    return _summary(table_of(table.collect_schema(), path), table, path)


@singledispatch
def _summary(kind: TableKind, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.describe.rows import describe_rows

    return describe_rows(kind, table, path)


@_summary.register
def _(kind: ItemTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.describe.items import describe_items

    return describe_items(table, features(table.collect_schema()), path)


@_summary.register
def _(kind: ComparisonTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.describe.comparisons import describe_votes

    return describe_votes(table, path=path)


@_summary.register
def _(kind: SelectionTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.describe.selections import describe_selections

    return describe_selections(table, path=path)


@_summary.register
def _(kind: OrderTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.describe.orders import describe_orders

    return describe_orders(table, path=path)
