"""The majority graph of a log: who beats whom in most of their comparisons, and its cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankbench.kinds.counts import PairCounts

__all__ = ["Majority", "majority"]

DENSE = 3000
"""Most items whose triples are counted by products of dense matrices (36 MB each)."""

_WORK = 30_000_000
"""Steps of a sparse product beyond which triples are not counted."""


@dataclass(frozen=True)
class Majority:
    """What the majority graph is like.

    Attributes
    ----------
    decided : int
        Compared pairs in which one item won more weight than the other.
    triples : int, optional
        Triples of items whose three pairs are all decided; None where counting them would
        take too long.
    cycles : int, optional
        Triples in which each item beats one of the others.
    winner : str, optional
        The Condorcet winner: beats every other item.
    """

    decided: int
    triples: int | None
    cycles: int | None
    winner: str | None

    @property
    def share(self) -> float | None:
        """Share of the triples that are cyclic; None if there are none."""
        return self.cycles / self.triples if self.triples and self.cycles is not None else None


def majority(counts: PairCounts) -> Majority:
    """Describe the majority graph; a pair with equal weights both ways has no edge.

    The number of 3-cycles is tr(B^3) / 3 with B the 0/1 matrix of "beats".
    """
    m, low, high = counts.m, counts.low, counts.high
    there, back = counts.forward > counts.backward, counts.backward > counts.forward
    better = np.concatenate([low[there], high[back]])
    worse = np.concatenate([high[there], low[back]])
    beaten = np.bincount(better, minlength=m)
    winner = counts.items[int(beaten.argmax())] if m > 1 and beaten.max() == m - 1 else None
    degree = np.bincount(np.concatenate([better, worse]), minlength=m)
    if m <= DENSE:
        b = np.zeros((m, m), np.float32)
        b[better, worse] = 1
        # Entries of the products are at most m, exact in float32; the sums are taken in float64.
        cyclic = float(((b @ b) * b.T).sum(dtype=np.float64)) / 3
        u = b + b.T
        every = float(((u @ u) * u).sum(dtype=np.float64)) / 6
        return Majority(len(better), round(every), round(cyclic), winner)
    if int((degree.astype(np.int64) ** 2).sum()) > _WORK:
        return Majority(len(better), None, None, winner)
    from scipy.sparse import coo_array

    edges = coo_array((np.ones(len(better), np.int64), (better, worse)), shape=(m, m)).tocsr()
    cyclic = int((edges @ edges).multiply(edges.T).sum()) // 3
    both = (edges + edges.T).tocsr()
    return Majority(len(better), int((both @ both).multiply(both).sum()) // 6, cyclic, winner)
