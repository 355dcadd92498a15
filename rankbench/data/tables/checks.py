"""Tables brought into the schema and checked on the way, one batch after the other.

Rows are checked where they pass by, so a table of any length needs no second look and no
memory beyond the names of its queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from rankbench.data.readers.source import UNREADABLE, io_source
from rankbench.data.tables.comparisons.check import ComparisonsCheck
from rankbench.data.tables.comparisons.columns import as_comparisons, guess, parse_columns
from rankbench.data.tables.comparisons.sides import decided
from rankbench.data.tables.comparisons.times import TimeReading, time_reading
from rankbench.data.tables.items.check import ItemsCheck, ItemShape
from rankbench.data.tables.orders.check import OrdersCheck
from rankbench.data.tables.selections.check import SelectionsCheck
from rankbench.errors import InputError
from rankbench.kinds.table import comparisons_schema, orders_schema, selections_schema, table_of
from rankbench.kinds.table_check import QUOTED, TableCheck

__all__ = ["checked"]


def checked(
    raw: pl.LazyFrame,
    *,
    path: Path | None = None,
    header: int = 0,
    allow_single: bool = False,
    diagnose: Callable[[], None] | None = None,
    columns: str = "",
) -> pl.LazyFrame:
    """Return `raw` in the schema; what is wrong with it is raised when it is collected.

    Parameters
    ----------
    raw : LazyFrame
        Columns of one of the schema's tables, in any types that convert without loss.
    path : Path, optional
        Named in errors.
    header : int
        Lines before the first row, added to the row numbers of errors.
    allow_single : bool
        Whether a query may have one item.
    diagnose : callable, optional
        Called when Polars cannot read the file; raises an error that knows the place.
    columns : str
        What columns of votes mean, where they have not the usual names: see
        `rankbench.data.tables.comparisons.columns.parse_columns`.

    Raises
    ------
    InputError
        A missing column, one of a wrong type, or a winner's column that is ambiguous, at once; anything else
        about rows, later.
    """
    source = _Source(raw, path, diagnose)
    schema = source.schema()
    roles: dict[str, str] = {}
    if columns or not ("query_id" in schema and {"label", "shown", "ranking"} & set(schema)):
        found = source.guessed(schema, columns)
        if found is not None:
            roles = source.decided(found, header)
            source = _Source(as_comparisons(raw, roles), path, diagnose)
            schema = source.schema()
    table = table_of(schema, path)
    start: Callable[[], TableCheck]
    if table == "items":
        shape = ItemShape(schema, source.first_length, path)
        result = shape.result
        start = partial(ItemsCheck, shape, path, header, allow_single)
    elif table == "selections":
        result = selections_schema(part="part" in schema)
        start = partial(SelectionsCheck, result, path, header)
    elif table == "orders":
        result = orders_schema(schema)
        start = partial(OrdersCheck, result, path, header)
    else:
        result = comparisons_schema(schema)
        times = source.times(roles) if "time" in result else None
        if times is not None:
            result["time"] = times.dtype
        start = partial(ComparisonsCheck, result, path, header, roles, times)

    def batches() -> Iterator[pl.DataFrame]:
        check = start()
        for frame in source.batches():
            yield check.feed(frame)
        check.end()

    return register_io_source(io_source(batches), schema=result)


class _Source:
    """A lazy frame whose errors name the file."""

    def __init__(self, raw: pl.LazyFrame, path: Path | None, diagnose: Callable[[], None] | None) -> None:
        self.raw, self.path, self.diagnose = raw, path, diagnose

    def schema(self) -> pl.Schema:
        try:
            return self.raw.collect_schema()
        except UNREADABLE as error:
            raise self.unreadable(error) from error

    def batches(self) -> Iterator[pl.DataFrame]:
        try:
            for frame in self.raw.collect_batches(maintain_order=True, engine="streaming"):
                if frame.height:
                    yield frame
        except UNREADABLE as error:
            raise self.unreadable(error) from error

    def first_length(self) -> int:
        """Return the length of the first row's list of features, 0 without rows."""
        try:
            lengths = self.raw.select(pl.col("x").list.len()).head(1).collect()
        except UNREADABLE as error:
            raise self.unreadable(error) from error
        return int(lengths.item() or 0) if lengths.height else 0

    def guessed(self, schema: pl.Schema, columns: str) -> dict[str, str] | None:
        """Return the columns of votes by role; None if these are not votes."""
        try:
            return guess(schema, parse_columns(columns) if columns else None)
        except InputError as error:
            raise InputError(error.message, path=self.path, column=error.column) from error

    def decided(self, roles: dict[str, str], header: int) -> dict[str, str]:
        """Return the roles with what the winner's column holds."""
        try:
            return decided(self.raw, roles)
        except UNREADABLE as error:
            raise self.unreadable(error) from error
        except InputError as error:
            row = None if error.row is None else header + error.row
            raise InputError(error.message, path=self.path, row=row, column=error.column) from error

    def times(self, roles: Mapping[str, str]) -> TimeReading:
        """Return what the times are taken for."""
        try:
            return time_reading(self.raw, "time")
        except UNREADABLE as error:
            raise self.unreadable(error) from error
        except InputError as error:
            raise InputError(error.message, path=self.path, column=roles.get("time", "time")) from error

    def unreadable(self, error: BaseException) -> InputError:
        if self.diagnose is not None:
            self.diagnose()
        return InputError(str(error).strip().split("\n", 1)[0][:QUOTED], path=self.path)
