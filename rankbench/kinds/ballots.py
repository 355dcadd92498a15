"""From ballots to the comparisons that they imply."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.queries import Comparisons, Orders

__all__ = ["MOST_IMPLIED", "check_implied", "implied_comparisons", "with_unranked"]

MOST_IMPLIED = 200_000_000
"""Most comparisons that ballots may imply: several GB."""


def check_implied(orders: Orders, m: int) -> None:
    """Refuse ballots that imply more comparisons than memory has room for, before any is made.

    Parameters
    ----------
    orders : Orders
    m : int
        Number of items.

    Raises
    ------
    InputError
        There are more than `MOST_IMPLIED`, or, where items that a ballot leaves out count as last,
        more places of items on ballots.
    """
    own = np.diff(orders.starts).astype(np.float64)
    count = float((own * (own - 1) / 2).sum())
    if orders.unranked == "last":
        # All pairs of items are looked at for the longest ballot, all items for each.
        count = max(count + float((own * (m - own)).sum()), float(len(orders)) * m, m * (m - 1) / 2)
    if count > MOST_IMPLIED:
        raise InputError(
            f"the ballots imply {count:,.0f} comparisons, l (l - 1) / 2 for a ballot of l items, and at most "
            f"{MOST_IMPLIED:,} can be made; take plackett-luce, which makes none, or keep the first few places of "
            "each ballot"
        )


def with_unranked(orders: Orders, m: int) -> tuple[Orders, NDArray[np.int64]]:
    """Append to every ballot of one query the items that it leaves out, if they count as last.

    Parameters
    ----------
    orders : Orders
        One query's.
    m : int
        Number of its items.

    Returns
    -------
    orders : Orders
        If ``orders.unranked`` is ``last``, every ballot has m rows, the items that it does not
        mention together on a place of their own at the end. Else `orders` itself.
    ranked : ndarray of int64, shape (n,)
        How many rows of each ballot are its own.
    """
    ranked = np.diff(orders.starts)
    if orders.unranked == "absent":
        return orders, ranked
    n = len(orders)
    place = np.full((n, m), np.iinfo(np.int32).max, dtype=np.int32)
    row = np.repeat(np.arange(n), ranked)
    place[row, orders.items] = orders.places
    # Stable: items of one place stay in the order of their numbers.
    items = np.argsort(place, axis=1, kind="stable").astype(np.int32)
    places = np.take_along_axis(place, items, axis=1)
    starts = np.arange(n + 1, dtype=np.int64) * m
    return Orders(orders.offsets, starts, items.ravel(), places.ravel(), orders.weights, "last"), ranked


def implied_comparisons(orders: Orders, m: int) -> Comparisons:
    """Return all comparisons that the ballots of one query imply, ballot after ballot.

    A ballot of weight w that ranks i before j becomes a comparison of weight w, items on the
    same place become a tie, of weight w too. A ballot that ranks l items implies l (l - 1) / 2
    comparisons, so longer ballots say more, in total. What a ballot says of items that it does
    not mention is told by ``orders.unranked``: nothing (``absent``), or that the items that it
    mentions beat them (``last``); nothing is ever said about two items that it leaves out.

    On complete ballots without ties the net weight of an item's comparisons is its classical
    Borda count: over voters, the number of items below it less the number above it.

    Parameters
    ----------
    orders : Orders
        One query's.
    m : int
        Number of its items.

    Returns
    -------
    Comparisons
        Of one query.

    Raises
    ------
    InputError
        There is no comparison: no ballot ranks two items; or there are more than `MOST_IMPLIED`.
    """
    check_implied(orders, m)
    whole, ranked = with_unranked(orders, m)
    lengths = np.diff(whole.starts)
    upper: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    lower: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    for length, own in np.unique(np.stack([lengths, ranked], axis=1), axis=0):
        before, after = np.triu_indices(length, 1)
        known = before < own
        first = whole.starts[:-1][(lengths == length) & (ranked == own), None]
        upper.append((first + before[known]).ravel())
        lower.append((first + after[known]).ravel())
    high, low = np.concatenate(upper), np.concatenate(lower)
    if not len(high):
        raise InputError("the ballots say nothing: none of them ranks two items; leave such queries out")
    # Ballots of one length came together; every row belongs to one ballot, so rows give their order.
    order = np.argsort(high, kind="stable")
    high, low = high[order], low[order]
    ballot = np.searchsorted(whole.starts, high, side="right") - 1
    ties = whole.places[high] == whole.places[low]
    return Comparisons(
        np.array([0, len(high)], dtype=np.int64),
        whole.items[high],
        whole.items[low],
        orders.weights[ballot],
        ties if ties.any() else None,
    )
