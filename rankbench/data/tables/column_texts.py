"""What stands in a column: its first cells as texts, how many of each, and whether they may be facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import polars as pl

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.cells import EMPTY, NUMBER, is_flat, text_of
from rankbench.interfaces.table_check import RawTable

SAMPLED = 10_000
"""Rows in which columns that are not read are looked at."""

_SHOWN = 6
"""Values of a column that are shown."""

_LISTED = 14
"""Columns that are shown."""

SCORELINE = r"^(-?\d{1,3})\s*[-:\u2013]\s*(-?\d{1,3})$"
"""Two scores in one cell, as 3-1."""

_FLAGS = ("true", "false", "yes", "no")


def first_cells(raw: RawTable, names: Collection[str]) -> dict[str, list[str]]:
    """Return the first rows of some columns as texts; columns of lists and structs have none."""
    schema = raw.schema
    flat = [name for name in names if is_flat(schema[name])]
    if not flat:
        return {}
    return raw.collect(raw.frame.head(SAMPLED).select(text_of(name).alias(name) for name in flat)).to_dict(
        as_series=False
    )


def looks(cells: Sequence[str]) -> str:
    """Return a short text on the `first_cells` of a column."""
    counts = Counter(cells)
    full = {cell: count for cell, count in counts.items() if cell.lower() not in EMPTY}
    gone = len(cells) - sum(full.values())
    sampled = f" in the first {SAMPLED:,} rows" if len(cells) >= SAMPLED else ""
    rest = (f", {gone:,} empty" if gone else "") + sampled
    if not full:
        return f"empty{sampled}"
    low = {cell.lower() for cell in full}
    if low <= {"true", "false"}:
        return " or ".join(sorted(low)) + rest
    if len(full) > 2 and all(re.fullmatch(NUMBER, cell) for cell in full):
        numbers = [float(cell) for cell in full]
        return f"{min(numbers):g} to {max(numbers):g}{rest}"
    if len(full) <= _SHOWN:
        most = sorted(full, key=full.__getitem__, reverse=True)
        return ", ".join(f"{cell[:24]} {full[cell]:,}" for cell in most) + rest
    return f"{', '.join(cell[:24] for cell in islice(full, 3))}, .. ({count_text(len(full), 'different text')}){rest}"


def counted_words(raw: RawTable, rows: pl.LazyFrame, text: pl.Expr) -> str:
    """Return the most frequent texts of some rows, with how many rows have each."""
    counted = rows.group_by(text.alias("word")).len().sort("len", "word", descending=[True, False]).head(_SHOWN + 1)
    words = [f"{short_repr(word)} {count:,}" for word, count in raw.collect(counted).rows()]
    return ", ".join([*words[:_SHOWN], *[".."] * (len(words) > _SHOWN)])


def is_fact(cells: Sequence[str]) -> bool:
    """Return whether a column may be a count, a score or a flag: numbers that differ, or true and false.

    A column that numbers the rows is none.
    """
    full = {cell for cell in set(cells) if cell.lower() not in EMPTY}
    if full and {cell.lower() for cell in full} <= set(_FLAGS):
        return True
    if len(full) < 2:
        return False
    if all(re.fullmatch(SCORELINE, cell) for cell in full):
        return True
    # Of two or three rows 1, 2, 3 may be counts.
    return all(re.fullmatch(NUMBER, cell) for cell in full) and not (len(cells) > 3 and numbers_rows(cells))


def numbers_rows(cells: Sequence[str]) -> bool:
    """Return whether cells number the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    return any(all(cell == str(at + first) for at, cell in enumerate(cells)) for first in (0, 1))


def shown_columns(facts: Mapping[str, str]) -> list[str]:
    """Return columns with a text on their cells, a line each."""
    names = list(facts)[:_LISTED]
    wide = max(map(len, names), default=0)
    lines = [f"{name:<{min(wide, 24)}}  {facts[name]}" for name in names]
    return [*lines, *([f".. and {len(facts) - _LISTED:,} more columns"] if len(facts) > _LISTED else [])]
