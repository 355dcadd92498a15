"""What a log of comparisons comes down to for most methods: sums by pair, perhaps of every judge apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClusterCounts", "Judgments", "PairCounts", "TieRule"]

TieRule: TypeAlias = Literal["half", "drop"]
"""What a method without ties makes of them: half a win each way, or nothing."""


class Judgments(NamedTuple):
    """Weighted comparisons, as aggregators take them; arrays of shape (k,)."""

    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Judgments summed by unordered pair of items: a sparse upper triangle.

    Pair e of row i is {i, high[e]} with ``i < high[e]``, for ``e = starts[i] ..
    starts[i + 1] - 1``; sorted, each observed pair once. P pairs take 28 P bytes however
    many judgments there were.

    Attributes
    ----------
    items : list of str, length m
        Names, different from one another.
    starts : ndarray of int64, shape (m + 1,)
    high : ndarray of int32, shape (P,)
    forward, backward : ndarray of float64, shape (P,)
        Weight of the judgments that `low` won, and that `high` won.
    ties : ndarray of float64, shape (P,)
        Weight of the ties.
    judgments : int
        Number of judgments.
    weighted : bool
        Whether some weight may differ from 1; where not, the sums are numbers of judgments.
    """

    items: list[str]
    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]
    ties: NDArray[np.float64]
    judgments: int
    weighted: bool = False

    @property
    def m(self) -> int:
        """Number of items."""
        return len(self.starts) - 1

    @property
    def low(self) -> NDArray[np.int32]:
        """The smaller item of each pair, shape (P,)."""
        return np.repeat(np.arange(self.m, dtype=np.int32), np.diff(self.starts))

    def __len__(self) -> int:
        return len(self.high)

    def wins(self, ties: TieRule = "half") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (forward, backward), each of shape (P,), with ties as `ties` says."""
        if ties == "drop" or not self.ties.any():
            return self.forward, self.backward
        return self.forward + self.ties / 2, self.backward + self.ties / 2

    def comparisons(self, ties: TieRule = "half") -> Judgments:
        """Return at most two weighted comparisons a pair that have the same sums.

        Every aggregator that depends on sums by pair alone makes of them what it makes of
        the whole log (not `elo`, which depends on the order).
        """
        forward, backward = self.wins(ties)
        low = self.low
        there, back = np.flatnonzero(forward > 0), np.flatnonzero(backward > 0)
        return Judgments(
            np.concatenate([low[there], self.high[back]]),
            np.concatenate([self.high[there], low[back]]),
            np.concatenate([forward[there], backward[back]]),
        )

    def select(self, chosen: NDArray[np.bool_]) -> PairCounts:
        """Return the same items with only the chosen pairs, a mask of shape (P,).

        `judgments` stays the number that was counted.
        """
        kept = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
        return PairCounts(
            self.items,
            kept[self.starts],
            self.high[chosen],
            self.forward[chosen],
            self.backward[chosen],
            self.ties[chosen],
            self.judgments,
            self.weighted,
        )


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """What each cluster said about each pair.

    Memory grows with the number of (cluster, pair) combinations that occur, K, at most
    the number of judgments.

    Attributes
    ----------
    counts : PairCounts
        The sums over all clusters.
    clusters : list of str, length G
        Names.
    starts : ndarray of int64, shape (G + 1,)
        Rows of cluster g are ``starts[g]:starts[g + 1]``.
    pair : ndarray of int64, shape (K,)
        Index of the pair in `counts`, rising within a cluster.
    cells : ndarray of float64, shape (K, 3)
        Weight of what `low` won, of what `high` won, and of ties.
    """

    counts: PairCounts
    clusters: list[str]
    starts: NDArray[np.int64]
    pair: NDArray[np.int64]
    cells: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.clusters)
