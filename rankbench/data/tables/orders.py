"""The kind `orders` holds ballots."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.core.text import short_repr
from rankbench.data.tables.ballot_columns import BESIDE, KEYS
from rankbench.data.tables.ballot_forms import read_ballots
from rankbench.data.tables.schemas import NO_NAMES, SAYS_NOTHING, orders_schema
from rankbench.data.tables.times import TimeReading, checked_times, time_of
from rankbench.errors import InputError, nearest
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.row_weights import votes_counted
from rankbench.interfaces.table import (
    TableKind,
)
from rankbench.interfaces.table_check import (
    EXACT_BELOW,
    TOO_LONG,
    WITH_NULL,
    RawTable,
    ReadTable,
    TableCheck,
    too_long,
    with_null,
)


class OrderTable(TableKind):
    """Ballots: rankings of some of a query's items, with or without ties.

    A ranking without ties may be a list of names; in texts, rankings and candidates are JSON: ``["b", ["a", "c"]]``.
    Or a row is an item's place, as of races (``query=race,item=driver,place=rank``): equal places are ties, and items
    without a number as place stand behind those of their query that have one.

    Prefer it for ballots and races, which order more than two items at once.
    """

    name: ClassVar[str] = "orders"
    source: ClassVar[str] = "[DMJ13]_ section 2; preflib.org"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "ranking")
    optional: ClassVar[tuple[str, ...]] = ("weight", "count", "judge", "time", "candidates")
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = (
        *(("ranking",), ("ranks",), ("items", "cells")),
        *((key, "item", value) for key in KEYS for value in ("place", "points", "places")),
    )
    beside: ClassVar[tuple[str, ...]] = (*KEYS, *BESIDE)
    # A ballot implies the comparisons of the items that it ranks.
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ("orders", "comparisons")
    words: ClassVar[str] = "ballots"
    method: ClassVar[str] = "bradley-terry:penalty=firth"
    suite: ClassVar[str] = "own-log"

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return three ballots, one with a tie."""
        return {
            "query_id": ["a", "a", "b"],
            "ranking": [[["x"], ["y", "z"]], [["z"], ["x"], ["y"]], [["u"], ["v"]]],
            "count": [1, 3, 1],
        }

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return ballots under the names of the schema; see `TableKind.read`."""
        return read_ballots(raw, reading)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks; see `TableKind.check`."""
        if "count" in (columns := raw.schema):
            with raw.located(raw.roles.get("count", "count")):
                votes_counted(raw.frame, SAYS_NOTHING, "ballots")
        times = time_of(raw)
        return partial(OrdersCheck, raw, orders_schema(columns, times.dtype if times else None), times)


_NAMES = pl.List(pl.String())
_FORM = '["best", ["tied", "tied"], "last"]'

NO_CHOICES = ("skipped", "undervote", "overvote", "overvoted")
"""Words of ballots, in small letters, for an empty rank."""

_NO_CHOICE = f"one of {', '.join(NO_CHOICES)} is ranked, which name no item: leave such a word out of the ranking"

SIGNS = "best>tied=tied>last"
"""Form of rankings that are no JSON."""

_SIGNS = r'^\s*[^\s\["].*>'


