"""Judgments are counted by pair; apart for every judge; or in parts that a tree sums.

Part k holds the judgments ``k 2^24 .. (k + 1) 2^24 - 1`` of the log, however it is cut into
files, batches and machines. Sums of weights depend on the order of additions: a part has its
own numbering of items, so that it is counted to the same bytes wherever, and the tree's shape
depends on the number of parts alone. Without weights sums are exact in any order, and
one machine takes all of the log for one part where it is not counted by judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.interfaces.row_weights import check_weights
from rankbench.logs.thread_tables import NO_TIES, NO_WEIGHTS, ROWS, Counter, Piece, Run, merged_runs

_MOST_ITEMS = 2**30 - 1


def pair_counts(run: Run, items: list[str], judgments: int, weighted: bool) -> PairCounts:
    """Return a run as `PairCounts`."""
    starts, high, cells = run
    forward, backward = np.ascontiguousarray(cells[:, 0]), np.ascontiguousarray(cells[:, 1])
    ties = np.ascontiguousarray(cells[:, 2]) if cells.shape[1] > 2 else np.zeros(len(forward))
    return PairCounts(items, starts, high, forward, backward, ties, judgments, weighted)


def checked_sums(counts: PairCounts) -> PairCounts:
    """Return counts whose sums of weights can be computed without overflow or loss.

    Raises
    ------
    InputError
        Sums of weights by pair are too large or different: see `check_weights`.
    """
    if counts.weighted:
        check_weights(np.concatenate([sums[sums != 0] for sums in (counts.forward, counts.backward, counts.ties)]))
    return counts


def count_pairs(
    winners: ArrayLike,
    losers: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    ties: ArrayLike | None = None,
    m: int | None = None,
    items: Sequence[str] | None = None,
) -> PairCounts:
    """Sum n comparisons of m items by pair, in O(n) and with two threads.

    Parameters
    ----------
    winners, losers : array of int, shape (n,)
        Items, in ``[0, m)``; 32-bit integers are read where they are.
    weights : array of float, shape (n,), optional
        Positive and finite; 1 by default.
    ties : array of bool, shape (n,), optional
        Where true, neither won.
    m : int, optional
        Number of items; by default the length of `items`, or one more than the largest index.
    items : sequence of str, optional
        Names; by default the indices.

    Raises
    ------
    InputError
        Shapes that do not fit each other, no comparisons; with its row (from 1): an item
        compared with itself, an index that is no item's, a weight that is not positive and
        finite.
    """
    w, v = np.asarray(winners), np.asarray(losers)
    g = NO_WEIGHTS if weights is None else np.ascontiguousarray(weights, np.float64)
    t = NO_TIES if ties is None else np.ascontiguousarray(ties, np.bool_).view(np.uint8)
    n = len(w)
    if not (w.shape == v.shape == (n,) and g.shape in ((n,), (0,)) and t.shape in ((n,), (0,))):
        raise InputError("winners, losers, weights and ties must be one-dimensional and equally long")
    if not n:
        raise InputError("there are no comparisons")
    if w.dtype.kind not in "iu" or v.dtype.kind not in "iu":
        raise InputError(f"winners and losers must be indices of items, not {w.dtype} and {v.dtype}")
    names = None if items is None else [str(item) for item in items]
    size = _size(w, v, m, names)
    listed = names if names is not None else [str(i) for i in range(size)]
    with closing(Counter(len(t) > 0, len(g) > 0, lambda: listed)) as counter:
        for begin in range(0, n, ROWS):
            rows = slice(begin, begin + ROWS)
            counter.add([(_indices(w[rows], size), _indices(v[rows], size), t[rows], g[rows])], size)
        run = counter.total(size)
    return checked_sums(pair_counts(run, listed, n, len(g) > 0))


def _size(winners: NDArray[np.int64], losers: NDArray[np.int64], m: int | None, names: list[str] | None) -> int:
    if m is None:
        m = len(names) if names is not None else int(max(winners.max(), losers.max())) + 1
    if names is not None and (len(names) != m or len(set(names)) != m):
        raise InputError(f"{m} items need as many different names")
    if not 0 < m <= _MOST_ITEMS:
        raise InputError(f"the number of items must be in [1, {_MOST_ITEMS}], not {m}")
    return m


def _indices(rows: NDArray[np.int64], m: int) -> NDArray[np.int32]:
    """Return indices as int32 for the kernels; indices out of range become -1, which they refuse."""
    if rows.dtype == np.int32:
        return np.ascontiguousarray(rows, np.int32)
    return np.where((rows >= 0) & (rows < m), rows, -1).astype(np.int32)


_ITEM_BITS, _CLUSTER_BITS = 20, 23
_TIE, _CLUSTER = 2 * _ITEM_BITS, 2 * _ITEM_BITS + 1
"""A key holds, from its lowest bits on: loser, winner, whether they tied, cluster."""

_AT_ONCE = 1 << 20
"""Keys that are read at a time, so that temporary memory does not grow with the log."""


Cells: TypeAlias = tuple[NDArray[Any], NDArray[np.float64]]
"""Sums by (cluster, pair, outcome): keys, sorted, each once, (K,), and weights, (K,)."""


def summed(keys: NDArray[np.integer], weights: NDArray[np.float64] | None = None) -> Cells:
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
    return summed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def packed_clusters(piece: Piece, clusters: NDArray[np.int32]) -> Cells:
    """Return the sums of some judgments, given their clusters.

    Raises
    ------
    InputError
        More than a million items, or eight million clusters.
    """
    winners, losers, ties, weights = piece
    first, second = winners, losers
    if max(first.max(), second.max()) >= 1 << _ITEM_BITS or clusters.max() >= 1 << _CLUSTER_BITS:
        raise InputError(f"judgments by cluster: at most {1 << _ITEM_BITS} items and {1 << _CLUSTER_BITS} clusters")
    keys = clusters.astype(np.uint64) << np.uint64(_CLUSTER)
    if len(ties):
        # A tie is the same whichever item is named first.
        tied = ties > 0
        first = np.where(tied, np.minimum(winners, losers), winners)
        second = np.where(tied, np.maximum(winners, losers), losers)
        keys |= tied.astype(np.uint64) << np.uint64(_TIE)
    keys |= first.astype(np.uint64) << np.uint64(_ITEM_BITS)
    keys |= second.astype(np.uint64)
    return summed(keys, weights if len(weights) else None)


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
    codes, sums = found
    keys = np.empty(len(codes), np.int64)
    for begin in range(0, len(keys), _AT_ONCE):
        rows = slice(begin, begin + _AT_ONCE)
        keys[rows] = _listed_keys(codes[rows].astype(np.int64), rank, place, pairs, counts.m)
    order = np.argsort(keys)
    keys, weights = keys[order], sums[order]
    del order
    width = 3 * len(pairs)
    starts = np.searchsorted(keys, np.arange(len(names) + 1) * width)
    keys %= width
    return ClusterCounts(counts, [names[i] for i in by_name], starts, keys.astype(np.int32), weights)


def _listed_keys(
    keys: NDArray[np.int64], rank: NDArray[np.int64], place: NDArray[np.int64], pairs: NDArray[np.int64], m: int
) -> NDArray[np.int64]:
    """Return keys of codes as ``3 (P cluster + pair) + outcome``, items and clusters in listed order."""
    mask = (1 << _ITEM_BITS) - 1
    first, second = rank[(keys >> _ITEM_BITS) & mask], rank[keys & mask]
    outcome = np.where((keys >> _TIE) & 1, 2, first > second)
    pair = np.searchsorted(pairs, np.minimum(first, second) * m + np.maximum(first, second))
    return np.asarray(3 * (place[keys >> _CLUSTER] * len(pairs) + pair) + outcome)


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
    """Sum comparisons by cluster and pair; see `rankbench.logs.count.count_pairs` for the rest.

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
    counts = count_pairs(winners, losers, weights=weights, ties=ties, m=m, items=items)
    names, codes = np.unique(np.asarray(clusters), return_inverse=True)
    if len(codes) != counts.judgments:
        raise InputError("clusters must be as many as comparisons")
    piece = (
        np.asarray(winners, np.int32),
        np.asarray(losers, np.int32),
        NO_TIES if ties is None else np.asarray(ties, np.bool_).view(np.uint8),
        NO_WEIGHTS if weights is None else np.asarray(weights, np.float64),
    )
    found = packed_clusters(piece, codes.astype(np.int32))
    return cluster_counts(found, counts, np.arange(counts.m), [str(name) for name in names])


