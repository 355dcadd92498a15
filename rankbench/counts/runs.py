"""Sorted runs of counted pairs: what every table comes down to, and what is summed up in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SortedPairs", "merged_runs", "relabelled_run"]


@dataclass(frozen=True, eq=False)
class SortedPairs:
    """Counted pairs of m items: a sparse upper triangle, see `rankbench.counts.kernels.runs`.

    Attributes
    ----------
    starts : ndarray of int64, shape (m + 1,)
    high : ndarray of int32, shape (P,)
    cells : ndarray of float64, shape (P, 2 or 3)
        What `low` won, what `high` won and, if there may be any, what was tied.
    """

    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    cells: NDArray[np.float64]

    def padded(self, m: int) -> SortedPairs:
        """Return the run as one of m items, at least as many as its pairs name."""
        if len(self.starts) > m + 1:
            return SortedPairs(self.starts[: m + 1], self.high, self.cells)
        more = m + 1 - len(self.starts)
        starts = np.concatenate([self.starts, np.full(more, self.starts[-1])]) if more else self.starts
        return SortedPairs(starts, self.high, self.cells)


def _sum(a: SortedPairs, b: SortedPairs) -> SortedPairs:
    from rankbench.counts.kernels.runs import merge_runs

    starts = np.empty_like(a.starts)
    room = len(a.high) + len(b.high)
    high, cells = np.empty(room, np.int32), np.empty((room, a.cells.shape[1]))
    merge_runs(a.starts, a.high, a.cells, b.starts, b.high, b.cells, starts, high, cells)
    pairs = int(starts[-1])
    # What was never written to takes no memory.
    return SortedPairs(starts, high[:pairs], cells[:pairs])


def merged_runs(runs: list[SortedPairs], m: int, cells: int) -> SortedPairs:
    """Return the sum of runs as one of m items with so many cells a pair.

    The last two are summed first: the longest ones come first.
    """
    if not runs:
        return SortedPairs(np.zeros(m + 1, np.int64), np.zeros(0, np.int32), np.zeros((0, cells)))
    result = runs[-1].padded(m)
    for run in reversed(runs[:-1]):
        result = _sum(run.padded(m), result)
    return result


def relabelled_run(run: SortedPairs, rank: NDArray[np.int32]) -> SortedPairs:
    """Return the run whose item i is called ``rank[i]``; `rank` is a permutation."""
    from rankbench.counts.kernels.runs import relabel

    if (np.diff(rank) == 1).all():
        return run
    result = SortedPairs(np.zeros_like(run.starts), np.empty_like(run.high), np.empty_like(run.cells))
    relabel(run.starts, run.high, run.cells, rank, result.starts, result.high, result.cells)
    return result
