"""Kinds of tables define columns and check rows; the hook registers the built-in ones, and known formats."""

from __future__ import annotations

from pathlib import Path

from rankbench.interfaces.table import TableKind
from rankbench.plugin.registry import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[TableKind] | Path]:
    """Return the built-in kinds of tables, in the order of recognition, and the files of formats."""
    from rankbench.data.tables.comparisons import ComparisonTable
    from rankbench.data.tables.items import ItemTable
    from rankbench.data.tables.measurements import MeasurementTable
    from rankbench.data.tables.orders import OrderTable
    from rankbench.data.tables.selections import SelectionTable

    kinds: list[type[TableKind]] = [ComparisonTable, SelectionTable, OrderTable, MeasurementTable, ItemTable]
    return [*kinds, *sorted((Path(__file__).parents[1] / "formats").glob("*.format.toml"))]
