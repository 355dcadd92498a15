"""What clusters of votes say about scores, each corrected for its pull on the fit (CR2 of [BM02]_).

References
----------
.. [BM02] R. M. Bell and D. F. McCaffrey. Bias reduction in standard errors for linear regression with
   multi-stage samples. Survey Methodology 28(2), 2002.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["add_clusters"]

_STARTS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_TABLE = types.Array(types.float64, 2, "C", readonly=True)

_FEW = 16
"""A cluster about fewer than a quarter of the items (1 / sqrt 16) is added to the table by itself."""


@njit(
    types.Tuple((types.int64, types.int64))(  # type: ignore[no-untyped-call]
        types.int64, _STARTS, _INDEX, _READ, _INDEX, _INDEX, _TABLE, _TABLE, _READ, _READ, _READ, _READ, _TABLE,
        types.int64, types.int64, types.float64, types.float64[:, ::1], types.float64[:, ::1],
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def add_clusters(
    first: int,
    starts: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    slope: NDArray[np.float64],
    extra: NDArray[np.float64],
    bend: NDArray[np.float64],
    cross: NDArray[np.float64],
    bend_extra: NDArray[np.float64],
    counted: NDArray[np.float64],
    inverse: NDArray[np.float64],
    m: int,
    terms: int,
    enough: float,
    rows: NDArray[np.float64],
    meat: NDArray[np.float64],
) -> tuple[int, int]:
    """Add what clusters say to the middle of a sandwich, until no row is left for one about many items.

    With S the inverse and I_g the information of a cluster, ``(I - I_g S)^(-1/2) u_g`` is the sum of the terms
    ``c_t (I_g S)^t u_g`` with c_t = 1, 1/2, 3/8, ...: each takes the cluster's votes once, and the part of S that is
    about its items.

    Parameters
    ----------
    first : int
        Cluster to begin with.
    starts, cells, weights : ndarray
        As `rankbench.kinds.counts.ClusterCounts` has them.
    low, high : ndarray of int32, shape (P,)
    slope, extra : ndarray of float64, shape (3, P)
    bend, cross, bend_extra : ndarray of float64, shape (P,)
    counted : ndarray of float64, shape (3,)
        As `rankbench.aggregators.likelihood.said_by_votes.SaidByVotes` has them.
    inverse : ndarray of float64, shape (d, d)
        d = m, or m + 1 with one more parameter.
    m, terms : int
        Items; most terms.
    enough : float
        Relative size of the last term.
    rows : ndarray of float64, shape (R, d)
        Zeros on entry; on return a row for each cluster that was not added by itself.
    meat : ndarray of float64, shape (d, d)
        Added to.

    Returns
    -------
    next, filled : int
        Cluster to go on with; rows that were filled.
    """
    d, filled = len(inverse), 0
    place, items = np.full(d, -1, np.int64), np.empty(d, np.int64)
    u, power, ahead = np.empty(d), np.empty(d), np.empty(d)
    for g in range(first, len(starts) - 1):
        if filled == len(rows):
            return g, filled
        begin, end = starts[g], starts[g + 1]
        k = 0
        for e in range(begin, end):
            pair = cells[e] // 3
            for i in (low[pair], high[pair]):
                if place[i] < 0:
                    place[i] = k
                    items[k] = i
                    k += 1
        if d > m:
            items[k] = m
            k += 1
        for a in range(k):
            u[a] = 0.0
        for e in range(begin, end):
            pair, outcome = cells[e] // 3, cells[e] % 3
            said = weights[e] * slope[outcome, pair]
            u[place[low[pair]]] += said
            u[place[high[pair]]] -= said
            if d > m:
                u[k - 1] += weights[e] * extra[outcome, pair]
        size = 0.0
        for a in range(k):
            power[a] = u[a]
            size = max(size, abs(u[a]))
        share = 1.0
        for term in range(1, terms + 1):
            for a in range(k):
                total = 0.0
                for b in range(k):
                    total += inverse[items[a], items[b]] * power[b]
                ahead[a] = total
            for a in range(k):
                power[a] = 0.0
            for e in range(begin, end):
                pair, weight = cells[e] // 3, weights[e] * counted[cells[e] % 3]
                i, j = place[low[pair]], place[high[pair]]
                lead = ahead[i] - ahead[j]
                more = bend[pair] * lead
                if d > m:
                    more += cross[pair] * ahead[k - 1]
                    power[k - 1] += weight * (cross[pair] * lead + bend_extra[pair] * ahead[k - 1])
                power[i] += weight * more
                power[j] -= weight * more
            share *= (2.0 * term - 1.0) / (2.0 * term)
            change = 0.0
            for a in range(k):
                u[a] += share * power[a]
                change = max(change, share * abs(power[a]))
            if change <= enough * size:
                break
        if _FEW * k * k < d * d:
            for a in range(k):
                for b in range(k):
                    meat[items[a], items[b]] += u[a] * u[b]
        else:
            for a in range(k):
                rows[filled, items[a]] = u[a]
            filled += 1
        for a in range(k):
            place[items[a]] = -1
    return len(starts) - 1, filled
