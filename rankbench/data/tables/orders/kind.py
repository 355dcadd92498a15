"""Orders: ballots, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.component import JudgmentKind
from rankbench.data.tables.orders.schema import COLUMNS, OPTIONAL, orders_schema
from rankbench.kinds.table import TableKind

if TYPE_CHECKING:
    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["OrderTable"]


class OrderTable(TableKind):
    """Ballots: rankings of some of a query's items, with or without ties.

    A ranking without ties may be a list of names; in texts, rankings and candidates are JSON: ``["b", ["a", "c"]]``.
    """

    name: ClassVar[str] = "orders"
    source: ClassVar[str] = "[DMJ13]_ section 2; preflib.org"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("ranking",)
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

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; see `TableKind.check`."""
        from rankbench.data.tables.orders.check import OrdersCheck

        return partial(OrdersCheck, raw, orders_schema(raw.schema()))
