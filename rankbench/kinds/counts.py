"""What a log of comparisons comes down to for most methods: sums by pair, perhaps of every judge apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.queries import Comparisons

__all__ = ["ClusterCounts", "PairCounts", "TieRule"]

TieRule: TypeAlias = Literal["half", "drop"]
"""What a method without ties makes of them: half a win each way, or nothing."""


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

    @classmethod
    def from_comparisons(cls, comparisons: Comparisons, m: int) -> PairCounts:
        """Sum a few comparisons of one query; see `rankbench.counts.count.count_pairs` for many.

        Parameters
        ----------
        comparisons : Comparisons
            Of one query; those of weight 0 say nothing.
        m : int
            Number of its items, whose names are their numbers.

        Raises
        ------
        InputError
            All weights are 0, or there are no comparisons, or an item is none of the m.
        """
        first, second, weights = comparisons.winners, comparisons.losers, comparisons.weights
        tied = comparisons.ties
        said = np.count_nonzero(weights)
        if not said:
            raise InputError("all weights are zero: the judgments say nothing; leave them out", column="weight")
        if said < len(weights):
            rows = np.flatnonzero(weights)
            first, second, weights = first[rows], second[rows], weights[rows]
            tied = None if tied is None else tied[rows]
        won = weights if tied is None else np.where(tied, 0.0, weights)
        starts, high, forward, backward = _sums(first, second, won, m)
        if tied is None:
            ties = np.zeros(len(high))
        else:
            _, _, ties, _ = _sums(np.minimum(first, second), np.maximum(first, second), np.where(tied, weights, 0.0), m)
        weighted = bool(np.count_nonzero(weights != 1))
        return cls(list(_numbers(m)), starts, high, forward, backward, ties, len(weights), weighted)

    @property
    def m(self) -> int:
        """Number of items."""
        return len(self.starts) - 1

    @property
    def low(self) -> NDArray[np.int32]:
        """The smaller item of each pair, shape (P,)."""
        return np.arange(self.m, dtype=np.int32).repeat(self.starts[1:] - self.starts[:-1])

    def __len__(self) -> int:
        return len(self.high)

    def wins(self, ties: TieRule = "half") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (forward, backward), each of shape (P,), with ties as `ties` says."""
        if ties == "drop" or not self.ties.any():
            return self.forward, self.backward
        return self.forward + self.ties / 2, self.backward + self.ties / 2

    def won_and_lost(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weight that each item won, and that it lost, shapes (m,); ties are half of both."""
        forward, backward = self.wins()
        low, high, m = self.low, self.high, self.m
        won: NDArray[np.float64] = np.zeros(m)
        lost: NDArray[np.float64] = np.zeros(m)
        for items, mine, other in ((low, forward, backward), (high, backward, forward)):
            won += np.bincount(items, mine, m)
            lost += np.bincount(items, other, m)
        return won, lost

    def comparisons(self) -> Comparisons:
        """Return at most three comparisons a pair that have the same sums, ties as ties.

        Whatever does not depend on the order of judgments makes of them what it makes of the whole log.
        """
        cells = np.column_stack([self.forward, self.backward, self.ties])
        pair, cell = np.nonzero(cells)
        low, high = self.low[pair], self.high[pair]
        back = cell == 1
        return Comparisons(
            np.array([0, len(pair)], dtype=np.int64),
            np.where(back, high, low).astype(np.int32),
            np.where(back, low, high).astype(np.int32),
            cells[pair, cell],
            cell == 2,
        )

    def observed(self) -> PairCounts:
        """Return the same without pairs of no weight, which resamples and folds may leave."""
        kept = self.forward + self.backward + self.ties > 0
        return self if np.count_nonzero(kept) == len(kept) else self.select(kept)

    def select(self, chosen: NDArray[np.bool_]) -> PairCounts:
        """Return the same items with only the chosen pairs, a mask of shape (P,).

        `judgments` stays the number that was counted.
        """
        # By number: a mask of pairs that come and go is guessed wrong by the processor, five times over.
        kept = np.flatnonzero(chosen)
        return PairCounts(
            self.items,
            np.searchsorted(kept, self.starts),
            self.high[kept],
            self.forward[kept],
            self.backward[kept],
            self.ties[kept],
            self.judgments,
            self.weighted,
        )


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """What each cluster said about each pair, one sum an outcome.

    12 bytes for each of the K combinations of cluster, pair and outcome that occur, at most as many as judgments.

    Attributes
    ----------
    counts : PairCounts
        The sums over all clusters.
    clusters : list of str, length G
        Names.
    starts : ndarray of int64, shape (G + 1,)
        Rows of cluster g are ``starts[g]:starts[g + 1]``.
    cells : ndarray of int32, shape (K,)
        Three times the index of the pair in `counts`, plus 0 where `low` won, 1 where `high` did, 2 for a tie;
        rising within a cluster.
    weights : ndarray of float64, shape (K,)
        Sums of the judgments' weights, above 0.
    """

    counts: PairCounts
    clusters: list[str]
    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.clusters)


@lru_cache(maxsize=64)
def _numbers(m: int) -> tuple[str, ...]:
    """Return "0", "1", ..: names of the items of queries, most of which are of few sizes."""
    return tuple(map(str, range(m)))


def _sums(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return `starts`, `high`, `forward` and `backward` of all pairs that occur, of weight 0 or not."""
    from rankbench.kernels.pair_numbers import sum_some

    k = len(winners)
    starts, high = np.zeros(m + 1, np.int64), np.empty(k, np.int32)
    forward, backward = np.empty(k), np.empty(k)
    first, second = np.ascontiguousarray(winners, np.int32), np.ascontiguousarray(losers, np.int32)
    if not sum_some(first, second, np.ascontiguousarray(weights, np.float64), starts, high, forward, backward):
        raise InputError(f"items of comparisons are numbers in [0, {m})")
    pairs = starts[-1]
    return starts, high[:pairs].copy(), forward[:pairs].copy(), backward[:pairs].copy()
