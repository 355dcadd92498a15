"""Pair counts sum votes and ties by pair and by cluster; scales tell which items are connected.

Ties of votes are handled here: `PairCounts.wins` makes half a win each way of them.

References
----------
.. [F57] L. R. Ford Jr. Solution of a ranking problem from binary comparisons. American
   Mathematical Monthly 64(8), 1957.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from rankbench.core.system import in_two_threads
from rankbench.errors import InputError
from rankbench.interfaces.queries import Comparisons

_TABLE = 1 << 22
"""Pairs of items that are looked up in a table, however few judgments there are."""


def numbered_pairs(
    first: NDArray[np.int32], second: NDArray[np.int32], m: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the compared pairs of m items, and the number of each judgment's pair, shape (n,); two threads.

    Pairs are sorted, shape (P, 2), the lower item first.

    Parameters
    ----------
    first, second : ndarray of int32, shape (n,)
        The two items of each judgment, in ``[0, m)``.
    m : int
    """
    from rankbench.kernels.pairs import mark_pairs, number_rows

    n = len(first)
    first, second = (np.ascontiguousarray(each, np.int32) for each in (first, second))
    if m * m <= max(_TABLE, n):
        seen, pair = np.zeros((m, m), np.uint8), np.empty(n, np.int32)
        in_two_threads(lambda rows: mark_pairs(first, second, rows.start, rows.stop, seen), n)
        keys = np.flatnonzero(seen)
        place = np.zeros((m, m), np.int32)
        place.reshape(-1)[keys] = np.arange(len(keys), dtype=np.int32)
        in_two_threads(lambda rows: number_rows(first, second, rows.start, rows.stop, place, pair), n)
    else:
        key = np.minimum(first, second).astype(np.int64)
        key *= m
        key += np.maximum(first, second)
        keys, found = np.unique(key, return_inverse=True)
        pair = found.reshape(-1).astype(np.int32)
    return np.column_stack(np.divmod(keys, m)).astype(np.int32), pair


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Judgments summed by unordered pair of items: a sparse upper triangle.

    Only they hold a log of any length in memory that grows with its pairs alone.

    Pair e of row i is {i, high[e]} with ``i < high[e]``, for ``e = starts[i] ..
    starts[i + 1] - 1``; sorted, each observed pair once. P pairs take 28 P bytes however
    many judgments there were.

    Attributes
    ----------
    items : list of str, length m
        Names, different from one another.
    starts : ndarray of int64, shape (m + 1,)
        Ends of the rows: row i has the pairs ``starts[i]`` to ``starts[i + 1] - 1``.
    high : ndarray of int32, shape (P,)
        The later item of each pair.
    forward, backward : ndarray of float64, shape (P,)
        Weight of the judgments that `low` won, and that `high` won.
    ties : ndarray of float64, shape (P,)
        Weight of the ties.
    judgments : int
        Number of judgments.
    weighted : bool
        Whether some weight may differ from 1; where not, the sums are numbers of judgments.
    """

    items: list[str]
    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]
    ties: NDArray[np.float64]
    judgments: int
    weighted: bool = False

    @classmethod
    def from_cells(
        cls, items: list[str], pairs: NDArray[np.int32], cells: NDArray[np.float64], judgments: int, weighted: bool
    ) -> PairCounts:
        """Return given sums; pairs of no weight stay.

        Parameters
        ----------
        items : list of str, length m
        pairs : ndarray of int32, shape (P, 2)
            Sorted, the lower item first.
        cells : ndarray of float64, shape (P, 3)
            Weight of the judgments that `low` won, that `high` won, and of ties.
        judgments : int
        weighted : bool
        """
        low, high = np.ascontiguousarray(pairs.T)
        starts = np.concatenate([[0], np.cumsum(np.bincount(low, minlength=len(items)))])
        forward, backward, ties = np.ascontiguousarray(cells.T)
        return cls(items, starts, high, forward, backward, ties, judgments, weighted)

    @classmethod
    def from_comparisons(cls, comparisons: Comparisons, m: int) -> PairCounts:
        """Sum a few comparisons of one query; see `rankbench.logs.count.count_pairs` for many.

        Parameters
        ----------
        comparisons : Comparisons
            Of one query; comparisons of weight 0 say nothing.
        m : int
            Number of its items, whose names are their numbers.

        Raises
        ------
        InputError
            All weights are 0, or there are no comparisons, or an item is none of the m.
        """
        said = comparisons.weighed()
        first, second, weights, tied = said.winners, said.losers, said.weights, said.ties
        won = weights if tied is None else np.where(tied, 0.0, weights)
        starts, high, forward, backward = _sums(first, second, won, m)
        if tied is None:
            ties = np.zeros(len(high))
        else:
            _, _, ties, _ = _sums(np.minimum(first, second), np.maximum(first, second), np.where(tied, weights, 0.0), m)
        weighted = bool(np.count_nonzero(weights != 1))
        return cls(list(_numbers(m)), starts, high, forward, backward, ties, len(weights), weighted)

    @cached_property
    def m(self) -> int:
        """Number of items."""
        return len(self.starts) - 1

    @cached_property
    def connected(self) -> Scales:
        """The connected components of the graph of compared items.

        Nothing in the log says how items of different components relate.
        """
        return _components(self, self.forward, self.backward, False)

    @cached_property
    def strongly_connected(self) -> Scales:
        """The strongly connected components of the graph of "beat, or tied with".

        They are what plain maximum likelihood can put on one scale ([F57]_): between two of
        them every judgment went the same way, so that the likelihood rises as they are moved
        apart, for ever. An item that never wins is one by itself, below everybody.
        """
        forward, backward = self.wins()
        # Most often the pairs in which each has won connect everything already.
        quick = _components(self, forward, backward, True)
        if len(quick.sizes) == 1:
            return quick
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        low = self.low
        there, back = forward > 0, backward > 0
        i = np.concatenate([low[there], self.high[back]])
        j = np.concatenate([self.high[there], low[back]])
        graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(self.m, self.m))
        return _scales(connected_components(graph.tocsr(), directed=True, connection="strong")[1])

    @property
    def low(self) -> NDArray[np.int32]:
        """The smaller item of each pair, shape (P,)."""
        return np.arange(self.m, dtype=np.int32).repeat(self.starts[1:] - self.starts[:-1])

    def __len__(self) -> int:
        return len(self.high)

    def wins(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (forward, backward), each of shape (P,), with ties as half a win each way.

        Aggregators with another model of ties, as `davidson`, read `ties`.
        """
        if not self.ties.any():
            return self.forward, self.backward
        return self.forward + self.ties / 2, self.backward + self.ties / 2

    def won_and_lost(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weight that each item won, and that it lost, shapes (m,); ties are half of both."""
        forward, backward = self.wins()
        low, high, m = self.low, self.high, self.m
        won, lost = (
            (np.bincount(low, of_low, m) + np.bincount(high, of_high, m)).astype(np.float64)
            for of_low, of_high in ((forward, backward), (backward, forward))
        )
        return won, lost

    def comparisons(self) -> Comparisons:
        """Return at most three comparisons a pair that have the same sums, ties as ties.

        An aggregator that does not depend on the order of judgments gives them the scores of the whole log.
        """
        cells = np.column_stack([self.forward, self.backward, self.ties])
        pair, cell = np.nonzero(cells)
        low, high = self.low[pair], self.high[pair]
        winners = np.where(cell == 1, high, low).astype(np.int32)
        losers = np.where(cell == 1, low, high).astype(np.int32)
        return Comparisons(np.array([0, len(pair)], dtype=np.int64), winners, losers, cells[pair, cell], cell == 2)

    def observed(self) -> PairCounts:
        """Return the same without pairs of no weight, which resamples and folds may leave."""
        kept = self.forward + self.backward + self.ties > 0
        return self if np.count_nonzero(kept) == len(kept) else self.select(kept)

    def select(self, chosen: NDArray[np.bool_]) -> PairCounts:
        """Return the same items with only the chosen pairs, a mask of shape (P,).

        `judgments` stays the number that was counted.
        """
        # By number: a mask of pairs that come and go is guessed wrong by the processor, five times over.
        kept = np.flatnonzero(chosen)
        columns = (self.high[kept], self.forward[kept], self.backward[kept], self.ties[kept])
        return PairCounts(self.items, np.searchsorted(kept, self.starts), *columns, self.judgments, self.weighted)


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Judgments of each cluster on each pair, one sum an outcome.

    Only they tell how much the judgments of a cluster say together, as sandwiches and resamples need.

    12 bytes for each of the K combinations of cluster, pair and outcome that occur, at most as many as judgments.

    Attributes
    ----------
    counts : PairCounts
        The sums over all clusters.
    clusters : list of str, length G
        Names.
    starts : ndarray of int64, shape (G + 1,)
        Rows of cluster g are ``starts[g]:starts[g + 1]``.
    cells : ndarray of int32, shape (K,)
        Three times the index of the pair in `counts`, plus 0 where `low` won, 1 where `high` did, 2 for a tie;
        rising within a cluster.
    weights : ndarray of float64, shape (K,)
        Sums of the judgments' weights, above 0.
    """

    counts: PairCounts
    clusters: list[str]
    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]


