"""Orders brought into the schema: rankings of known items, none of them twice."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from rankbench.data.tables.orders.schema import SAYS_NOTHING
from rankbench.errors import InputError, nearest
from rankbench.kinds.table_check import EXACT_BELOW, TOO_LONG, RawTable, TableCheck, too_long
from rankbench.text import short_repr

__all__ = ["NO_CHOICES", "SIGNS", "OrdersCheck"]

_NAMES = pl.List(pl.String())
_FORM = '["best", ["tied", "tied"], "last"]'

NO_CHOICES = ("skipped", "undervote", "overvote", "overvoted")
"""Words of ballots, in small letters, for a rank that names nobody."""

_NO_CHOICE = f"one of {', '.join(NO_CHOICES)} is ranked, which name no item: leave such a word out of the ranking"

SIGNS = "best>tied=tied>last"
"""Form of rankings that are no JSON."""


class OrdersCheck(TableCheck):
    """Orders: every place has items, no item stands twice, and the candidates are known.

    Rankings and candidates may be JSON texts, as CSV must; in a ranking without ties names may
    stand by themselves. Rankings may be texts such as `SIGNS`.
    """

    def __init__(self, raw: RawTable, schema: pl.Schema) -> None:
        super().__init__(raw, schema)
        self.candidates: dict[str, tuple[str, ...]] = {}
        self.kept: pl.Series | None = None

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
        ranking = self.ranking(frame["ranking"])
        columns = [ids, ranking]
        if "weight" in self.schema:
            columns.append(self.weight(frame))
        if "judge" in self.schema:
            columns.append(self.judge(frame))
        if "candidates" in self.schema:
            columns.append(self.known(ids, ranking, frame["candidates"]))
        return pl.DataFrame(columns, schema=self.schema)

    def ranking(self, column: pl.Series) -> pl.Series:
        """Return the rankings as lists of places of items."""
        places = self.parsed(column, ties=True) if column.dtype == pl.String else self.nested(column)
        places = places.alias(column.name)
        self.refuse(places.is_null(), column, "the ranking is missing")
        self.refuse(places.list.len() == 0, column, "the ranking has no items")
        rows = places.to_frame().with_row_index("row").explode(column.name, empty_as_null=False)
        sizes = rows[column.name].list.len().fill_null(0)
        self.at(rows, sizes == 0, column, "a place of the ranking has no items")
        items = rows.explode(column.name, empty_as_null=False)
        self.names(items, column, "is ranked twice")
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
        # Every item on a place of its own; rankings without items must not get lost.
        alone = column.cast(_NAMES).to_frame().with_row_index("row")
        apart = (
            alone.explode(column.name, empty_as_null=False)
            .with_columns(pl.concat_list(column.name))
            .group_by("row", maintain_order=True)
            .agg(column.name)
        )
        whole = alone.select("row").join(apart, on="row", how="left", maintain_order="left")[column.name]
        return whole.zip_with(column.is_null() | (column.list.len() > 0), pl.Series([[]], dtype=pl.List(_NAMES)))

    def parsed(self, column: pl.Series, *, ties: bool) -> pl.Series:
        """Return JSON texts as lists of names, or of places where there may be ties."""
        found: list[Any] = []
        for row, text in enumerate(column.to_list()):
            try:
                value = None if text is None else _places(text, signs=ties)
            except (ValueError, RecursionError):
                raise self.error(
                    f"{short_repr(text)} is not JSON such as {_FORM}, nor {SIGNS}", row, column.name
                ) from None
            if value is None:
                found.append(None)
                continue
            places = value if isinstance(value, list) else [value]
            for place in places:
                for name in place if ties and isinstance(place, list) else [place]:
                    if not isinstance(name, str) and (isinstance(name, bool) or not isinstance(name, int)):
                        raise self.error(
                            f"{short_repr(name)} is not a name: a text or a whole number", row, column.name
                        )
            if ties:
                found.append([[str(name) for name in (p if isinstance(p, list) else [p])] for p in places])
            else:
                found.append([str(name) for name in places])
        return pl.Series(column.name, found, dtype=pl.List(_NAMES) if ties else _NAMES)

    def known(self, ids: pl.Series, ranking: pl.Series, column: pl.Series) -> pl.Series:
        """Return the candidates: the same throughout a query, with all items that it ranks."""
        if column.dtype == pl.String:
            lists = self.parsed(column, ties=False)
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
                raise self.error(
                    f"the candidates of query {short_repr(query)} are not those of its other rows", row, "candidates"
                )
        ranked = ranking.to_frame().with_row_index("row").explode("ranking", empty_as_null=False)
        items = ranked.explode("ranking", empty_as_null=False).rename({"ranking": "item"})
        among = rows.explode(column.name, empty_as_null=False).rename({column.name: "item"})
        unknown = items.join(among, on=["row", "item"], how="anti", maintain_order="left")
        if unknown.height:
            row, item = unknown.row(0)
            hint = nearest(item, list(lists[row]))
            raise self.error(
                f"item {short_repr(item)} is not among the candidates of its query{hint}", row, ranking.name
            )
        return lists

    def names(self, items: pl.DataFrame, column: pl.Series, twice: str) -> None:
        """Refuse items without a name, and items that stand twice in a row."""
        name = items[column.name]
        self.at(items, name.is_null() | (name == ""), column, "an item has no name")
        self.at(items, name.str.to_lowercase().is_in(NO_CHOICES), column, _NO_CHOICE)
        long = too_long(name)
        if long.any():
            row, item = items.filter(long).row(0)
            raise self.error(TOO_LONG.format(short_repr(item)), row, column.name)
        again = items.is_duplicated()
        if again.any():
            row, item = items.filter(again).row(0)
            raise self.error(f"item {short_repr(item)} {twice}", row, column.name)

    def at(self, rows: pl.DataFrame, bad: pl.Series, column: pl.Series, message: str) -> None:
        """Raise for the row of the batch that the first true entry of `bad` belongs to."""
        if bad.fill_null(True).any():
            raise self.error(message, int(rows["row"][int(bad.fill_null(True).arg_true()[0])]), column.name)


def _whole(text: str) -> int | float:
    """Return a number of a ranking: 1 for 1.0."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < EXACT_BELOW else number


def _places(text: str, *, signs: bool) -> Any:
    """Return what JSON says; of a ranking also the places of ``best>tied=tied>last``."""
    if signs and ">" in text and not text.lstrip().startswith(("[", '"')):
        return [[name.strip() for name in place.split("=")] for place in text.split(">")]
    return json.loads(text, parse_float=_whole)
