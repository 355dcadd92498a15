"""Pair counts of every judge (or any other cluster of judgments) apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.errors import InputError
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["Cells", "cluster_counts", "compacted", "count_clusters", "packed_clusters", "summed"]

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
    """Sum comparisons by cluster and pair; see `rankbench.counts.count.count_pairs` for the rest.

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
    from rankbench.counts.count import count_pairs, no_flags, no_weights

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
