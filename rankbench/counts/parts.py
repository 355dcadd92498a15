"""A log in parts that are counted by themselves and summed up in a tree.

Part k holds the judgments ``k 2^24 .. (k + 1) 2^24 - 1`` of the log, however it is cut into
files, batches and machines. Sums of weights depend on the order of additions: a part has its
own numbering of items, so that it is counted to the same bytes wherever, and the tree's shape
depends on the number of parts alone. Without weights sums are exact in any order, and
one machine takes all of the log for one part where it is not counted by judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.clusters import summed
from rankbench.counts.codes import Labels
from rankbench.counts.count import pair_counts
from rankbench.counts.runs import SortedPairs, merged_runs
from rankbench.counts.thread_tables import ROWS
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["PART", "ClusterCells", "LogPart", "Tree", "counts_of", "counts_of_part", "joined_parts"]

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
        The items: rising, or the same fixed ones in every part.
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
