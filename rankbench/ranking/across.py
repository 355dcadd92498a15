"""Rankings of several categories side by side: a row for each item, a column for each category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.ranking.aggregate import Aggregation

__all__ = ["MOST_CELLS_ACROSS", "RankingsAcross", "rankings_across"]

MOST_CELLS_ACROSS = 5_000_000
"""Most cells, items by categories: of queries that each have items of their own hardly any would be filled."""


@dataclass(frozen=True, eq=False)
class RankingsAcross:
    """Rankings of C categories, of m items.

    Attributes
    ----------
    items : list of str
        Those whose mean place is the best first; where an item is missing it counts as the last there.
    categories : list of str
        Those with the most judgments first.
    judged : ndarray of float64, shape (C,)
        Weight of the judgments, each counted once for each of its items.
    ranks : ndarray of int64, shape (m, C, 2)
        Smallest and largest rank, or places by score; 0 where an item is missing.
    scores : ndarray of float64, shape (m, C)
        nan where an item is missing.
    """

    items: list[str]
    categories: list[str]
    judged: NDArray[np.float64]
    ranks: NDArray[np.int64]
    scores: NDArray[np.float64]


def rankings_across(found: Aggregation, top: int | None = None) -> RankingsAcross:
    """Return rankings of categories side by side.

    Parameters
    ----------
    found : Aggregation
        With a ranking for each category (``by``).
    top : int, optional
        The first so many items alone; places are among all of the category.

    Raises
    ------
    SpecError
        There is one ranking alone, or more cells than anybody reads.
    """
    table = found.table
    if "query" not in table.columns:
        raise SpecError("--across: rankings are side by side where there is one for each category; say --by COLUMN")
    names, items = table["query"].unique(maintain_order=True).to_list(), table["item"].unique().sort().to_list()
    if len(names) * len(items) > MOST_CELLS_ACROSS:
        raise SpecError(
            f"--across: {len(items):,} items by {len(names):,} categories are more cells than {MOST_CELLS_ACROSS:,}; "
            "leave --across out, and each ranking stands below the other"
        )
    of_query, of_item = ({name: at for at, name in enumerate(some)} for some in (names, items))
    column = table["query"].replace_strict(of_query).to_numpy()
    row = table["item"].replace_strict(of_item).to_numpy()
    ranks, scores = np.zeros((len(items), len(names), 2), np.int64), np.full((len(items), len(names)), np.nan)
    ranks[row, column] = table.select("rank_low", "rank_high").to_numpy()
    scores[row, column] = table["score"].to_numpy()
    judged = np.bincount(column, table["votes"].to_numpy(), len(names)).astype(np.float64)
    order = np.argsort(-judged, kind="stable")
    place = ranks.mean(axis=2)
    last = (ranks > 0).any(axis=2).sum(axis=0)
    mean = np.where(place > 0, place, last).mean(axis=1)
    first = np.argsort(mean, kind="stable")[:top]
    return RankingsAcross(
        [items[at] for at in first],
        [names[at] for at in order],
        judged[order],
        ranks[np.ix_(first, order)],
        scores[np.ix_(first, order)],
    )
