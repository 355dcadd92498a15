"""Containers hold queries with their items, comparisons, selections or orders.

All are sorted by query and hold plain NumPy arrays (zero-copy from Polars where the types
allow): `Queries` is what is ranked; `Comparisons`, `Selections` and `Orders` are what was
said about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, PluginError


class HiddenLabelsError(PluginError):
    """A contender looks at labels that it is judged by."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries with their candidate items.

    Attributes
    ----------
    ids : list of str, length Q
        Names of the queries.
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``offsets[q]:offsets[q + 1]``.
    x : ndarray of float32, shape (N, d)
        Features of the items.
    truth : ndarray of float64, shape (N,), or None
        Graded relevance r, which `labels` returns; None where a contender must not see it.
    """

    ids: list[str]
    offsets: NDArray[np.int64]
    x: NDArray[np.float32]
    truth: NDArray[np.float64] | None

    @property
    def labels(self) -> NDArray[np.float64]:
        """Graded relevance r of each item, shape (N,).

        Raises
        ------
        HiddenLabelsError
            It is hidden: contenders are judged by it.
        """
        if self.truth is None:
            raise HiddenLabelsError(
                "a contender looks at the labels of queries, which it is judged by. Learn from `block.comparisons`; or "
                "compete under protocol 'graded', where methods learn from the labels of training queries. A class "
                "with `needs_truth = True` is shown all labels: the contender is then an oracle, and no competitor"
            )
        return self.truth

    def unlabelled(self) -> Queries:
        """Return the queries without their labels."""
        return replace(self, truth=None)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items m_q of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, chosen: NDArray[np.int64]) -> Queries:
        """Return the queries with the given indices, in that order."""
        rows = np.concatenate([np.arange(0), *(np.arange(self.offsets[q], self.offsets[q + 1]) for q in chosen)])
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        truth = None if self.truth is None else self.truth[rows]
        return Queries([self.ids[q] for q in chosen], offsets, self.x[rows], truth)


@dataclass(frozen=True, eq=False)
class _Judgments:
    """Judgments, sorted by query: query q has rows ``offsets[q]:offsets[q + 1]``."""

    offsets: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of judgments n_q of each query, shape (Q,)."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class Comparisons(_Judgments):
    """Pairwise judgments, sorted by query, within a query in the order they were made.

    Only they hold single votes of many queries, as methods learn from them.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Judgments of query q are rows ``offsets[q]:offsets[q + 1]``.
    winners, losers : ndarray of int32, shape (n,)
        Item indices *within* the query, in ``[0, m_q)``.
    weights : ndarray of float64, shape (n,)
        Positive and finite; 1 for a plain vote.
    ties : ndarray of bool, shape (n,), optional
        True where neither item won: `winners` and `losers` then merely name the two. None:
        there are no ties.
    """

    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    weights: NDArray[np.float64]
    ties: NDArray[np.bool_] | None = None

    def weighed(self) -> Comparisons:
        """Return the comparisons of one query that have some weight.

        Raises
        ------
        InputError
            None has.
        """
        rows = _weighed_rows(self.weights)
        if len(rows) == len(self):
            return self
        ties = None if self.ties is None else self.ties[rows]
        offsets = np.array([0, len(rows)], dtype=np.int64)
        return Comparisons(offsets, self.winners[rows], self.losers[rows], self.weights[rows], ties)

    def without_ties(self) -> Comparisons:
        """Return the comparisons with half a win each way, one after the other, for every tie."""
        if self.ties is None or not self.ties.any():
            return Comparisons(self.offsets, self.winners, self.losers, self.weights)
        copies = np.where(self.ties, 2, 1)
        row = np.repeat(np.arange(len(self)), copies)
        second = np.zeros(len(row), dtype=np.bool_)
        second[1:] = row[1:] == row[:-1]
        starts = np.concatenate([[0], np.cumsum(copies)])
        winners = np.where(second, self.losers[row], self.winners[row])
        losers = np.where(second, self.winners[row], self.losers[row])
        return Comparisons(starts[self.offsets], winners, losers, self.weights[row] / copies[row])

    def __len__(self) -> int:
        return len(self.winners)


@dataclass(frozen=True, eq=False)
class Selections(_Judgments):
    """Clicks on shown lists, sorted by query, within a query in the order they were made.

    Only they hold what was shown beside what was clicked.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Selections of query q are ``offsets[q]:offsets[q + 1]``.
    starts : ndarray of int64, shape (n + 1,)
        Selection s showed rows ``starts[s]:starts[s + 1]``, the top of the list
        first.
    items : ndarray of int32, shape (P,)
        Item shown, *within* the query, in ``[0, m_q)``; no item twice in a selection.
    clicked : ndarray of bool, shape (P,)
        Whether it was clicked.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    clicked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Orders(_Judgments):
    """Ballots: weak orders of some of a query's items, sorted by query; other items are unranked.

    Only they hold judgments of more than two items at once.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Ballots of query q are ``offsets[q]:offsets[q + 1]``.
    starts : ndarray of int64, shape (n + 1,)
        Ballot b ranks rows ``starts[b]:starts[b + 1]``, the best first.
    items : ndarray of int32, shape (P,)
        Item *within* the query, in ``[0, m_q)``; no item twice in a ballot.
    places : ndarray of int32, shape (P,)
        Place of the item on the ballot, from 0, not decreasing within a ballot; items of
        one place are tied.
    weights : ndarray of float64, shape (n,)
        Sum over the voters who cast it; positive and finite.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    places: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.weights)

    def weighed(self) -> Orders:
        """Return the ballots of one query that have some weight.

        Raises
        ------
        InputError
            None has.
        """
        rows = _weighed_rows(self.weights)
        if len(rows) == len(self):
            return self
        lengths = np.diff(self.starts)
        ranked = np.repeat(self.weights != 0, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
        offsets = np.array([0, len(rows)], dtype=np.int64)
        return Orders(offsets, starts, self.items[ranked], self.places[ranked], self.weights[rows])


def _weighed_rows(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    rows = np.flatnonzero(weights)
    if not len(rows):
        raise InputError("all weights are zero: the judgments say nothing; leave them out", column="weight")
    return rows


MOST_IMPLIED = 200_000_000
"""Most comparisons that ballots may imply: several GB."""


def check_implied(orders: Orders) -> None:
    """Raise if ballots imply more comparisons than memory has room for, before any is made.

    Parameters
    ----------
    orders : Orders

    Raises
    ------
    InputError
        There are more than `MOST_IMPLIED`.
    """
    own = np.diff(orders.starts).astype(np.float64)
    count = float((own * (own - 1) / 2).sum())
    if count > MOST_IMPLIED:
        raise InputError(
            f"the ballots imply {count:,.0f} comparisons, l (l - 1) / 2 for a ballot of l items; the limit is "
            f"{MOST_IMPLIED:,}. Take plackett-luce, which makes none, or keep the first few places of each ballot"
        )


def implied_comparisons(orders: Orders) -> Comparisons:
    """Return all comparisons that the ballots of one query imply, ballot after ballot.

    A ballot of weight w that ranks i before j becomes a comparison of weight w, items on the
    same place become a tie, of weight w too. A ballot that ranks l items implies l (l - 1) / 2
    comparisons, so longer ballots say more, in total. A ballot says nothing of items that it does
    not mention.

    On complete ballots without ties the net weight of an item's comparisons is its classical
    Borda count: over voters, the number of items below it less the number above it.

    Parameters
    ----------
    orders : Orders
        One query's.

    Returns
    -------
    Comparisons
        Of one query.

    Raises
    ------
    InputError
        There is no comparison: no ballot ranks two items; or there are more than `MOST_IMPLIED`.
    """
    check_implied(orders)
    lengths = np.diff(orders.starts)
    upper: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    lower: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    for length in np.unique(lengths):
        before, after = np.triu_indices(length, 1)
        first = orders.starts[:-1][lengths == length, None]
        upper.append((first + before).ravel())
        lower.append((first + after).ravel())
    high, low = np.concatenate(upper), np.concatenate(lower)
    if not len(high):
        raise InputError("the ballots say nothing: none of them ranks two items; leave such queries out")
    # Ballots of one length came together; every row belongs to one ballot, so rows give their order.
    order = np.argsort(high, kind="stable")
    high, low = high[order], low[order]
    ballot = np.searchsorted(orders.starts, high, side="right") - 1
    ties = orders.places[high] == orders.places[low]
    offsets, tied = np.array([0, len(high)], dtype=np.int64), ties if ties.any() else None
    return Comparisons(offsets, orders.items[high], orders.items[low], orders.weights[ballot], tied)
