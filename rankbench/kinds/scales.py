"""Which items can be put on one scale.

References
----------
.. [F57] L. R. Ford Jr. Solution of a ranking problem from binary comparisons. American
   Mathematical Monthly 64(8), 1957.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.counts import PairCounts, TieRule

__all__ = ["Scales", "connected_components", "strongly_connected", "within"]


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

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First item of each scale, shape (S,)."""
        return np.unique(self.scale_of, return_index=True)[1]

    def cuts(self, whole: Scales) -> bool:
        """Return whether some scale of another partition of the same items is on several of these."""
        pairs = np.unique(whole.scale_of.astype(np.int64) * len(self) + self.scale_of)
        return len(pairs) > len(whole)

    def centered(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores, shape (..., m), that sum to zero on every scale."""
        if len(self) == 1:
            shifted: NDArray[np.float64] = scores - scores.mean(axis=-1, keepdims=True)
            return shifted
        rows = scores.reshape(-1, scores.shape[-1])
        means = np.stack([np.bincount(self.scale_of, row, len(self)) for row in rows]) / self.sizes
        result: NDArray[np.float64] = (rows - means[:, self.scale_of]).reshape(scores.shape)
        return result


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
    from rankbench.kernels.components import components

    root = np.empty(counts.m, np.int64)
    components(counts.starts, counts.high, forward, backward, mutual, root)
    return _scales(root)


def connected_components(counts: PairCounts) -> Scales:
    """Return the connected components of the graph of compared items.

    Nothing in the log says how items of different components relate.
    """
    return _components(counts, counts.forward, counts.backward, False)


def strongly_connected(counts: PairCounts, ties: TieRule = "half") -> Scales:
    """Return the strongly connected components of the graph of "beat, or tied with".

    They are what plain maximum likelihood can put on one scale ([F57]_): between two of
    them every judgment went the same way, so that the likelihood rises as they are moved
    apart, for ever. An item that never wins is one by itself, below everybody.

    Parameters
    ----------
    counts : PairCounts
    ties : {"half", "drop"}
        Whether a tie counts as half a win each way.
    """
    forward, backward = counts.wins(ties)
    # Most often the pairs in which each has won connect everything already.
    quick = _components(counts, forward, backward, True)
    if len(quick) == 1:
        return quick
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    low = counts.low
    there, back = forward > 0, backward > 0
    i = np.concatenate([low[there], counts.high[back]])
    j = np.concatenate([counts.high[there], low[back]])
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(counts.m, counts.m))
    return _scales(connected_components(graph.tocsr(), directed=True, connection="strong")[1])


def within(counts: PairCounts, scales: Scales, ridge: float) -> PairCounts:
    """Return the counts that a fit is about: all with a ridge, else those of pairs within scales."""
    if ridge > 0 or len(scales) == 1:
        return counts
    return counts.select(scales.scale_of[counts.low] == scales.scale_of[counts.high])
