"""Comparisons brought into the schema: two different items, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rankbench.data.check import Check
from rankbench.data.columns import SAID
from rankbench.data.schema import COMPARISONS
from rankbench.errors import InputError

__all__ = ["ComparisonsCheck"]


class ComparisonsCheck(Check):
    """Comparisons: two different items, a positive weight."""

    def __init__(self, schema: pl.Schema, path: Path | None, header: int, roles: Mapping[str, str]) -> None:
        super().__init__(path, header)
        self.schema = schema
        self.names = {"query_id": roles.get("query", ""), SAID: roles.get("winner", "")} | dict(roles)

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the log does."""
        return super().error(message, row, self.names.get(column) or column)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `Check.convert`."""
        if SAID in frame.columns:
            self.refuse(frame[SAID].is_not_null(), frame[SAID], "{} is neither of the two items, nor a side, nor a tie")
        columns = [self.cast(frame[name], pl.String()) for name in COMPARISONS]
        winner, loser = columns[1], columns[2]
        self.refuse(winner == loser, winner, "item {} is compared with itself")
        if "weight" in self.schema:
            columns.append(self.weight(frame))
        if "judge" in self.schema:
            columns.append(self.cast(frame["judge"], pl.String(), nulls=True))
        if "time" in self.schema:
            columns.append(frame["time"])
        if "tie" in self.schema:
            columns.append(self.cast(frame["tie"], pl.Boolean()))
        if "first" in self.schema:
            columns.append(self.cast(frame["first"], pl.Boolean()))
        return pl.DataFrame(columns, schema=self.schema)
