"""The two columnar containers that everything after reading works on.

Both are sorted by query and hold plain NumPy arrays (zero-copy from Polars where the
types allow): `Queries` is what is ranked, `Comparisons` is what was said about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Comparisons", "Queries"]


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries with their candidate items.

    Attributes
    ----------
    ids : list of str, length Q
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``offsets[q]:offsets[q + 1]``.
    x : ndarray of float32, shape (N, d)
        Features.
    labels : ndarray of float64, shape (N,)
        Graded relevance r.
    """

    ids: list[str]
    offsets: NDArray[np.int64]
    x: NDArray[np.float32]
    labels: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items m_q of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, chosen: NDArray[np.int64]) -> Queries:
        """Return the queries with the given indices, in that order."""
        rows = np.concatenate([np.arange(0), *(np.arange(self.offsets[q], self.offsets[q + 1]) for q in chosen)])
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        return Queries([self.ids[q] for q in chosen], offsets, self.x[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairwise judgments, sorted by query, within a query in the order they were made.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Judgments of query q are rows ``offsets[q]:offsets[q + 1]``.
    winners, losers : ndarray of int32, shape (n,)
        Item indices *within* the query, in ``[0, m_q)``.
    weights : ndarray of float64, shape (n,)
        Positive and finite; 1 for a plain vote.
    """

    offsets: NDArray[np.int64]
    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    weights: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of judgments n_q of each query, shape (Q,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.winners)
