r"""Items of few opponents are eliminated from a Laplacian system, down to a small, dense core.

Most items of a large log have few opponents. Eliminated one after the other, always one with the fewest neighbors, they
leave few new edges behind, and a core of items that have many. Resistances of compared items, which Firth's penalty
needs, then follow from those of the core ([ET75]_). A core of at most 4000 items is inverted as a dense matrix. In a
larger one resistances are estimated from random projections, [SS11]_: with :math:`z = L^+ B^T W^{1/2} \epsilon` of
random signs, :math:`E (z_i - z_j)^2` is the resistance. Pairs of the core hold few pseudo-votes each beside many votes.

References
----------
.. [ET75] A. M. Erisman and W. F. Tinney. On computing certain elements of the inverse of a sparse matrix.
   Communications of the ACM 18(3), 1975.
.. [SS11] D. A. Spielman and N. Srivastava. Graph sparsification by effective resistances. SIAM Journal on Computing
   40(6), 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged
from rankbench.interfaces.pair_counts import Scales

MOST_NEIGHBORS = 100
"""Most neighbors of an item that is eliminated: with more, edges that it leaves behind are many."""

SINGULAR = "the scores run so far apart that the system for the next step is singular; a ridge keeps them together"


class Reduced(NamedTuple):
    """Weights of an `Elimination`.

    Attributes
    ----------
    weights : ndarray of float64, shape (E,)
        Of an item's entries as it is eliminated; the last ones are the core's.
    total : ndarray of float64, shape (m,)
        Sums over the entries of each place.
    """

    weights: NDArray[np.float64]
    total: NDArray[np.float64]


class Elimination:
    """The order in which items are eliminated, and the edges left, for any weights.

    Parameters
    ----------
    starts, high : ndarray
        Edges as `PairCounts` keeps pairs.
    scales : Scales
        Connected components.

    Attributes
    ----------
    order : ndarray of int32, shape (m,)
        Item at each place: the eliminated ones, then the core.
    eliminated : int
    core : (ndarray, ndarray, Scales)
        Edges of the core as `PairCounts` keeps pairs, and its components.
    inside : ndarray of int64
        Numbers of the given edges between two items of the core.
    """

    def __init__(self, starts: NDArray[np.int64], high: NDArray[np.int32], scales: Scales) -> None:
        m = len(starts) - 1
        low = np.repeat(np.arange(m, dtype=np.int32), np.diff(starts))
        self.order, self.eliminated, column, rows = _ordered(low, high, m)
        place = np.empty(m, np.int64)
        place[self.order] = np.arange(m)
        keys = np.sort(column * m + place[rows])
        self._column, self._rows = (each.astype(np.int32) for each in np.divmod(keys, m))
        self._starts = np.searchsorted(self._column, np.arange(m + 1)).astype(np.int64)
        self._back = np.argsort(self._rows, kind="stable")
        self._back_starts = np.concatenate([[0], np.cumsum(np.bincount(self._rows, minlength=m))])
        first, second = place[low], place[high]
        self._entries = np.searchsorted(keys, np.minimum(first, second) * m + np.maximum(first, second))
        self.inside = np.flatnonzero(np.minimum(first, second) >= self.eliminated)
        inner = self._starts[self.eliminated :]
        _, of, sizes = np.unique(
            scales.scale_of[self.order[self.eliminated :]], return_inverse=True, return_counts=True
        )
        self.core = (
            inner - inner[0],
            self._rows[inner[0] :] - np.int32(self.eliminated),
            Scales(of.reshape(-1).astype(np.int32), sizes),
        )

    def reduced(self, edge: NDArray[np.float64]) -> Reduced:
        """Return the weights of all entries after elimination, from the weights of the given edges, (P,).

        Raises
        ------
        ContenderDiverged
            All weights of an item have vanished.
        """
        from rankbench.aggregators.kernels.elimination import reduce_weights

        weights, total = np.zeros(len(self._rows)), np.zeros(len(self.order))
        weights[self._entries] = edge
        reduce_weights(
            self.eliminated, self._starts, self._rows, self._column, self._back_starts, self._back, weights, total
        )
        linked = np.diff(self._starts[: self.eliminated + 1]) > 0
        if not (total[: self.eliminated][linked] >= np.finfo(float).tiny).all():
            raise ContenderDiverged(SINGULAR)
        return Reduced(weights, total)

    def core_of(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the core's edges in an array of numbers of the entries, (E,)."""
        return entries[self._starts[self.eliminated] :]

    def resistances(self, reduced: Reduced, of_core: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each edge's difference, shape (P,), from the variances of the core's edges."""
        from rankbench.aggregators.kernels.elimination import resistances

        found = np.zeros(len(self._rows))
        self.core_of(found)[:] = of_core
        resistances(self.eliminated, self._starts, self._rows, *reduced, found)
        return found[self._entries]

    def forward(self, reduced: Reduced, sides: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return right sides, (K, m), by place, (m, K), and the view of the core's rows, (c, K)."""
        from rankbench.aggregators.kernels.elimination import forward

        placed = np.ascontiguousarray(sides[:, self.order].T)
        forward(self.eliminated, self._starts, self._rows, *reduced, placed)
        return placed, placed[self.eliminated :]

    def backward(self, reduced: Reduced, placed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return solutions, (K, m), given the core's in its rows of `placed`, which is overwritten."""
        from rankbench.aggregators.kernels.elimination import backward

        backward(self.eliminated, self._starts, self._rows, *reduced, placed)
        found = np.empty(placed.shape[::-1])
        found[:, self.order] = placed.T
        return found


def _ordered(
    low: NDArray[np.int32], high: NDArray[np.int32], m: int
) -> tuple[NDArray[np.int32], int, NDArray[np.int64], NDArray[np.int32]]:
    """Return items by place, the number of eliminated ones, and places and neighbors of all entries."""
    from rankbench.aggregators.kernels.elimination import eliminate

    both = np.argsort(np.concatenate([low, high]), kind="stable")
    neighbors = np.concatenate([high, low])[both]
    starts = np.concatenate([[0], np.cumsum(np.bincount(low, minlength=m) + np.bincount(high, minlength=m))])
    room, eliminated = 2 * len(low) + m, -1
    while eliminated < 0:
        room *= 2
        order, pool = np.empty(m, np.int32), np.empty(room, np.int32)
        begins, ends = np.zeros(m, np.int64), np.zeros(m, np.int64)
        eliminated = eliminate(starts, neighbors.copy(), MOST_NEIGHBORS, order, begins, ends, pool)
    sizes = (ends - begins)[order]
    entries = np.arange(sizes.sum()) + np.repeat(begins[order] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return order, eliminated, np.repeat(np.arange(m), sizes), pool[entries]
