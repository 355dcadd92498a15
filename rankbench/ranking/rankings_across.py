"""Rankings of categories stand side by side, with shares of wins or Elo points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import SpecError, nearest, option
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.ranking.aggregation import Aggregation

MOST_CELLS_ACROSS = 5_000_000
"""Most cells, items by categories: of queries that each have items of their own hardly any would be filled."""


@dataclass(frozen=True, eq=False)
class RankingsAcross:
    """Rankings of C categories, of m items.

    Attributes
    ----------
    items : list of str
        Those whose mean place by score is the best first; where an item is missing it counts as the last there.
    categories : list of str
        Those with the most judgments first.
    judged : ndarray of float64, shape (C,)
        Weight of the judgments, each counted once for each of its items.
    ranks : ndarray of int64, shape (m, C, 3)
        Smallest and largest rank, or places by score, and 1 if it may be first; 0 where an item is missing.
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
        There is one ranking alone, or more cells than people read.
    """
    table = found.table
    if "query" not in table.columns:
        raise SpecError(
            f"{option('across')}: rankings are side by side where there is one for each category; say "
            f"{option('by', 'COLUMN')}"
        )
    names, items = table["query"].unique(maintain_order=True).to_list(), table["item"].unique().sort().to_list()
    if len(names) * len(items) > MOST_CELLS_ACROSS:
        raise SpecError(
            f"{option('across')}: {len(items):,} items by {len(names):,} categories are more cells than "
            f"{MOST_CELLS_ACROSS:,}; leave {option('across')} out, and each ranking stands below the other"
        )
    of_query, of_item = ({name: at for at, name in enumerate(some)} for some in (names, items))
    column = table["query"].replace_strict(of_query).to_numpy()
    row = table["item"].replace_strict(of_item).to_numpy()
    ranks, scores = np.zeros((len(items), len(names), 3), np.int64), np.full((len(items), len(names)), np.nan)
    ranks[row, column] = table.select("rank_low", "rank_high", pl.col("may_be_first").fill_null(False)).to_numpy()
    scores[row, column] = table["score"].to_numpy()
    judged = np.bincount(column, table["votes"].to_numpy(), len(names)).astype(np.float64)
    order = np.argsort(-judged, kind="stable")
    # By score: the rank range of an item with few votes tells nothing of its place.
    place = np.tile(np.bincount(column, minlength=len(names)).astype(np.float64), (len(items), 1))
    place[row, column] = table.select(pl.col("score").rank(descending=True).over("query")).to_series().to_numpy()
    first = np.argsort(place.mean(axis=1), kind="stable")[:top]
    return RankingsAcross(
        [items[at] for at in first],
        [names[at] for at in order],
        judged[order],
        ranks[np.ix_(first, order)],
        scores[np.ix_(first, order)],
    )


MOST_PAIRED = 300
"""Most items of a table of pairs."""


def counted_pairs(found: Aggregation) -> PairCounts:
    """Return the counts of votes by pair of a ranking of a whole log.

    Raises
    ------
    SpecError
        There are none.
    """
    if found.pairs is None:
        raise SpecError(
            f"{option('matrix')} needs votes, one ranking of the whole log (leave {option('by')} out), and an "
            "aggregator that counts votes by pair, as bradley-terry"
        )
    return found.pairs


def pair_shares(counts: PairCounts, items: list[str]) -> NDArray[np.float64]:
    """Return the shares of wins of items, a tie being half of one.

    Parameters
    ----------
    counts : PairCounts
    items : list of str, length m
        Of the rows and the columns.

    Returns
    -------
    ndarray of float64, shape (m, m)
        The share that the row's item won of the votes on both; nan where they were never compared.

    Raises
    ------
    SpecError
        There are too many items.
    """
    if len(items) > MOST_PAIRED:
        raise SpecError(
            f"{option('matrix')}: {len(items):,} items make more pairs than anybody reads; say "
            f"{option('top', str(MOST_PAIRED))}"
        )
    place = {name: i for i, name in enumerate(items)}
    at = np.array([place.get(name, -1) for name in counts.items])
    low, high = at[counts.low], at[counts.high]
    forward, backward = counts.wins()
    shown = (low >= 0) & (high >= 0) & (forward + backward > 0)
    share = np.full((len(items), len(items)), np.nan)
    low, high, forward, backward = low[shown], high[shown], forward[shown], backward[shown]
    share[low, high] = forward / (forward + backward)
    share[high, low] = backward / (forward + backward)
    return share


ELO_POINTS = 400 / math.log(10)
"""Elo points of one unit of log-odds: 400 points are a factor 10 of the odds."""

MIDDLE = 1500.0
"""Mean of the items where none of them is an anchor."""


class PointScale(NamedTuple):
    """Elo points.

    Attributes
    ----------
    anchor : str
        Item that has `points`; empty: the mean of the items has.
    points : float
    """

    anchor: str = ""
    points: float = MIDDLE


def point_scale_of(text: str) -> PointScale:
    """Read ``elo`` or ``elo:anchor=NAME@POINTS``; the points follow the last @, as a name may have one too.

    Raises
    ------
    SpecError
        It is neither.
    """
    name, colon, rest = text.partition(":")
    if name != "elo" or (colon and not rest.startswith("anchor=")):
        raise SpecError(f"{option('scale', text)}: write elo, or elo:anchor=NAME@1000")
    if not colon:
        return PointScale()
    anchor, at, points = rest.removeprefix("anchor=").rpartition("@")
    try:
        found = float(points) if at and anchor else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise SpecError(
            f"{option('scale', text)}: after the anchor's name comes @ and its points, as elo:anchor=NAME@1000"
        )
    return PointScale(anchor, found)


def rescaled(found: Aggregation, scale: PointScale) -> Aggregation:
    """Return a ranking with its scores, and their intervals, in Elo points.

    All scores are stretched and shifted alike. An interval stays that of its score around the mean of the items: that
    the anchor's own score is uncertain is not in those of the others.

    Raises
    ------
    SpecError
        The scores are no log-odds, the anchor is no item, or items stand on scales of their own.
    """
    if found.facts.get("unit") != "log-odds":
        raise SpecError(f"{option('scale')} makes Elo points of log-odds, and scores of {found.method} are no log-odds")
    table = found.table
    if "query" in table.columns or table["scale"].n_unique() > 1:
        raise SpecError(
            f"{option('scale')}: the items are not on one scale, so that no shift puts them all on the same points"
        )
    middle, other = (_middle(table, name) for name in ("score", "unadjusted_score"))
    if scale.anchor:
        known = table.filter(item=scale.anchor)
        if not known.height:
            raise SpecError(
                f"{option('scale')}: no item is called {scale.anchor!r}{nearest(scale.anchor, table['item'].to_list())}"
            )
        middle, other = (_middle(known, name) for name in ("score", "unadjusted_score"))
    names = [name for name in table.columns if name.removeprefix("unadjusted_") in ("score", "lower", "upper")]
    points = [
        (pl.col(name) - (other if name.startswith("unadjusted_") else middle)) * ELO_POINTS + scale.points
        for name in names
    ]
    at = f"{scale.anchor} at" if scale.anchor else "mean"
    unit = f"Elo points, {at} {scale.points:g}"
    return replace(found, table=table.with_columns(points), facts={**found.facts, "unit": unit})


def _middle(table: pl.DataFrame, name: str) -> float:
    """Return the mean of some scores; nan where a ranking has none of these."""
    return float(table[name].mean()) if name in table.columns else math.nan  # type: ignore[arg-type]  # of floats
