"""``leaderboard.csv``: stable columns, digits that do not depend on the machine's last bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rankbench.kinds.metric import COLUMN_FACTS
from rankbench.reports.document.csvfile import csv_of
from rankbench.reports.standings import Standing

__all__ = ["COLUMNS", "leaderboard_csv", "values_of"]

COLUMNS: tuple[str, ...] = tuple(
    name
    for field in fields(Standing)
    for name in ([fact.name for fact in COLUMN_FACTS] if field.name == "facts" else [field.name])
)
"""Columns of ``leaderboard.csv``, in order; described in docs/leaderboard.md."""

_EXPONENT = frozenset({"optimality"})


def leaderboard_csv(rows: Sequence[Standing]) -> str:
    """Return standings as CSV."""
    return csv_of(COLUMNS, [values_of(row) for row in rows], _EXPONENT)


def values_of(row: Standing) -> list[Any]:
    """Return a row's values in the order of `COLUMNS`."""
    return [row.facts[name] if name in row.facts else getattr(row, name) for name in COLUMNS]
