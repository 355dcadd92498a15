"""What is in a table of any kind: each has a describer of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.kinds.table import features, table_of

if TYPE_CHECKING:
    import polars as pl

    from rankbench.describe.items import ItemsSummary
    from rankbench.describe.orders import OrdersSummary
    from rankbench.describe.selections import SelectionsSummary
    from rankbench.describe.votes import ComparisonsSummary

__all__ = ["describe"]


def describe(
    table: pl.LazyFrame, *, path: Path | None = None
) -> ItemsSummary | ComparisonsSummary | SelectionsSummary | OrdersSummary:
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
    schema = table.collect_schema()
    kind = table_of(schema, path)
    if kind == "comparisons":
        from rankbench.describe.votes import describe_votes

        return describe_votes(table, path=path)
    if kind == "selections":
        from rankbench.describe.selections import describe_selections

        return describe_selections(table, path=path)
    if kind == "orders":
        from rankbench.describe.orders import describe_orders

        return describe_orders(table, path=path)
    from rankbench.describe.items import describe_items

    return describe_items(table, features(schema), path)
