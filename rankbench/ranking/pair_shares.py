"""Who won how often against whom: shares of the votes on each pair of items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.ranking.aggregate import Aggregation

__all__ = ["MOST_PAIRED", "pair_shares"]

MOST_PAIRED = 300
"""Items of a table of pairs: more are more than anybody reads."""


def pair_shares(found: Aggregation, top: int | None = None) -> tuple[list[str], NDArray[np.float64]]:
    """Return shares of wins, a tie being half of one: a row and a column for each item, in the order of the ranking.

    Parameters
    ----------
    found : Aggregation
        Of the votes of a whole log.
    top : int, optional
        The first so many items alone.

    Returns
    -------
    items : list of str, length m
    shares : ndarray of float64, shape (m, m)
        Of the votes on two items the share that the row's won; nan where they were never compared.

    Raises
    ------
    SpecError
        There are no counts of pairs, or there are too many items.
    """
    if found.pairs is None:
        raise SpecError("--matrix: pairs are known of votes on a whole log that a method counts, not of what this is")
    items = found.table["item"].to_list()[:top]
    if len(items) > MOST_PAIRED:
        raise SpecError(f"--matrix: {len(items):,} items make more pairs than anybody reads; say --top {MOST_PAIRED}")
    counts, place = found.pairs, {name: i for i, name in enumerate(items)}
    at = np.array([place.get(name, -1) for name in counts.items])
    low, high = at[counts.low], at[counts.high]
    forward, backward = counts.wins()
    shown = (low >= 0) & (high >= 0) & (forward + backward > 0)
    share = np.full((len(items), len(items)), np.nan)
    low, high, forward, backward = low[shown], high[shown], forward[shown], backward[shown]
    share[low, high] = forward / (forward + backward)
    share[high, low] = backward / (forward + backward)
    return items, share