T = TypeVar("T")

PART = 32 * ROWS
"""Judgments of a part, for a machine at a time."""


@dataclass(frozen=True, eq=False)
class LogPart:
    """Counts of some judgments.

    Only it can be summed with the next part, here or on another machine: it knows how its items are sorted.

    Attributes
    ----------
    data : PairCounts or ClusterCounts
        Counts by cluster, if asked for and every judgment has a cluster.
    integers : bool
        Items are integers, and listed in numerical order.
    unsigned : int
        Judgments without a cluster among the judgments that were read, if counts by cluster were asked for.
    """

    data: PairCounts | ClusterCounts
    integers: bool
    unsigned: int = 0

    @property
    def counts(self) -> PairCounts:
        """The sums by pair."""
        return self.data.counts if isinstance(self.data, ClusterCounts) else self.data


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
        """Add the next term."""
        level = 0
        while self.sums and self.sums[-1][0] == level:
            term = self.join(self.sums.pop()[1], term)
            level += 1
        self.sums.append((level, term))

    def total(self) -> T:
        """Return the sum of all terms, at least one."""
        _, result = self.sums.pop()
        while self.sums:
            result = self.join(self.sums.pop()[1], result)
        return result


def joined_parts(a: LogPart, b: LogPart) -> LogPart:
    """Return the counts of two parts together, `a` being the earlier one."""
    both = a.counts, b.counts
    items, places = _united(both[0].items, both[1].items, int if a.integers else str)
    runs = [_spread(one, place, len(items)) for one, place in zip(both, places, strict=True)]
    run, judgments = merged_runs(runs, len(items), 3), sum(one.judgments for one in both)
    counts = pair_counts(run, items, judgments, any(one.weighted for one in both))
    data: PairCounts | ClusterCounts = counts
    if isinstance(a.data, ClusterCounts) and isinstance(b.data, ClusterCounts):
        data = _joined_clusters(a.data, b.data, [_pairs(one, run) for one in runs], counts)
    return LogPart(data, a.integers, a.unsigned + b.unsigned)


