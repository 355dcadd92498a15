"""Selections: clicks, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.component import JudgmentKind
from rankbench.data.tables.selections.schema import COLUMNS, OPTIONAL, selections_schema
from rankbench.kinds.table import TableKind

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["SelectionTable"]


class SelectionTable(TableKind):
    """Clicks: a list was shown, and positions of it were clicked.

    Lists may be texts with spaces between their entries. A file may have a row for each item that was shown, too.
    """

    name: ClassVar[str] = "selections"
    source: ClassVar[str] = "[DMJ13]_ section 5.2"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("shown", "clicked")
    roles: ClassVar[tuple[str, ...]] = ("session", "position", "doc", "clicked")
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

    def known(self, names: Collection[str]) -> bool:
        """Return whether a row is one item that was shown, by the names of its columns; see `TableKind.known`."""
        from rankbench.data.tables.selections.impressions import impression_roles

        return "shown" not in names and impression_roles(names) is not None

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return impressions, a row an item that was shown, as lists; see `TableKind.renamed`."""
        from rankbench.data.tables.selections.impressions import as_lists, impression_roles, roles_of_impressions

        with raw.located():
            given = roles_of_impressions(columns) if columns else {}
            if given is None or (not given and not self.known(raw.schema())):
                return None
            roles = impression_roles(raw.schema(), given)
        return None if roles is None else as_lists(raw, roles)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; see `TableKind.check`."""
        from rankbench.data.tables.selections.check import SelectionsCheck

        return partial(SelectionsCheck, raw, selections_schema(part="part" in raw.schema()))

    def part(self, table: pl.LazyFrame, name: str) -> pl.LazyFrame:
        """Return one part of the same queries' log: sessions are told apart, and the column ``part`` has its name."""
        import polars as pl

        told = pl.concat_str(pl.lit(f"{name}/"), "session_id").alias("session_id")
        return table.with_columns(told).with_columns(part=pl.lit(name))