@lru_cache(maxsize=64)
def _numbers(m: int) -> tuple[str, ...]:
    """Return "0", "1", ..: names of a query's m items."""
    return tuple(map(str, range(m)))


def _sums(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return `starts`, `high`, `forward` and `backward` of all pairs that occur, of weight 0 or not."""
    from rankbench.kernels.pairs import sum_some

    k = len(winners)
    starts, high = np.zeros(m + 1, np.int64), np.empty(k, np.int32)
    forward, backward = np.empty(k), np.empty(k)
    first, second = np.ascontiguousarray(winners, np.int32), np.ascontiguousarray(losers, np.int32)
    if not sum_some(first, second, np.ascontiguousarray(weights, np.float64), starts, high, forward, backward):
        raise InputError(f"items of comparisons are numbers in [0, {m})")
    pairs = starts[-1]
    return starts, high[:pairs].copy(), forward[:pairs].copy(), backward[:pairs].copy()


@dataclass(frozen=True, eq=False)
class Scales:
    """A partition of the m items into scales; scores of different scales cannot be compared.

    Attributes
    ----------
    scale_of : ndarray of int32, shape (m,)
        Scale of each item, numbered in the order of their first items.
    sizes : ndarray of int64, shape (S,)
        Number of items of each scale.
    """

    scale_of: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First item of each scale, shape (S,)."""
        return np.unique(self.scale_of, return_index=True)[1]

    def cuts(self, whole: Scales) -> bool:
        """Return whether some scale of another partition of the same items is on several of these."""
        pairs = np.unique(whole.scale_of.astype(np.int64) * len(self.sizes) + self.scale_of)
        return len(pairs) > len(whole.sizes)


def _scales(labels: NDArray[np.int64]) -> Scales:
    """Return the scales of items with labels, numbered by their first items."""
    if len(labels) and (labels == labels[0]).all():  # most often, and for thousands of refits
        return Scales(np.zeros(len(labels), np.int32), np.array([len(labels)]))
    _, first, of, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    number = np.empty(len(first), np.int32)
    order = np.argsort(first)
    number[order] = np.arange(len(first))
    return Scales(number[of], sizes[order])


def _components(
    counts: PairCounts, forward: NDArray[np.float64], backward: NDArray[np.float64], mutual: bool
) -> Scales:
    from rankbench.kernels.pairs import components

    root = np.empty(counts.m, np.int64)
    components(counts.starts, counts.high, forward, backward, mutual, root)
    return _scales(root)


def within(counts: PairCounts, scales: Scales, ridge: float) -> PairCounts:
    """Return the counts for a fit: all with a ridge, else counts of pairs within scales."""
    if ridge > 0 or len(scales.sizes) == 1:
        return counts
    return counts.select(scales.scale_of[counts.low] == scales.scale_of[counts.high])
