"""Items: what is ranked, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.data.tables.items.schema import COLUMNS, OPTIONAL
from rankbench.kinds.table import TableKind

if TYPE_CHECKING:
    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["ItemTable"]


class ItemTable(TableKind):
    """What is ranked: items with features and graded labels, the rows of a query together.

    ``item`` may be missing; features stand in a column ``x`` of lists, or in columns ``x_0, x_1, ...`` (or from
    ``x_1``).
    """

    name: ClassVar[str] = "items"
    source: ClassVar[str] = "[DMJ13]_ section 1"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("label",)
    words: ClassVar[str] = "items"
    together: ClassVar[bool] = True
    features: ClassVar[bool] = True

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return two queries, of two items and of three."""
        return {
            "query_id": ["a", "a", "b", "b", "b"],
            "label": [1.0, 0.0, None, 2.0, 0.0],
            "x": [[0.5, 2.0], [1.5, -1.0], [0.0, 1.0], [3.0, 0.25], [1.0, 1.0]],
        }

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; features are looked for here, see `TableKind.check`."""
        from functools import partial

        from rankbench.data.tables.items.check import ItemsCheck, ItemShape

        return partial(ItemsCheck, raw, ItemShape(raw))
