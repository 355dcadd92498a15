"""Rankings become a table, a row an item."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.ranking.rank import ItemRanking
from rankbench.stats.best import ranges_from_first

_TOGETHER = 1000
"""Rankings that become a table together: a table of two items takes a thousand times their memory."""


def _places(scales: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each item's scale, the largest scale first."""
    numbers, first, sizes = np.unique(scales, return_index=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    place = np.empty(len(numbers), np.int64)
    place[order] = np.arange(1, len(numbers) + 1)
    return place[np.searchsorted(numbers, scales)]


def ranking_table(rankings: Sequence[ItemRanking], queries: Sequence[str] = ()) -> pl.DataFrame:
    """Return rankings as a table, sorted by the queries' names, in each query the largest scale first."""
    ranges = [
        (ranking.low, ranking.high)
        if ranking.first is None
        else ranges_from_first(ranking.low, ranking.high, ranking.first)
        for ranking in rankings
    ]
    numbers: dict[str, list[NDArray[Any]]] = {
        "score": [ranking.scores + 0.0 for ranking in rankings],
        "rank_low": [low for low, _ in ranges],
        "rank_high": [high for _, high in ranges],
        "may_be_first": [ranking.first for ranking in rankings if ranking.first is not None],
        "lower": [ranking.lower for ranking in rankings],
        "upper": [ranking.upper for ranking in rankings],
        "scale": [_places(ranking.scales) for ranking in rankings],
        "votes": [ranking.tallies.judged for ranking in rankings if ranking.tallies],
        "wins": [ranking.tallies.won for ranking in rankings if ranking.tallies],
    }
    if winners := [ranking.winners for ranking in rankings if ranking.winners is not None]:
        numbers["winner"] = [*winners]
    items = itertools.chain.from_iterable(ranking.items for ranking in rankings)
    table = pl.DataFrame(
        {"item": list(items)} | {name: np.concatenate(parts) if parts else None for name, parts in numbers.items()},
        schema_overrides={"may_be_first": pl.Boolean},
    ).with_columns(pl.col("lower", "upper").fill_nan(None))
    if not queries:
        return table.sort("scale", "score", "item", descending=[False, True, False])
    of = np.repeat(np.arange(len(rankings)), [len(ranking.items) for ranking in rankings])
    named = table.select(pl.Series("query", queries, pl.String).gather(of), pl.all())
    return named.sort("query", "scale", "score", "item", descending=[False, False, True, False])


class QueryTables:
    """Rankings of queries, which become tables `_TOGETHER` at a time."""

    def __init__(self) -> None:
        self.tables: list[pl.DataFrame] = []
        self.waiting: dict[str, ItemRanking] = {}

    def add(self, query: str, ranking: ItemRanking) -> None:
        """Add the ranking of a query."""
        self.waiting[query] = replace(ranking, errors=None)
        if len(self.waiting) == _TOGETHER:
            self._empty()

    def __bool__(self) -> bool:
        return bool(self.tables or self.waiting)

    def whole(self) -> pl.DataFrame:
        """Return the table of all."""
        self._empty()
        return pl.concat(self.tables)

    def _empty(self) -> None:
        if self.waiting:
            self.tables.append(ranking_table(list(self.waiting.values()), list(self.waiting)))
            self.waiting = {}
