"""Pair counts: what a pairwise risk needs to know of a block's comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.queries import Comparisons

__all__ = ["BlockPairs"]


@dataclass(frozen=True, eq=False)
class BlockPairs:
    """Distinct (winner, loser) pairs of every query with their weights.

    Attributes
    ----------
    items : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``items[q]:items[q + 1]``.
    starts : ndarray of int64, shape (Q + 1,)
        Pairs of query q are ``starts[q]:starts[q + 1]``.
    tails, heads : ndarray of int32, shape (P,)
        Rows of winner and loser among the items of all queries. (i, j) and (j, i) are
        two pairs.
    weights : ndarray of float64, shape (P,)
        Summed weights of the pair's comparisons.

    A pair is there several times if its comparisons were not merged.
    """

    items: NDArray[np.int64]
    starts: NDArray[np.int64]
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    weights: NDArray[np.float64]

    @classmethod
    def from_comparisons(cls, comparisons: Comparisons, items: NDArray[np.int64], merged: bool = True) -> BlockPairs:
        """Merge equal comparisons, in time linear in comparisons and items.

        Parameters
        ----------
        comparisons : Comparisons
        items : ndarray of int64, shape (Q + 1,)
            Offsets of the items.
        merged : bool
            False keeps every comparison as a pair of its own, in their order.

        Raises
        ------
        InputError
            No comparisons, other queries than the items have, or an item that its query
            does not have.
        """
        from rankbench.optimizers.kernels.pair_counts import merge_comparisons

        items = np.ascontiguousarray(items, dtype=np.int64)
        if len(comparisons.offsets) != len(items):
            raise InputError(
                f"comparisons of {len(comparisons.offsets) - 1} queries do not fit items of {len(items) - 1} queries"
            )
        n = len(comparisons)
        if n == 0:
            raise InputError("there are no comparisons to learn from")
        starts = np.zeros(len(items), np.int64)
        tails, heads, weights = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
        bad = merge_comparisons(
            items,
            np.ascontiguousarray(comparisons.offsets, dtype=np.int64),
            np.ascontiguousarray(comparisons.winners, dtype=np.int32),
            np.ascontiguousarray(comparisons.losers, dtype=np.int32),
            np.ascontiguousarray(comparisons.weights, dtype=np.float64),
            starts,
            tails,
            heads,
            weights,
        )
        if bad < 0 and not merged:
            base = np.repeat(items[:-1], comparisons.counts)
            starts = np.ascontiguousarray(comparisons.offsets, dtype=np.int64)
            tails, heads = ((base + side).astype(np.int32) for side in (comparisons.winners, comparisons.losers))
            return cls(items, starts, tails, heads, np.array(comparisons.weights, dtype=np.float64))
        if bad >= 0:
            q = int(np.searchsorted(comparisons.offsets, bad, side="right")) - 1
            raise InputError(
                f"items {comparisons.winners[bad]} and {comparisons.losers[bad]} are compared, but query {q} has "
                f"items 0 to {items[q + 1] - items[q] - 1}",
                row=int(bad) + 1,
            )
        count = int(starts[-1])
        return cls(items, starts, tails[:count].copy(), heads[:count].copy(), weights[:count].copy())