class OrdersCheck(TableCheck):
    """Orders: every place has items, no item is listed twice, and the candidates are known.

    Rankings and candidates may be JSON texts, as CSV must; in a ranking without ties names may
    stand by themselves. Rankings may be texts such as `SIGNS`.
    """

    def __init__(self, raw: RawTable, schema: pl.Schema, times: TimeReading | None = None) -> None:
        super().__init__(raw, schema)
        self.times = times
        self.candidates: dict[str, tuple[str, ...]] = {}
        self.kept: pl.Series | None = None
        self.asked = False

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the file does."""
        names = self.raw.roles
        row = row if self.kept is None else int(self.kept[row])
        return super().error(message, row, names.get({"query_id": "query"}.get(column, column), column))

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        if SAYS_NOTHING in frame.columns:
            self.kept, frame = (~frame[SAYS_NOTHING]).arg_true(), frame.filter(~frame[SAYS_NOTHING])
        ids = self.cast(frame["query_id"], pl.String())
        ranking = self.ranking(frame["ranking"], frame[NO_NAMES] if NO_NAMES in frame.columns else None)
        beside = {"weight": self.weight, "count": self.counts, "judge": self.judge}
        said = [checked(frame) for name, checked in beside.items() if name in self.schema]
        columns = [ids, ranking, *said]
        if self.times is not None:
            columns.append(checked_times(self, frame["time"], self.times))
        if "candidates" in self.schema:
            columns.append(self.known(ids, ranking, frame["candidates"]))
        result = pl.DataFrame(columns, schema=self.schema)
        return result.filter(pl.col("count") > 0) if "count" in self.schema else result

    def ranking(self, column: pl.Series, no_names: pl.Series | None = None) -> pl.Series:
        """Return the rankings as lists of places of items, without words that are no names."""
        self.asked = no_names is not None
        places = self.parsed(column) if column.dtype == pl.String else self.nested(column)
        places = places.alias(column.name)
        self.refuse(places.is_null(), column, "the ranking is missing")
        rows = places.to_frame().with_row_index("row").explode(column.name, empty_as_null=False)
        sizes = rows[column.name].list.len().fill_null(0)
        self.at(rows, sizes == 0, column, "a place of the ranking has no items")
        if no_names is not None and len(no_names) and (words := no_names[0].to_list()):
            named = ~pl.element().str.strip_chars().str.to_lowercase().is_in(words).fill_null(False)
            places = places.list.eval(pl.element().list.eval(pl.element().filter(named)))
            places = places.list.eval(pl.element().filter(pl.element().list.len() > 0))
            rows = places.to_frame().with_row_index("row").explode(column.name, empty_as_null=False)
        self.refuse(places.list.len() == 0, column, "the ranking has no items")
        self.names(rows.explode(column.name, empty_as_null=False), column, "is ranked twice")
        return places

    def nested(self, column: pl.Series) -> pl.Series:
        """Return a column of lists of names, or of lists of lists of them, as the latter."""
        dtype = column.dtype
        if not isinstance(dtype, pl.List):
            raise self.error(f"the column holds {dtype}, not rankings such as {_FORM}", 0, column.name)
        tied = isinstance(dtype.inner, pl.List)
        name = dtype.inner.inner if isinstance(dtype.inner, pl.List) else dtype.inner
        if name.is_float():
            column = self.whole_lists(column)
        elif not (name in (pl.String, pl.Null) or name.is_integer()):
            raise self.error(f"the rankings hold {name}; names must be texts or whole numbers", 0, column.name)
        if tied:
            return column.cast(pl.List(_NAMES))
        # Every item on a place of its own.
        return column.cast(_NAMES).list.eval(pl.concat_list(pl.element()))

    def parsed(self, column: pl.Series) -> pl.Series:
        """Return texts as lists of places, which are lists of names."""
        found: list[Any] = []
        for row, text in enumerate(column.to_list()):
            try:
                value = None if text is None else self.places(text)
            except (ValueError, RecursionError):
                what = f"{short_repr(text)} is not JSON such as {_FORM}, nor {SIGNS}"
                raise self.error(what, row, column.name) from None
            if value is None:
                found.append(None)
                continue
            places = value if isinstance(value, list) else [value]
            places = [place if isinstance(place, list) else [place] for place in places]
            for name in itertools.chain.from_iterable(places):
                if not isinstance(name, str) and (isinstance(name, bool) or not isinstance(name, int)):
                    raise self.error(f"{short_repr(name)} is not a name: a text or a whole number", row, column.name)
            found.append([[str(name) for name in place] for place in places])
        return pl.Series(column.name, found, dtype=pl.List(_NAMES))

    def places(self, text: str) -> Any:
        """Return a JSON text's value, or the places of ``best>tied=tied>last``; a lone name may be such a ballot."""
        if not text.lstrip().startswith(("[", '"')) and (">" in text or self.signs):
            return [[name.strip() for name in place.split("=")] for place in text.split(">")]
        found = json.loads(text, parse_float=_whole)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half of a character is a `ValueError`
        return found

    @cached_property
    def signs(self) -> bool:
        """True if the table has a ranking such as `SIGNS`."""
        names = self.raw.frame.collect_schema()
        if names.get("ranking") != pl.String:
            return False
        signs = pl.col("ranking").str.contains(_SIGNS).any()
        return bool(self.raw.frame.select(signs).collect(engine="streaming").item())

    def known(self, ids: pl.Series, ranking: pl.Series, column: pl.Series) -> pl.Series:
        """Return the candidates: the same throughout a query, with all items that it ranks."""
        if column.dtype == pl.String:
            places = self.parsed(column)
            sizes = places.list.eval(pl.element().list.len())
            self.refuse((sizes.list.max() != 1).fill_null(False), column, "{} is no list of names")
            lists = places.list.eval(pl.element().list.first())
        elif isinstance(column.dtype, pl.List) and not column.dtype.inner.is_nested():
            lists = (self.whole_lists(column) if column.dtype.inner.is_float() else column).cast(_NAMES)
        else:
            raise self.error(f"the column holds {column.dtype}, not lists of names", 0, column.name)
        self.refuse(lists.is_null(), column, "the candidates are missing")
        rows = lists.alias(column.name).to_frame().with_row_index("row")
        self.names(rows.explode(column.name, empty_as_null=False), column, "is a candidate twice")
        changes = (ids != ids.shift(1)) | (lists != lists.shift(1))
        for row in changes.fill_null(True).arg_true():
            query, names = ids[row], tuple(lists[row])
            if self.candidates.setdefault(query, names) != names:
                what = f"query {short_repr(query)} has other candidates in its other rows"
                raise self.error(what, row, column.name)
        ranked = ranking.to_frame().with_row_index("row").explode("ranking", empty_as_null=False)
        items = ranked.explode("ranking", empty_as_null=False).rename({"ranking": "item"})
        among = rows.explode(column.name, empty_as_null=False).rename({column.name: "item"})
        unknown = items.join(among, on=["row", "item"], how="anti", maintain_order="left")
        for row, item in unknown.head(1).iter_rows():
            what = f"item {short_repr(item)} is not among the candidates of its query{nearest(item, list(lists[row]))}"
            raise self.error(what, row, ranking.name)
        return lists

    def names(self, items: pl.DataFrame, column: pl.Series, twice: str) -> None:
        """Raise for items without a name, and items that a row has twice."""
        name = items[column.name]
        self.at(items, name.is_null() | (name == ""), column, "an item has no name")
        if not self.asked:
            self.at(items, name.str.to_lowercase().is_in(NO_CHOICES), column, _NO_CHOICE)
        self.at(items, too_long(name), column, TOO_LONG)
        self.at(items, with_null(name), column, WITH_NULL)
        self.at(items, items.is_duplicated(), column, f"item {{}} {twice}")

    def at(self, rows: pl.DataFrame, bad: pl.Series, column: pl.Series, message: str) -> None:
        """Raise for the row of the batch with the first true entry of `bad`; ``{}`` in the message becomes its item."""
        for row, item in rows.filter(bad.fill_null(True)).select("row", column.name).head(1).iter_rows():
            raise self.error(message.replace("{}", short_repr(item), 1), row, column.name)


def _whole(text: str) -> int | float:
    """Return a number of a ranking: 1 for 1.0."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < EXACT_BELOW else number
