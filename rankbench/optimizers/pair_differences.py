"""The linear map from theta to the margins of pairs, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PairDifferences"]

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
        rows: NDArray[np.float64] = self.x[self.tails[chosen]] - self.x[self.heads[chosen]]
        return rows

    def margins(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``<theta, x_tail - x_head>`` of every pair, shape (P,)."""
        if self.whole is not None:
            return self.whole @ theta
        alpha = self.x @ theta
        margins: NDArray[np.float64] = alpha[self.tails] - alpha[self.heads]
        return margins

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_c coefficients_c (x_tail - x_head)``, shape (d,)."""
        if self.whole is not None:
            return coefficients @ self.whole
        from rankbench.optimizers.kernels.pair_counts import scatter

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
        symmetric: NDArray[np.float64] = 0.5 * (total + total.T)
        return symmetric
