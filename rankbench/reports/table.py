"""``leaderboard.csv``: stable columns, digits that do not depend on the machine's last bits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rankbench.kinds.metric import COLUMN_FACTS
from rankbench.reports.standings import Standing
from rankbench.text import csv_cell

__all__ = ["COLUMNS", "leaderboard_csv", "values_of"]

COLUMNS: tuple[str, ...] = tuple(
    name
    for field in fields(Standing)
    for name in ([fact.name for fact in COLUMN_FACTS] if field.name == "facts" else [field.name])
)
"""Columns of ``leaderboard.csv``, in order; described in docs/leaderboard.md."""

_EXPONENT = frozenset({"optimality"})


def leaderboard_csv(rows: Sequence[Standing]) -> str:
    """Return standings as CSV: six decimals, empty where there is no value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(name, value) for name, value in zip(COLUMNS, values_of(row), strict=True)])
    return text.getvalue()


def values_of(row: Standing) -> list[Any]:
    """Return a row's values in the order of `COLUMNS`."""
    return [row.facts[name] if name in row.facts else getattr(row, name) for name in COLUMNS]


def _cell(column: str, value: str | float | int | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return csv_cell(value)
    if math.isnan(value):
        return ""
    if column in _EXPONENT:
        return f"{value:.2e}"
    return f"{round(float(value), 6) + 0.0:.6f}"
