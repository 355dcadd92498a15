"""Counts are kept apart for every judge, or in parts that a tree sums.

Part k holds the judgments ``k 2^24 .. (k + 1) 2^24 - 1`` of the log, however it is cut into
files, batches and machines. Sums of weights depend on the order of additions: a part has its
own numbering of items, so that it is counted to the same bytes wherever, and the tree's shape
depends on the number of parts alone. Without weights sums are exact in any order, and
one machine takes all of the log for one part where it is not counted by judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.ranking.count import pair_counts
from rankbench.ranking.item_encoding import Labels
from rankbench.ranking.thread_tables import ROWS, SortedPairs, merged_runs

_ITEM_BITS, _CLUSTER_BITS = 20, 23
_TIE, _CLUSTER = 2 * _ITEM_BITS, 2 * _ITEM_BITS + 1
"""A key holds, from its lowest bits on: loser, winner, whether they tied, cluster."""

_AT_ONCE = 1 << 20
"""Keys that are read at a time: what is made on the way does not grow with the log."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums by (cluster, pair, outcome): packed keys, sorted, each once, (K,), and weights, (K,)."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]


def summed(
    keys: NDArray[np.integer], weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the different keys, sorted, and the sum of each one's weights, in their order; without: the number."""
    if weights is None:
        keys = np.sort(keys)
        first = _firsts(keys)
        ends = np.append(np.flatnonzero(first), len(keys))
        return keys[first], np.diff(ends).astype(np.float64)
    # Stable, which is linear where sorted keys follow sorted ones.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = _firsts(keys)
    keys, weights = keys[first], weights[order]
    del order
    return keys, np.bincount(np.cumsum(first) - 1, weights, len(keys)).astype(np.float64, copy=False)


def _firsts(keys: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which of sorted keys differ from the one before."""
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def compacted(parts: Sequence[Cells]) -> Cells:
    """Return the sums of several parts, in this order."""
    keys, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "weights"))
    return Cells(*summed(keys, weights))


def packed_clusters(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    clusters: NDArray[np.int32],
    ties: NDArray[np.uint8],
    weights: NDArray[np.float64],
) -> Cells:
    """Return the sums of some judgments.

    Raises
    ------
    InputError
        More than a million items, or eight million clusters.
    """
    if max(winners.max(), losers.max()) >= 1 << _ITEM_BITS or clusters.max() >= 1 << _CLUSTER_BITS:
        raise InputError(f"judgments by cluster: at most {1 << _ITEM_BITS} items and {1 << _CLUSTER_BITS} clusters")
    first, second = winners, losers
    keys = clusters.astype(np.uint64) << np.uint64(_CLUSTER)
    if len(ties):
        # A tie is one and the same whoever is named first.
        tied = ties > 0
        first = np.where(tied, np.minimum(winners, losers), winners)
        second = np.where(tied, np.maximum(winners, losers), losers)
        keys |= tied.astype(np.uint64) << np.uint64(_TIE)
    keys |= first.astype(np.uint64) << np.uint64(_ITEM_BITS)
    keys |= second.astype(np.uint64)
    return Cells(*summed(keys, weights if len(weights) else None))


def cluster_counts(found: Cells, counts: PairCounts, rank: NDArray[np.int64], names: list[str]) -> ClusterCounts:
    """Return the cells of clusters, sorted by name, over the pairs of `counts`.

    Parameters
    ----------
    found : Cells
    counts : PairCounts
        The same judgments.
    rank : ndarray of int64
        Item of `counts` that each code of `found` is.
    names : list of str
        Names of the clusters' codes.
    """
    by_name = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), np.int64)
    place[by_name] = np.arange(len(names))
    pairs = counts.low.astype(np.int64) * counts.m + counts.high
    keys = np.empty(len(found.keys), np.int64)
    for begin in range(0, len(keys), _AT_ONCE):
        rows = slice(begin, begin + _AT_ONCE)
        keys[rows] = _listed_keys(found.keys[rows].astype(np.int64), rank, place, pairs, counts.m)
    order = np.argsort(keys)
    keys, weights = keys[order], found.weights[order]
    del order
    width = 3 * len(pairs)
    starts = np.searchsorted(keys, np.arange(len(names) + 1) * width)
    keys %= width
    return ClusterCounts(counts, [names[i] for i in by_name], starts, keys.astype(np.int32), weights)


def _listed_keys(
    keys: NDArray[np.int64], rank: NDArray[np.int64], place: NDArray[np.int64], pairs: NDArray[np.int64], m: int
) -> NDArray[np.int64]:
    """Return keys of codes as ``3 (P cluster + pair) + outcome``, items and clusters as they are listed."""
    mask = (1 << _ITEM_BITS) - 1
    first, second = rank[(keys >> _ITEM_BITS) & mask], rank[keys & mask]
    outcome = np.where((keys >> _TIE) & 1, 2, first > second)
    pair = np.searchsorted(pairs, np.minimum(first, second) * m + np.maximum(first, second))
    listed: NDArray[np.int64] = 3 * (place[keys >> _CLUSTER] * len(pairs) + pair) + outcome
    return listed


def count_clusters(
    winners: ArrayLike,
    losers: ArrayLike,
    clusters: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    ties: ArrayLike | None = None,
    m: int | None = None,
    items: Sequence[str] | None = None,
) -> ClusterCounts:
    """Sum comparisons by cluster and pair; see `rankbench.ranking.count.count_pairs` for the rest.

    Parameters
    ----------
    winners, losers : array of int, shape (n,)
    clusters : array, shape (n,)
        Whose judgment it is: names or numbers.
    weights, ties, m, items
        As in `count_pairs`.

    Raises
    ------
    InputError
        As in `count_pairs`, or more than a million items.
    """
    from rankbench.ranking.count import count_pairs, no_flags, no_weights

    counts = count_pairs(winners, losers, weights=weights, ties=ties, m=m, items=items)
    names, codes = np.unique(np.asarray(clusters), return_inverse=True)
    if len(codes) != counts.judgments:
        raise InputError("clusters must be as many as comparisons")
    found = packed_clusters(
        np.asarray(winners, np.int32),
        np.asarray(losers, np.int32),
        codes.astype(np.int32),
        no_flags() if ties is None else np.asarray(ties, np.bool_).view(np.uint8),
        no_weights() if weights is None else np.asarray(weights, np.float64),
    )
    return cluster_counts(found, counts, np.arange(counts.m), [str(name) for name in names])


T = TypeVar("T")

PART = 32 * ROWS
"""Judgments of a part: what a machine is given at a time."""


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """What each cluster said about each pair of a part, as `ClusterCounts` has it.

    Attributes
    ----------
    clusters : list of str
        Sorted.
    starts : ndarray of int64, shape (G + 1,)
    cells : ndarray of int32, shape (K,)
        Of the pairs of the part's run.
    weights : ndarray of float64, shape (K,)
    """

    clusters: list[str]
    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogPart:
    """What was counted of some judgments.

    Attributes
    ----------
    labels : list of str or list of int, length m
        The items, rising.
    run : Run
        Of these m items.
    judgments : int
    weighted : bool
        Whether some weight is not 1.
    cluster_cells : ClusterCells or None
        By cluster, where that was asked for and every judgment has one.
    unsigned : int
        Judgments without a cluster, where it was asked for by cluster; of those that were looked at.
    """

    labels: Labels
    run: SortedPairs
    judgments: int
    weighted: bool
    cluster_cells: ClusterCells | None = None
    unsigned: int = 0


class Tree(Generic[T]):
    """A sum in a binary tree whose shape depends on the number of terms alone.

    Of n terms the first 2^k < n, k as large as possible, are summed up, the others are, and
    then the two; both in the same way. No more than log2(n) + 1 sums are held.

    Parameters
    ----------
    join : callable
        Sums up two neighbors.
    """

    def __init__(self, join: Callable[[T, T], T]) -> None:
        self.join = join
        self.sums: list[tuple[int, T]] = []

    def add(self, term: T) -> None:
        """Take the next term."""
        level = 0
        while self.sums and self.sums[-1][0] == level:
            term = self.join(self.sums.pop()[1], term)
            level += 1
        self.sums.append((level, term))

    def total(self) -> T:
        """Return the sum of all terms, of which there is one at least."""
        _, result = self.sums.pop()
        while self.sums:
            result = self.join(self.sums.pop()[1], result)
        return result


def joined_parts(a: LogPart, b: LogPart) -> LogPart:
    """Return what was counted of two parts, `a` being the earlier one."""
    labels, (of_a, of_b) = _united(a.labels, b.labels)
    m = len(labels)
    run = merged_runs([_spread(a.run, of_a, m), _spread(b.run, of_b, m)], m, a.run.cells.shape[1])
    cells = None
    if a.cluster_cells is not None and b.cluster_cells is not None:
        cells = _joined_cells(
            a.cluster_cells, b.cluster_cells, _pairs(a.run, of_a, run), _pairs(b.run, of_b, run), len(run.high)
        )
    return LogPart(labels, run, a.judgments + b.judgments, a.weighted or b.weighted, cells, a.unsigned + b.unsigned)


def _united(a: Labels, b: Labels) -> tuple[Labels, list[NDArray[np.int64]]]:
    """Return the labels of both, rising, and the place of each one of `a` and of `b`."""
    if a == b:
        return a, [np.arange(len(a))] * 2
    # Two rising runs: sorting them takes linear time.
    labels = cast(Labels, list(dict.fromkeys(sorted([*a, *b]))))
    place = {label: i for i, label in enumerate(labels)}
    return labels, [np.array([place[label] for label in given], np.int64) for given in (a, b)]


def _spread(run: SortedPairs, place: NDArray[np.int64], m: int) -> SortedPairs:
    """Return a run as one of m items, its own at rising places."""
    if len(place) == m:
        return run
    starts = np.zeros(m + 1, np.int64)
    starts[place + 1] = np.diff(run.starts)
    return SortedPairs(np.cumsum(starts), place[run.high].astype(np.int32), run.cells)


def _keys(run: SortedPairs, place: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    return np.repeat(place, np.diff(run.starts)) * m + place[run.high]


def _pairs(run: SortedPairs, place: NDArray[np.int64], of: SortedPairs) -> NDArray[np.int64]:
    """Return the index in `of` of each pair of `run`."""
    m = len(of.starts) - 1
    return np.searchsorted(_keys(of, np.arange(m), m), _keys(run, place, m))


def _joined_cells(
    a: ClusterCells, b: ClusterCells, pairs_of_a: NDArray[np.int64], pairs_of_b: NDArray[np.int64], pairs: int
) -> ClusterCells:
    clusters, of = _united(a.clusters, b.clusters)
    keys = np.concatenate(
        [
            3 * (np.repeat(place, np.diff(of_part.starts)) * pairs + pair[of_part.cells // 3]) + of_part.cells % 3
            for of_part, place, pair in zip((a, b), of, (pairs_of_a, pairs_of_b), strict=True)
        ]
    )
    keys, weights = summed(keys, np.concatenate([a.weights, b.weights]))
    starts = np.searchsorted(keys, np.arange(len(clusters) + 1) * (3 * pairs))
    return ClusterCells([str(name) for name in clusters], starts, (keys % (3 * pairs)).astype(np.int32), weights)


def counts_of_part(part: LogPart) -> PairCounts:
    """Return what was counted as what users see."""
    return pair_counts(part.run, [str(label) for label in part.labels], part.judgments, part.weighted)


def counts_of(part: LogPart) -> PairCounts | ClusterCounts:
    """Return what was counted, by cluster if it was counted so."""
    found = part.cluster_cells
    if found is None:
        return counts_of_part(part)
    return ClusterCounts(counts_of_part(part), found.clusters, found.starts, found.cells, found.weights)
