"""Digests that bind rows of the journal to their table, their block and what stood before them."""

from __future__ import annotations

import hashlib
import math
from typing import TypeAlias

__all__ = ["StoredValue", "row_digest", "stored_number"]

StoredValue: TypeAlias = "str | int | float | bytes | None"
"""What SQLite stores, as Python has it."""


def row_digest(table: str, *values: StoredValue) -> str:
    """Return the blake2b digest (32 hex digits) of a row: of its table's name and of its values with their types.

    Lengths stand before the values, so that nothing can move from one value to the next.
    """
    digest = hashlib.blake2b(table.encode(), digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%s %d\n" % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def stored_number(value: float) -> float | None:
    """Return a number as SQLite gives it back: without the sign of a zero, and no nan."""
    number = float(value)
    return None if math.isnan(number) else number + 0.0
