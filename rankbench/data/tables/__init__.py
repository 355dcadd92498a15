"""The kinds of tables, a folder each: what columns they have (`kind`), how rows are checked, how they are loaded."""

from __future__ import annotations

from rankbench.kinds.table import TableKind
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[TableKind]]:
    """Return the built-in kinds of tables, in the order in which they are recognized."""
    from rankbench.data.tables.comparisons.kind import ComparisonTable
    from rankbench.data.tables.items.kind import ItemTable
    from rankbench.data.tables.measurements.kind import MeasurementTable
    from rankbench.data.tables.orders.kind import OrderTable
    from rankbench.data.tables.selections.kind import SelectionTable

    return [ComparisonTable, SelectionTable, OrderTable, MeasurementTable, ItemTable]
