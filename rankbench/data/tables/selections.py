"""The kind `selections` holds clicks on shown lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.component import JudgmentKind
from rankbench.core.text import short_repr
from rankbench.data.tables.impressions import (
    OffList,
    Several,
    read_clicks,
    read_lists,
    reduce_clicks,
)
from rankbench.data.tables.schemas import selections_schema
from rankbench.errors import InputError, option
from rankbench.interfaces.queries import Selections
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import TOO_LONG, WITH_NULL, RawTable, ReadTable, TableCheck, too_long, with_null


class SelectionTable(TableKind):
    """Clicks: a list was shown, and positions of it were clicked.

    Lists may be texts with spaces between their entries. A file may have a row for each item that was shown, too.

    Prefer it for clicks wherever the shown list is known, with lists without a click too.
    """

    name: ClassVar[str] = "selections"
    source: ClassVar[str] = "[DMJ13]_ section 5.2"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "session_id", "shown", "clicked")
    optional: ClassVar[tuple[str, ...]] = ("part",)
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("session", "position", "doc", "clicked"),
        ("session", "shown", "clicked"),
    )
    beside: ClassVar[tuple[str, ...]] = ("query", "part")
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ("selections",)
    words: ClassVar[str] = "clicks"
    # Where an item stood is taken into account, and one that was seen once is not certain.
    method: ClassVar[str] = "coec:smoothing=1"
    suite: ClassVar[str] = "own-clicks"

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return three sessions, one without a click."""
        return {
            "query_id": ["a", "a", "b"],
            "session_id": ["1", "2", "3"],
            "shown": [["x", "y", "z"], ["y", "x"], ["u", "v"]],
            "clicked": [[1], [2, 1], []],
        }

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return clicks under the names of the schema; see `TableKind.read`."""
        return read_lists(raw, reading) if reading.first["shown"] else read_clicks(raw, reading)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks; see `TableKind.check`."""
        return partial(SelectionsCheck, raw, selections_schema(part="part" in raw.schema))

    def part(self, table: pl.LazyFrame, name: str) -> pl.LazyFrame:
        """Return one part of the same queries' log, with sessions of its own; the column ``part`` has its name."""
        told = pl.concat_str(pl.lit(f"{name}/"), "session_id").alias("session_id")
        return table.with_columns(told).with_columns(part=pl.lit(name))


_NAMES = ("query_id", "session_id")
_OTHER_LISTS = r"^\s*\[.*\]\s*$|,\s|^\S*,\S*$"
"""Texts of lists as other programs write them, such as ['A', 'B'], or A,B."""


class SelectionsCheck(TableCheck):
    """Selections: items were shown, no item twice, and clicks are on existing positions.

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
        """Return an error, by the file's names of columns; of impressions it has the session, which has many rows."""
        roles = self.raw.roles
        if "doc" in roles:
            message = f"session {short_repr(self.sessions[row])}: {message}"
        names = {"query_id": "query", "session_id": "session", "shown": "doc" if "doc" in roles else "shown"}
        return super().error(message, row, roles.get(names.get(column, column), column))

    def one_list(self, places: pl.Series) -> None:
        """Refuse a session whose impressions are not at the positions 1, 2, ... of one list."""
        position = self.raw.roles["position"]
        self.refuse(
            places.list.n_unique() != places.list.len(),
            places.alias(position),
            "two items were shown at one position; a session is one list, say which column tells lists apart "
            f"({option('columns', 'session=NAME')})",
        )
        for row in (places.list.max() != places.list.len()).arg_true().head(1):
            lacking = next(place for place, found in enumerate(places[row], 1) if place != found)
            raise self.error(
                f"position {lacking} has no row, though lower ones have: add a row for the item there, or number the "
                "positions of each session from 1",
                row,
                position,
            )

    def items(self, column: pl.Series) -> pl.Series:
        """Return the lists of items shown."""
        lists = self.lists(column, pl.String(), "texts or whole numbers")
        self.refuse(lists.list.len() == 0, column, "no item was shown")
        for row in (lists.list.n_unique() != lists.list.len()).arg_true().head(1):
            names = lists[row].to_list()
            again = next(name for i, name in enumerate(names) if name in names[:i])
            raise self.error(f"item {short_repr(again)} is shown twice in one list", row, column.name)
        return lists

    def positions(self, column: pl.Series, items: pl.Series) -> pl.Series:
        """Return the lists of clicked positions, from 1 to one more than the list is long."""
        lists = self.lists(column, pl.UInt32(), "positions (whole numbers from 1)")
        lowest, highest = lists.list.min(), lists.list.max()
        self.refuse((lowest == 0).fill_null(False), column, "there is no position 0 in {}: positions count from 1")
        for row in (highest > items.list.len() + 1).fill_null(False).arg_true().head(1):
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
        if column.dtype == pl.String or column.dtype.is_integer():
            # CSV cannot tell an empty text from a missing value, and may hold single numbers only.
            text = column.cast(pl.String).fill_null("")
            self.refuse(text.str.contains(_OTHER_LISTS), column, "{} is no list with spaces between its entries")
            words = text.str.extract_all(r"\S+")
        elif isinstance(column.dtype, pl.List | pl.Array):
            self.refuse(column.is_null(), column, "the list is missing")
            words = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
        else:
            raise self.error(f"the column holds {column.dtype}, not lists of {wanted}", 0, column.name)
        held = words.list.explode(empty_as_null=False, keep_nulls=True).dtype
        if not (held.is_numeric() or held in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise self.error(f"the lists hold {held}, not {wanted}", 0, column.name)
        words = self.whole_lists(words) if inner == pl.String and held.is_float() else words
        entries = words.list.explode(empty_as_null=False, keep_nulls=True)
        cast = entries.cast(inner, strict=False)
        whole = cast.is_not_null()
        if entries.dtype.is_float():
            whole &= cast.cast(entries.dtype) == entries
        wrong = {f"the list must hold {wanted}, not {{}}": ~whole}
        if inner == pl.String:
            wrong |= {"an item has no name": cast == "", TOO_LONG: too_long(cast), WITH_NULL: with_null(cast)}
        for message, bad in wrong.items():
            for place in bad.arg_true().head(1):
                value = entries[place]
                found = "an entry that is missing" if value is None else short_repr(value)
                raise self.error(message.format(found), _row_of(words, place), column.name)
        return words.cast(pl.List(inner)).alias(column.name)


def _row_of(lists: pl.Series, place: int) -> int:
    """Return the row whose list holds an entry, counted over all lists."""
    rows = pl.int_range(lists.len(), eager=True).repeat_by(lists.list.len())
    return int(rows.list.explode(empty_as_null=False, keep_nulls=True)[place])


@dataclass(frozen=True, eq=False)
class SelectionLog:
    """Selections with the names of queries and items.

    Attributes
    ----------
    ids : list of str, length Q
        Queries, sorted.
    items : list of str, length N
        Names of the items, sorted within each query: every item that was ever shown for it.
    item_offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are ``items[item_offsets[q]:item_offsets[q + 1]]``.
    selections : Selections
        Within a query in the order of the table.
    parts : tuple of str
        Names of the parts in which the sessions were published, sorted; empty if the table
        does not say.
    part : ndarray of int32, shape (n,)
        Part of each selection, as an index of `parts`; all 0 if there are none.
    rows : ndarray of int64, shape (n,)
        Row of the table that each selection comes from, counted from 0.
    """

    ids: list[str]
    items: list[str]
    item_offsets: NDArray[np.int64]
    selections: Selections
    parts: tuple[str, ...]
    part: NDArray[np.int32]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)