def _united(a: list[str], b: list[str], key: Callable[[str], Any] = str) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Return the names of both, rising, and the place of each one of `a` and of `b`."""
    if a == b:
        return a, [np.arange(len(a))] * 2
    # Two rising runs: sorting them takes linear time.
    names = list(dict.fromkeys(sorted([*a, *b], key=key)))
    place = {name: i for i, name in enumerate(names)}
    return names, [np.array([place[name] for name in given], np.int64) for given in (a, b)]


def _spread(counts: PairCounts, place: NDArray[np.int64], m: int) -> Run:
    """Return counts as a run of m items, their own at rising places."""
    cells = np.column_stack([counts.forward, counts.backward, counts.ties])
    starts = np.zeros(m + 1, np.int64)
    starts[place + 1] = np.diff(counts.starts)
    return np.cumsum(starts), place[counts.high].astype(np.int32), cells


def _pairs(run: Run, of: Run) -> NDArray[np.int64]:
    """Return the index in `of` of each pair of `run`."""
    m = len(of[0]) - 1
    keys, known = (np.repeat(np.arange(m), np.diff(starts)) * m + high for starts, high, _ in (run, of))
    return np.searchsorted(known, keys)


def _joined_clusters(
    a: ClusterCounts, b: ClusterCounts, pairs: list[NDArray[np.int64]], counts: PairCounts
) -> ClusterCounts:
    """Return the clusters of two parts; `pairs` are the places of their pairs in `counts`."""
    (clusters, of), width = _united(a.clusters, b.clusters), 3 * len(counts)
    keys = [
        np.repeat(place, np.diff(part.starts)) * width + 3 * pair[part.cells // 3] + part.cells % 3
        for part, place, pair in zip((a, b), of, pairs, strict=True)
    ]
    cells, weights = summed(np.concatenate(keys), np.concatenate([a.weights, b.weights]))
    starts = np.searchsorted(cells, np.arange(len(clusters) + 1) * width)
    return ClusterCounts(counts, clusters, starts, (cells % width).astype(np.int32), weights)
