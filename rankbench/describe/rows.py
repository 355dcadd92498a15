"""What is in a table of a plugin's kind: rows, queries, and the facts that the kind tells itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rankbench.describe.sizes import Sizes
from rankbench.errors import InputError
from rankbench.kinds.table import QUERY, TableKind

__all__ = ["RowsSummary", "describe_rows"]


@dataclass(frozen=True)
class RowsSummary:
    """What is in a table, whatever its kind.

    Attributes
    ----------
    table : str
        Name of the kind.
    rows, queries : int
    rows_per_query : Sizes
    facts : dict
        As `TableKind.facts` has them.
    """

    table: str
    rows: int
    queries: int
    rows_per_query: Sizes
    facts: dict[str, int | float | str]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        head = {"table": self.table, "rows": self.rows, "queries": self.queries}
        return {**head, "rows_per_query": vars(self.rows_per_query), **self.facts}

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""
        return [
            ("table", self.table),
            ("rows", f"{self.rows:,}"),
            ("queries", f"{self.queries:,}"),
            ("rows per query", str(self.rows_per_query)),
            *((name.replace("_", " "), _plainly(value)) for name, value in self.facts.items()),
        ]


def _plainly(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def describe_rows(kind: TableKind, table: pl.LazyFrame, path: Path | None) -> RowsSummary:
    """Summarize a table of any kind; memory grows with the queries, and with what the kind's facts need.

    Raises
    ------
    InputError
        The table has no rows, or reading it fails.
    """
    sizes = table.group_by(QUERY).len().collect(engine="streaming")["len"].to_list()
    if not sizes:
        raise InputError("the table has no rows", path=path)
    return RowsSummary(kind.name, sum(sizes), len(sizes), Sizes.from_counts(sizes), kind.facts(table))