def load_selections(table: pl.LazyFrame, *, several: Several = "all", off_list: OffList = "drop") -> SelectionLog:
    """Collect a table of selections into a `SelectionLog`.

    Parameters
    ----------
    table : LazyFrame
        In the schema of `rankbench.data.tables`, as readers return it.
    several, off_list : Several, OffList
        Rules for several clicks, and for clicks outside of the list: see
        `rankbench.data.tables.impressions`. The container holds clicks on items shown only.

    Raises
    ------
    InputError
        There are no rows, or the policies refuse or leave none.
    """
    frame = table.collect(engine="streaming")
    if not frame.height:
        raise InputError("the data has no rows")
    frame = reduce_clicks(frame.with_row_index("_source"), several, off_list)
    frame = frame.sort("query_id", maintain_order=True)
    if not frame.height:
        raise InputError(f"several={several!r} leaves no session")
    runs = frame["query_id"].rle().struct.unnest()
    lengths = frame["shown"].list.len().to_numpy().astype(np.int64)
    shown = frame.select("query_id", item="shown").explode("item", empty_as_null=False)
    names = shown.unique().sort("query_id", "item").with_row_index("place", 0)
    sizes = names["query_id"].rle().struct.unnest()["len"].to_numpy().astype(np.int64)
    item_offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = shown.join(names, on=["query_id", "item"], how="left", maintain_order="left")["place"].to_numpy()
    counts = runs["len"].to_numpy().astype(np.int64)
    first = np.repeat(np.repeat(item_offsets[:-1], counts), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    clicked = np.zeros(int(starts[-1]), np.bool_)
    clicks = frame["clicked"].list.len().to_numpy()
    positions = frame["clicked"].list.explode(empty_as_null=False).to_numpy().astype(np.int64)
    clicked[np.repeat(starts[:-1], clicks) + positions - 1] = True
    parts: list[str] = frame["part"].unique().sort().to_list() if "part" in frame.columns else []
    index = {name: number for number, name in enumerate(parts)}
    part = [index[name] for name in frame["part"].to_list()] if parts else [0] * frame.height
    return SelectionLog(
        ids=runs["value"].to_list(),
        items=names["item"].to_list(),
        item_offsets=item_offsets,
        selections=Selections(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            starts=starts,
            items=(places.astype(np.int64) - first).astype(np.int32),
            clicked=clicked,
        ),
        parts=tuple(parts),
        part=np.array(part, np.int32),
        rows=frame["_source"].to_numpy().astype(np.int64),
    )


def take_selections(selections: Selections, chosen: NDArray[np.int64]) -> Selections:
    """Return some of the selections, of the same queries.

    Parameters
    ----------
    selections : Selections
    chosen : ndarray of int64
        Indices of selections in any order; they are returned in the order of the log.

    Returns
    -------
    Selections
        A query without a chosen selection is there, empty.
    """
    chosen = np.sort(chosen)
    lengths = np.diff(selections.starts)[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(selections.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    offsets = np.searchsorted(chosen, selections.offsets).astype(np.int64)
    return Selections(offsets, starts, selections.items[rows], selections.clicked[rows])
