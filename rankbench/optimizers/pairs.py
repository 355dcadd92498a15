"""Pairs of a block hold merged comparisons, and give margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.queries import Comparisons


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
        from rankbench.optimizers.kernels import merge_comparisons

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


DENSE = 1 << 24
"""Numbers up to which the differences are kept as a matrix of their own (128 MB)."""

CHUNK = 4096
"""Pairs worked on at a time where they are not."""


class PairDifferences:
    """Differences ``x_tail - x_head`` of pairs, shape (P, d), kept whole if they are few.

    Parameters
    ----------
    x : ndarray of float64, shape (N, d)
    tails, heads : ndarray of int32, shape (P,)
        Rows of x.
    """

    def __init__(self, x: NDArray[np.float64], tails: NDArray[np.int32], heads: NDArray[np.int32]) -> None:
        self.x, self.tails, self.heads = x, tails, heads
        self.whole = x[tails] - x[heads] if len(tails) * x.shape[1] <= DENSE else None

    def __len__(self) -> int:
        return len(self.tails)

    @property
    def dimension(self) -> int:
        """Number of features d."""
        return int(self.x.shape[1])

    def rows(self, chosen: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the differences of some pairs, shape (p, d)."""
        if self.whole is not None:
            return self.whole[chosen]
        return self.x[self.tails[chosen]] - self.x[self.heads[chosen]]

    def margins(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``<theta, x_tail - x_head>`` of every pair, shape (P,)."""
        if self.whole is not None:
            return self.whole @ theta
        alpha = self.x @ theta
        return alpha[self.tails] - alpha[self.heads]

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_c coefficients_c (x_tail - x_head)``, shape (d,)."""
        if self.whole is not None:
            return coefficients @ self.whole
        from rankbench.optimizers.kernels import scatter

        pull = np.zeros(len(self.x))
        scatter(coefficients, self.tails, self.heads, pull)
        return pull @ self.x

    def gram(self, coefficients: NDArray[np.float64], chosen: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return ``sum_c coefficients_c (x_tail - x_head)(x_tail - x_head)'``, shape (d, d).

        Parameters
        ----------
        coefficients : ndarray of float64, shape (p,)
        chosen : ndarray of int64, shape (p,), optional
            The pairs that they belong to; all unless given.
        """
        total = np.zeros((self.dimension, self.dimension))
        for start in range(0, len(coefficients), CHUNK):
            part = slice(start, start + CHUNK)
            rows = self.rows(part if chosen is None else chosen[part])
            total += (rows * coefficients[part, None]).T @ rows
        # Exact arithmetic is symmetric, rounding is not.
        return 0.5 * (total + total.T)
