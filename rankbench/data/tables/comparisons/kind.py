"""Comparisons: votes, as a kind of table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.component import JudgmentKind
from rankbench.data.tables.comparisons.schema import COLUMNS, OPTIONAL, comparisons_schema
from rankbench.kinds.table import TableKind

if TYPE_CHECKING:
    from rankbench.kinds.column_readings import ColumnReading
    from rankbench.kinds.table_check import RawTable, TableCheck

__all__ = ["ComparisonTable"]


class ComparisonTable(TableKind):
    """Votes: one item won against another, or neither did."""

    name: ClassVar[str] = "comparisons"
    source: ClassVar[str] = "[DMJ13]_ section 2"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    optional: ClassVar[tuple[str, ...]] = OPTIONAL
    marks: ClassVar[tuple[str, ...]] = ("winner", "loser")
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ("comparisons",)
    words: ClassVar[str] = "votes"
    method: ClassVar[str] = "bradley-terry:penalty=firth"
    history: ClassVar[str] = "dynamic-bradley-terry:drift=[0.001,0.01,0.1],variance=[0.3,3]"
    suite: ClassVar[str] = "own-log"
    checked_by_counting: ClassVar[bool] = True

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return three votes, one of them a tie."""
        return {
            "query_id": ["a", "a", "b"],
            "winner": ["x", "y", "u"],
            "loser": ["y", "z", "v"],
            "weight": [1.0, 2.5, 1.0],
            "tie": [False, True, False],
        }

    def known(self, names: Collection[str]) -> bool:
        """Return whether these are columns of votes, under the usual names; see `TableKind.known`."""
        from rankbench.data.tables.comparisons.column_meanings import guess

        return guess(names) is not None

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return votes under the names of the schema; see `TableKind.renamed`."""
        from rankbench.data.tables.comparisons.column_meanings import (
            OPTIONS,
            as_comparisons,
            guess,
            parse_columns,
            unread_outcomes,
            whole_ids,
        )
        from rankbench.data.tables.comparisons.controls import control_roles, parse_control
        from rankbench.data.tables.comparisons.sides import decided, halved
        from rankbench.data.tables.remarks import remark
        from rankbench.data.tables.weights import WEIGHTLESS, with_counts

        schema = raw.schema()
        with raw.located():
            said = parse_columns(columns) if columns else {}
            options = {role: said.pop(role) for role in OPTIONS if role in said}
            control = options.pop("control", "")
            found = guess(schema, said)
            if found is None:
                return None
            raw = replace(raw, frame=whole_ids(raw.frame, found))
            if unread := unread_outcomes(schema, found, said):
                remark(unread)
            roles = with_counts(raw.frame, decided(raw.frame, found | options, said), said)
            if control:
                roles |= {"control": control, **control_roles(parse_control(control), schema.names(), roles)}
            frame = as_comparisons(raw.frame, roles)
            roles.pop(WEIGHTLESS, None)
            if "mirrored" in roles:
                frame = halved(frame, sides=bool(control))
        return replace(raw, frame=frame, roles=roles)

    def readings(self, raw: RawTable) -> list[ColumnReading]:
        """Return how the first rows may be read as votes; see `TableKind.readings`."""
        from rankbench.data.tables.comparisons.unnamed import vote_readings

        return vote_readings(raw)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; what times are taken for is decided here, see `TableKind.check`."""
        from rankbench.data.tables.comparisons.check import ComparisonsCheck
        from rankbench.data.tables.comparisons.times import time_reading

        schema = comparisons_schema(raw.schema(), raw.roles.get("control", ""))
        if "time" not in schema:
            return partial(ComparisonsCheck, raw, schema, None)
        with raw.located(raw.roles.get("time", "time")):
            times = time_reading(raw.frame, "time")
        schema["time"] = times.dtype
        return partial(ComparisonsCheck, raw, schema, times)
