"""Pair counts of every judge (or any other cluster of judgments) apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.errors import InputError
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["Cells", "cluster_counts", "compacted", "count_clusters", "packed_clusters"]

_ITEM_BITS, _CLUSTER_BITS = 20, 23


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums by (cluster, pair): packed keys, sorted, (K,), and cells, (K, 3)."""

    keys: NDArray[np.int64]
    cells: NDArray[np.float64]


def compacted(parts: Sequence[Cells]) -> Cells:
    """Return the sums of several parts, in this order."""
    keys, row = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    cells = np.concatenate([part.cells for part in parts])
    return Cells(keys, np.column_stack([np.bincount(row, cells[:, c], len(keys)) for c in range(3)]))


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
    low, high = np.minimum(winners, losers).astype(np.int64), np.maximum(winners, losers)
    keys = (clusters.astype(np.int64) << 2 * _ITEM_BITS) | (low << _ITEM_BITS) | high
    cell = (winners > losers).astype(np.int64)
    if len(ties):
        cell[ties > 0] = 2
    cells = np.zeros((len(keys), 3))
    cells[np.arange(len(keys)), cell] = weights if len(weights) else 1.0
    return compacted([Cells(keys, cells)])


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
    mask = (1 << _ITEM_BITS) - 1
    first, second = rank[(found.keys >> _ITEM_BITS) & mask], rank[found.keys & mask]
    cells = np.where((first > second)[:, None], found.cells[:, [1, 0, 2]], found.cells)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pair = np.searchsorted(counts.low.astype(np.int64) * counts.m + counts.high, low * counts.m + high)
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    cluster = place[found.keys >> 2 * _ITEM_BITS]
    rows = np.lexsort((pair, cluster))
    starts = np.searchsorted(cluster[rows], np.arange(len(names) + 1))
    return ClusterCounts(counts, [names[i] for i in order], starts, pair[rows], cells[rows])


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
