"""What is in a table of orders: ballots, voters, candidates, lengths and ties."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankbench.describe.sizes import Sizes
from rankbench.errors import InputError

__all__ = ["OrdersSummary", "describe_orders"]


@dataclass(frozen=True)
class OrdersSummary:
    """What is in an orders table.

    Attributes
    ----------
    rows, queries : int
    voters : float
        Total weight.
    rows_per_query, items_per_query, ranked : Sizes
        Ballots of a query; its candidates, or else the items that its ballots rank; items on a
        ballot.
    complete : int
        Ballots that rank all items of their query.
    ties : int
        Ballots on which items are tied.
    judges : int, optional
        None if the table does not say who voted.
    unranked : int
        Candidates that no ballot ranks.
    """

    rows: int
    queries: int
    voters: float
    rows_per_query: Sizes
    items_per_query: Sizes
    ranked: Sizes
    complete: int
    ties: int
    judges: int | None
    unranked: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"table": "orders"} | asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""

        def share(count: int) -> str:
            return f"{count:,} ({count / self.rows:.1%})"

        return [
            ("table", "orders"),
            ("ballots", f"{self.rows:,}, of {self.voters:,g} voters"),
            ("queries", f"{self.queries:,}"),
            *([("ballots per query", str(self.rows_per_query))] if self.queries > 1 else []),
            ("items per query", f"{self.items_per_query}, of which no ballot ranks {self.unranked:,} in all"),
            ("items on a ballot", str(self.ranked)),
            ("complete ballots", share(self.complete)),
            ("ballots with ties", share(self.ties)),
            ("judges", "not given" if self.judges is None else f"{self.judges:,}"),
        ]


def describe_orders(table: pl.LazyFrame, *, path: Path | None = None) -> OrdersSummary:
    """Summarize an orders table in one pass; see `rankbench.describe.describe.describe`.

    Memory grows with the queries, their items and the lengths of their ballots, not with the ballots.
    """
    per_query: Counter[str] = Counter()
    lengths: Counter[tuple[str, int]] = Counter()
    ranked: dict[str, set[str]] = {}
    candidates: dict[str, set[str]] = {}
    judges: set[str] = set()
    voters, ties, named = 0.0, 0, False
    for frame in table.collect_batches(maintain_order=True, engine="streaming"):
        if not frame.height:
            continue
        per_query.update(dict(frame["query_id"].value_counts().iter_rows()))
        voters += float(frame["weight"].sum()) if "weight" in frame.columns else frame.height
        if "judge" in frame.columns:
            named = True
            judges.update(frame["judge"].drop_nulls().unique().to_list())
        if "candidates" in frame.columns:
            for query, names in frame.unique("query_id").select("query_id", "candidates").iter_rows():
                candidates.setdefault(query, set(names))
        rows = frame.select("query_id", "ranking", row=pl.int_range(pl.len()))
        items = rows.explode("ranking", empty_as_null=False).with_columns(tied=pl.col("ranking").list.len() > 1)
        items = items.explode("ranking", empty_as_null=False)
        ballots = items.group_by("row").agg(pl.col("query_id").first(), pl.len(), pl.col("tied").any())
        ties += int(ballots["tied"].sum())
        lengths.update((query, length) for query, length in ballots.select("query_id", "len").iter_rows())
        for query, item in items.select("query_id", "ranking").unique().iter_rows():
            ranked.setdefault(query, set()).add(item)
    if not per_query:
        raise InputError("the table has no rows", path=path)
    sizes = {query: len(candidates.get(query, ranked[query])) for query in per_query}
    repeated = np.repeat([length for _, length in lengths], list(lengths.values()))
    return OrdersSummary(
        rows=per_query.total(),
        queries=len(per_query),
        voters=voters,
        rows_per_query=Sizes.from_counts(list(per_query.values())),
        items_per_query=Sizes.from_counts(list(sizes.values())),
        ranked=Sizes.from_counts(repeated.tolist()),
        complete=sum(count for (query, length), count in lengths.items() if length == sizes[query]),
        ties=ties,
        judges=len(judges) if named else None,
        unranked=sum(len(candidates[query] - ranked[query]) for query in candidates),
    )
