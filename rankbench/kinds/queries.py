"""The columnar containers that everything after reading works on.

All are sorted by query and hold plain NumPy arrays (zero-copy from Polars where the types
allow): `Queries` is what is ranked; `Comparisons`, `Selections` and `Orders` are what was
said about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import PluginError

__all__ = ["Comparisons", "Orders", "Queries", "Selections", "Unranked"]

Unranked: TypeAlias = Literal["absent", "last"]
"""What it means that a ballot does not mention an item; see `Orders`."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries with their candidate items.

    Attributes
    ----------
    ids : list of str, length Q
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``offsets[q]:offsets[q + 1]``.
    x : ndarray of float32, shape (N, d)
        Features.
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
        PluginError
            It is hidden: contenders are judged by it.
        """
        if self.truth is None:
            raise PluginError(
                "a contender looks at the labels of queries, which it is judged by; learn from `block.comparisons`, or "
                "declare `needs_truth = True` in the class: the contender is then an oracle, and no competitor"
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
class Comparisons:
    """Pairwise judgments, sorted by query, within a query in the order they were made.

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

    offsets: NDArray[np.int64]
    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    weights: NDArray[np.float64]
    ties: NDArray[np.bool_] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of judgments n_q of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def without_ties(self) -> Comparisons:
        """Return the comparisons with half a win each way, one after the other, for every tie."""
        if self.ties is None or not self.ties.any():
            return Comparisons(self.offsets, self.winners, self.losers, self.weights)
        copies = np.where(self.ties, 2, 1)
        row = np.repeat(np.arange(len(self)), copies)
        second = np.zeros(len(row), dtype=np.bool_)
        second[1:] = row[1:] == row[:-1]
        starts = np.concatenate([[0], np.cumsum(copies)])
        return Comparisons(
            starts[self.offsets],
            np.where(second, self.losers[row], self.winners[row]),
            np.where(second, self.winners[row], self.losers[row]),
            self.weights[row] / copies[row],
        )

    def __len__(self) -> int:
        return len(self.winners)


@dataclass(frozen=True, eq=False)
class Selections:
    """Clicks on shown lists, sorted by query, within a query in the order they were made.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Selections of query q are ``offsets[q]:offsets[q + 1]``.
    starts : ndarray of int64, shape (n + 1,)
        What selection s showed is rows ``starts[s]:starts[s + 1]``, the top of the list
        first.
    items : ndarray of int32, shape (P,)
        Item shown, *within* the query, in ``[0, m_q)``; no item twice in a selection.
    clicked : ndarray of bool, shape (P,)
        Whether it was clicked.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    clicked: NDArray[np.bool_]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of selections of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Orders:
    """Ballots: weak orders of some of a query's items, sorted by query.

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
        How many voters cast it; positive and finite.
    unranked : {"absent", "last"}
        What a ballot says of the items that it does not mention: nothing, or that all of
        them come after those that it mentions, in an order that nobody knows.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    places: NDArray[np.int32]
    weights: NDArray[np.float64]
    unranked: Unranked = "absent"

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of ballots of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.weights)
