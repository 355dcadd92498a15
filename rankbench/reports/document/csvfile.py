"""Rows as CSV: stable columns, digits that do not depend on a machine's last bits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterable, Sequence

from rankbench.text import csv_cell

__all__ = ["csv_of"]


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[object]], exponents: Collection[str] = ()) -> str:
    """Return rows as CSV: six decimals, empty where there is no value.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequence
        Texts, numbers, truth values and None, one for each column.
    exponents : collection of str
        Columns whose numbers are written with an exponent and two decimals.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value, name in exponents) for name, value in zip(columns, row, strict=True)])
    return text.getvalue()


def _cell(value: object, exponent: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return csv_cell(value)
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    return f"{number:.2e}" if exponent else f"{round(number, 6) + 0.0:.6f}"
