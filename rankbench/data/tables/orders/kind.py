"""Orders: ballots, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.component import JudgmentKind
from rankbench.data.tables.orders.schema import COLUMNS, OPTIONAL, RANKS, SAYS_NOTHING, orders_schema
from rankbench.errors import InputError, nearest
from rankbench.kinds.column_readings import ROWS_SHOWN, ColumnReading, said_columns
from rankbench.kinds.table import TableKind
from rankbench.text import short_repr

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["OrderTable"]


class OrderTable(TableKind):
    """Ballots: rankings of some of a query's items, with or without ties.

    A ranking without ties may be a list of names; in texts, rankings and candidates are JSON: ``["b", ["a", "c"]]``.
    Or a row is an item's place, as of races (``query=race,item=driver,place=rank``): equal places are ties, and items
    without a number as place stand behind those of their query that have one.
    """

    name: ClassVar[str] = "orders"
    source: ClassVar[str] = "[DMJ13]_ section 2; preflib.org"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("ranking",)
    roles: ClassVar[tuple[str, ...]] = ("ranking", "candidates", "place", *RANKS)
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
            "weight": [1.0, 3.0, 1.0],
        }

    def known(self, names: Collection[str]) -> bool:
        """Return whether there is a column of rankings; see `TableKind.known`."""
        return "ranking" in _roles(names, {})

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return ballots under the names of the schema, of one query where they have none; see `TableKind.renamed`."""
        import polars as pl

        from rankbench.data.tables.orders.ranks import of_places, of_ranks
        from rankbench.data.tables.weights import WEIGHTLESS, weightless, with_counts
        from rankbench.data.tables.whole_names import with_whole_names

        schema = raw.schema()
        with raw.located():
            said = dict(said_columns(columns)) if columns else {}
            if "place" in said:
                return of_places(raw, said)
            strange = [role for role in said if role not in _usual()]
            if strange and set(self.roles) & set(said):
                near = nearest(strange[0], _usual())
                raise InputError(f"there is no role {strange[0]!r} of columns of ballots{near}")
            found = _roles(schema, said)
            for role, name in found.items():
                if name not in schema:
                    raise InputError(f"there is no column {name!r} for the {role}{nearest(name, schema)}", column=name)
            ranked = bool({*RANKS} & set(found))
            if strange or ("ranking" in found) == ranked:
                return None
            if not ranked and not isinstance(schema[found["ranking"]], pl.String | pl.List):
                return None
            roles = with_counts(raw.frame, found, said)
            ids = [[roles[role]] for role in ("query", "judge") if role in roles]
            frame = with_whole_names(raw.frame, [roles[role] for role in RANKS if role in roles], *ids)
            weighs = roles.pop(WEIGHTLESS, "")
            ranking = of_ranks(frame, roles) if ranked else [_empty(frame, found["ranking"])]
            if weighs:
                ranking[-1] = (ranking[-1] | weightless(weighs)).alias(SAYS_NOTHING)
        query = pl.col(roles["query"]) if "query" in roles else pl.lit("all")
        rest = [pl.col(name).alias(role) for role, name in roles.items() if role != "query" and role not in RANKS]
        rest += ranking
        return replace(raw, frame=frame.select(query.alias("query_id"), *rest), roles=roles)

    def readings(self, raw: RawTable) -> list[ColumnReading]:
        """Return the reading of a table with a column for each rank; see `TableKind.readings`."""
        from rankbench.data.tables.orders.ranks import rank_columns

        cells = raw.first_cells()
        found, sure = rank_columns(cells)
        rows = zip(*(cells[name][:ROWS_SHOWN] for name in found.values()), strict=True)
        shown = tuple(" > ".join(short_repr(name) for name in row if name) for row in rows)
        return [ColumnReading(found, shown, sure=sure)] if found else []

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; see `TableKind.check`."""
        from rankbench.data.tables.orders.check import OrdersCheck

        return partial(OrdersCheck, raw, orders_schema(raw.schema()))


def _empty(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """Return which ballots rank nobody; remarks count them, and rankings that are no lists."""
    import polars as pl

    from rankbench.data.tables.orders.check import SIGNS
    from rankbench.data.tables.remarks import remark

    ranking, signs = pl.col(name), pl.lit(value=False)
    if isinstance(frame.collect_schema()[name], pl.String):
        empty = ranking.str.contains(r"^\s*\[\s*\]\s*$")
        signs = ranking.str.contains(r'^\s*[^\s\["].*>')
    else:
        empty = ranking.list.len() == 0
    empty = empty.fill_null(False).alias(SAYS_NOTHING)
    facts = frame.select(empty.sum(), signs.sum().alias("signs")).collect(engine="streaming").row(0, named=True)
    if facts[SAYS_NOTHING]:
        remark(f"{facts[SAYS_NOTHING]:,} ballots that rank nobody are left out")
    if facts["signs"]:
        remark(f"{short_repr(name)} is read as {SIGNS}")
    return empty


def _usual() -> dict[str, tuple[str, ...]]:
    """Return what a column of ballots may be, and the names that it usually has."""
    from rankbench.data.tables.comparisons.column_meanings import ROLES

    as_of_votes = {role: ROLES[role] for role in ("query", "judge", "weight")}
    ranks = dict.fromkeys(RANKS, ())
    return {"ranking": ("ranking",), "candidates": ("candidates",)} | as_of_votes | ranks


def _roles(names: Collection[str], said: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of ballots by role, given or named as usual."""
    from rankbench.data.tables.comparisons.plain_names import plain_name

    by_name = {plain_name(name): name for name in reversed(list(names)) if name not in said.values()}
    usual = {role: next((by_name[n] for n in known if n in by_name), "") for role, known in _usual().items()}
    return {role: name for role, name in (usual | dict(said)).items() if name}
