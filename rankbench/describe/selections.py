"""What is in a table of selections: sessions, items, clicks by number and by position."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankbench.describe.sizes import Sizes
from rankbench.errors import InputError

__all__ = ["SelectionsSummary", "describe_selections"]

_MOST_CLICKS = 5
_MOST_POSITIONS = 20


@dataclass(frozen=True)
class SelectionsSummary:
    """What is in a selections table.

    Attributes
    ----------
    sessions, queries : int
    items : int
        Pairs of a query and an item that was shown for it.
    sessions_per_query, shown : Sizes
        Sessions of a query; items of a session.
    parts : dict of str to int
        Sessions of each part; empty if the table does not say.
    clicks : dict of int to int
        Sessions by the number of different positions clicked.
    click_rate : list of float
        Share of the lists that reach position 1, 2, ... in which it was clicked.
    clicks_off_list, sessions_off_list : int
        Clicks outside of the shown list, and sessions that have one.
    repeated : int
        Clicks on a position that the session had clicked before.
    upwards : int
        Sessions in which a click is above the one before it.
    """

    sessions: int
    queries: int
    items: int
    sessions_per_query: Sizes
    shown: Sizes
    parts: dict[str, int]
    clicks: dict[int, int]
    click_rate: list[float]
    clicks_off_list: int
    sessions_off_list: int
    repeated: int
    upwards: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"table": "selections"} | asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""

        def share(count: int) -> str:
            return f"{count:,} ({count / self.sessions:.1%})"

        several = sum(count for clicks, count in self.clicks.items() if clicks > 1)
        by_number = [f"{c}: {share(self.clicks[c])}" for c in sorted(self.clicks) if c < _MOST_CLICKS]
        more = sum(count for clicks, count in self.clicks.items() if clicks >= _MOST_CLICKS)
        if more:
            by_number.append(f"{_MOST_CLICKS} or more: {share(more)}")
        rates = " ".join(f"{rate:.3f}" for rate in self.click_rate[:_MOST_POSITIONS])
        lines = [
            ("table", "selections"),
            ("sessions", f"{self.sessions:,}"),
            ("queries", f"{self.queries:,}"),
            *([("sessions per query", str(self.sessions_per_query))] if self.queries > 1 else []),
            ("items", f"{self.items:,} (an item counts once a query)"),
            ("items shown", str(self.shown)),
            ("positions clicked", ", ".join(by_number)),
            ("several clicks", f"{share(several)} of the sessions; a selection has one: see the policies"),
            ("click rate by position", rates + (" ..." if len(self.click_rate) > _MOST_POSITIONS else "")),
            ("clicks off the list", f"{self.clicks_off_list:,} in {self.sessions_off_list:,} sessions"),
            ("clicks on the same again", f"{self.repeated:,}"),
            ("sessions clicking upwards", share(self.upwards)),
        ]
        if self.parts:
            lines.insert(2, ("parts", ", ".join(f"{name}: {share(count)}" for name, count in self.parts.items())))
        return lines


def describe_selections(table: pl.LazyFrame, *, path: Path | None = None) -> SelectionsSummary:
    """Summarize a selections table in one pass; see `rankbench.describe.describe.describe`.

    Memory grows with the queries and items, not with the sessions.
    """
    per_query: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    clicks: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    hits: Counter[int] = Counter()
    items: set[tuple[str, str]] = set()
    off = off_sessions = repeated = upwards = 0
    for frame in table.collect_batches(maintain_order=True, engine="streaming"):
        if not frame.height:
            continue
        per_query.update(dict(frame["query_id"].value_counts().iter_rows()))
        if "part" in frame.columns:
            parts.update(dict(frame["part"].value_counts().iter_rows()))
        lengths.update(dict(frame["shown"].list.len().value_counts().iter_rows()))
        items.update(frame.select("query_id", "shown").explode("shown", empty_as_null=False).unique().iter_rows())
        rows = frame.select(row=pl.int_range(pl.len()), size=pl.col("shown").list.len(), position="clicked")
        events = rows.explode("position", empty_as_null=False)
        outside = events.filter(pl.col("position") > pl.col("size"))
        inside = events.filter(pl.col("position") <= pl.col("size"))
        distinct = inside.unique(["row", "position"])
        off += outside.height
        off_sessions += outside["row"].n_unique()
        repeated += inside.height - distinct.height
        rises = inside.filter(pl.col("position") < pl.col("position").shift(1).over("row"))
        upwards += rises["row"].n_unique()
        hits.update(dict(distinct["position"].value_counts().iter_rows()))
        per_session = distinct.group_by("row").len()["len"]
        clicks.update(dict(per_session.value_counts().iter_rows()))
        if frame.height > len(per_session):
            clicks[0] += frame.height - len(per_session)
    if not per_query:
        raise InputError("the table has no rows", path=path)
    longest = max(lengths)
    reached = np.cumsum([lengths[length] for length in range(longest, 0, -1)])[::-1]
    sizes = np.repeat(list(lengths), list(lengths.values()))
    return SelectionsSummary(
        sessions=per_query.total(),
        queries=len(per_query),
        items=len(items),
        sessions_per_query=Sizes.from_counts(list(per_query.values())),
        shown=Sizes.from_counts(sizes.tolist()),
        parts=dict(sorted(parts.items())),
        clicks=dict(sorted(clicks.items())),
        click_rate=[hits[position] / int(reached[position - 1]) for position in range(1, longest + 1)],
        clicks_off_list=off,
        sessions_off_list=off_sessions,
        repeated=repeated,
        upwards=upwards,
    )
