"""Selections brought into the schema: lists of items, and positions that are in them."""

from __future__ import annotations

import polars as pl

from rankbench.errors import InputError
from rankbench.kinds.table_check import TOO_LONG, TableCheck, too_long
from rankbench.text import short_repr

__all__ = ["SelectionsCheck"]


_NAMES = ("query_id", "session_id")


class SelectionsCheck(TableCheck):
    """Selections: something was shown, no item twice, and clicks are on positions that there are.

    Lists may be written as texts with spaces between their entries, as CSV must.
    """

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        self.sessions = frame["session_id"]
        columns = [self.cast(self.sessions if name == "session_id" else frame[name], pl.String()) for name in _NAMES]
        if "places" in frame.columns:
            self.one_list(frame["places"])
        items = self.items(frame["shown"])
        columns += [items, self.positions(frame["clicked"], items)]
        if "part" in self.schema:
            columns.append(self.cast(frame["part"], pl.String()))
        return pl.DataFrame(columns, schema=self.schema)

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error; of impressions it names the session, as that has many rows."""
        if self.raw.roles:
            message = f"session {short_repr(self.sessions[row])}: {message}"
        return super().error(message, row, {"shown": self.raw.roles.get("doc", "")}.get(column) or column)

    def one_list(self, places: pl.Series) -> None:
        """Refuse a session whose impressions are not at the positions 1, 2, ... of one list."""
        position = self.raw.roles["position"]
        twice = places.list.n_unique() != places.list.len()
        if twice.any():
            row = int(twice.arg_true()[0])
            raise self.error(
                "two items were shown at one position; a session is one list, say which column tells lists apart "
                "(--columns session=NAME)",
                row,
                position,
            )
        gap = places.list.max() != places.list.len()
        if gap.any():
            row = int(gap.arg_true()[0])
            lacking = next(place for place, found in enumerate(places[row], 1) if place != found)
            raise self.error(
                f"nothing is said of position {lacking}, though lower ones were shown: add a row for what stood "
                "there, or number the positions of each session from 1",
                row,
                position,
            )

    def items(self, column: pl.Series) -> pl.Series:
        """Return the lists of items shown."""
        lists = self.lists(column, pl.String(), "texts or whole numbers")
        self.refuse(lists.list.len() == 0, column, "no item was shown")
        twice = lists.list.n_unique() != lists.list.len()
        if twice.any():
            row = int(twice.arg_true()[0])
            names = lists[row].to_list()
            again = next(name for i, name in enumerate(names) if name in names[:i])
            raise self.error(f"item {short_repr(again)} is shown twice in one list", row, column.name)
        return lists

    def positions(self, column: pl.Series, items: pl.Series) -> pl.Series:
        """Return the lists of clicked positions, from 1 to one more than the list is long."""
        lists = self.lists(column, pl.UInt32(), "positions (whole numbers from 1)")
        lowest, highest = lists.list.min(), lists.list.max()
        self.refuse((lowest == 0).fill_null(False), column, "there is no position 0 in {}: positions count from 1")
        beyond = (highest > items.list.len() + 1).fill_null(False)
        if beyond.any():
            row = int(beyond.arg_true()[0])
            raise self.error(
                f"position {highest[row]} was clicked, but {len(items[row])} items were shown "
                f"({len(items[row]) + 1} stands for a click outside of the list)",
                row,
                column.name,
            )
        return lists

    def lists(self, column: pl.Series, inner: pl.DataType, wanted: str) -> pl.Series:
        """Return a column of lists or of texts as lists of `inner` without nulls."""
        if column.dtype == pl.Null or (isinstance(column.dtype, pl.List) and column.dtype.inner == pl.Null):
            # Nothing but nulls or empty lists: their type is unknown to the format.
            column = column.cast(pl.List(inner))
        # CSV cannot tell an empty text from a missing value: nothing was clicked.
        if column.dtype == pl.String:
            words = column.fill_null("").str.extract_all(r"\S+")
        elif isinstance(column.dtype, pl.List | pl.Array):
            self.refuse(column.is_null(), column, "the list is missing")
            words = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
        elif column.dtype.is_integer():
            # CSV and NDJSON may hold single numbers only.
            words = column.cast(pl.String).fill_null("").str.extract_all(r"\S+")
        else:
            raise self.error(f"the column holds {column.dtype}, not lists of {wanted}", 0, column.name)
        entries = words.list.explode(empty_as_null=False, keep_nulls=True)
        fits = entries.dtype.is_numeric() or entries.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
        if inner == pl.String and entries.dtype.is_float():
            words = self.whole_lists(words)
            entries = words.list.explode(empty_as_null=False, keep_nulls=True)
        if not fits:
            raise self.error(f"the lists hold {entries.dtype}, not {wanted}", 0, column.name)
        cast = entries.cast(inner, strict=False)
        if inner == pl.String:
            empty = (cast == "").fill_null(False)
            if empty.any():
                raise self.error("an item has no name", _row_of(words, int(empty.arg_true()[0])), column.name)
            long = too_long(cast)
            if long.any():
                place = int(long.arg_true()[0])
                raise self.error(TOO_LONG.format(short_repr(cast[place])), _row_of(words, place), column.name)
        whole = cast.is_not_null()
        if entries.dtype.is_float():
            whole &= cast.cast(entries.dtype) == entries
        if not whole.all():
            place = int((~whole).arg_true()[0])
            row = _row_of(words, place)
            value = entries[place]
            found = "an entry that is missing" if value is None else short_repr(value)
            raise self.error(f"the list must hold {wanted}, not {found}", row, column.name)
        return words.cast(pl.List(inner)).alias(column.name)


def _row_of(lists: pl.Series, place: int) -> int:
    """Return the row whose list holds an entry, counted over all lists."""
    rows = pl.int_range(lists.len(), eager=True).repeat_by(lists.list.len())
    return int(rows.list.explode(empty_as_null=False, keep_nulls=True)[place])
