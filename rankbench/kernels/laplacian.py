"""Sums by pair and linear systems in a graph Laplacian, shared by the least-squares kernels.

The pairs that were compared are kept as rows of a sparse upper triangle: the pairs
{i, high[e]} with i < high[e] are ``e = starts[i] .. starts[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["WORK_VECTORS", "join", "solve", "sum_pairs"]

_INDEX = types.int32[::1]
_ROWS = types.int64[::1]
_VECTOR = types.float64[::1]

WORK_VECTORS = 4
"""Vectors of length m that `solve` needs."""


@njit(types.void(_INDEX, _INDEX, _VECTOR, _ROWS, _INDEX, _VECTOR, _VECTOR), cache=True, nogil=True)
def sum_pairs(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
) -> None:
    """Sum the weights of k judgments by unordered pair, in O(k + m).

    Parameters
    ----------
    winners, losers, weights : ndarray, shape (k,)
    starts : ndarray of int64, shape (m + 1,)
        Zero on entry; the rows on return, ``starts[m]`` the number of pairs, at most k.
    high : ndarray of int32, shape (k,)
        On return the larger item of each pair, in order of first appearance in its row.
    forward, backward : ndarray of float64, shape (k,)
        On return the weight for the smaller and for the larger item of each pair.
    """
    m = len(starts) - 1
    for t in range(len(winners)):
        starts[min(winners[t], losers[t]) + 1] += 1
    for i in range(m):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    for t in range(len(winners)):
        low = min(winners[t], losers[t])
        row = place[low]
        place[low] = row + 1
        high[row] = max(winners[t], losers[t])
        forward[row] = weights[t] if winners[t] == low else 0.0
        backward[row] = 0.0 if winners[t] == low else weights[t]

    # Merge repeated pairs in place: a row never grows, so writing stays behind reading.
    seen = np.full(m, -1, dtype=np.int64)
    count = 0
    begin = 0
    for i in range(m):
        end = starts[i + 1]
        first = count
        starts[i] = first
        for row in range(begin, end):
            j = high[row]
            if seen[j] >= first:
                forward[seen[j]] += forward[row]
                backward[seen[j]] += backward[row]
            else:
                seen[j] = count
                high[count], forward[count], backward[count] = j, forward[row], backward[row]
                count += 1
        begin = end
    starts[m] = count


@njit(types.void(_ROWS, types.int64, types.int64), cache=True, nogil=True)
def join(parent: NDArray[np.int64], a: int, b: int) -> None:
    """Merge the sets of a and b in the union-find forest `parent`, shape (m,), ``arange(m)`` at first.

    The smaller index becomes the root, so that every parent comes before its children: one
    pass of ``parent[i] = parent[parent[i]]`` in order then names each item's root.
    """
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    parent[max(a, b)] = min(a, b)


@njit(
    types.void(_ROWS, _INDEX, _VECTOR, types.float64, _VECTOR, types.float64, types.float64, _VECTOR, _VECTOR),
    cache=True,
    nogil=True,
)
def solve(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    edge: NDArray[np.float64],
    ridge: float,
    rhs: NDArray[np.float64],
    relative: float,
    absolute: float,
    work: NDArray[np.float64],
    x: NDArray[np.float64],
) -> None:
    """Solve ``(L + ridge I) x = rhs`` by conjugate gradients, diagonally preconditioned.

    L is the Laplacian of the graph whose edge e weighs ``edge[e]``. Stops at a residual of
    at most ``max(relative |rhs|, absolute)`` in the Euclidean norm. With ``ridge = 0`` the
    right-hand side must sum to zero over every connected component; the solution is then
    determined up to a constant on each component.

    Parameters
    ----------
    starts, high : ndarray
        The pairs, see the module.
    edge : ndarray of float64
        Positive, one a pair.
    rhs, x : ndarray of float64, shape (m,)
    work : ndarray of float64, shape (WORK_VECTORS m,)
        Anything on entry and on return.
    """
    m = len(x)
    inverse, r, p, q = work[:m], work[m : 2 * m], work[2 * m : 3 * m], work[3 * m : 4 * m]
    inverse[:] = ridge
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            inverse[i] += edge[e]
            inverse[high[e]] += edge[e]
    norm, rho = 0.0, 0.0
    for i in range(m):
        # An item without judgments has an empty row; its x stays 0.
        inverse[i] = 1.0 / inverse[i] if inverse[i] > 0.0 else 0.0
        x[i] = 0.0
        r[i] = rhs[i]
        p[i] = inverse[i] * r[i]
        rho += r[i] * p[i]
        norm += r[i] * r[i]
    enough = max(relative * relative * norm, absolute * absolute)

    # Exact arithmetic needs at most m steps; rounding on long paths a few times that.
    for _ in range(10 * m):
        if norm <= enough:
            return
        for i in range(m):
            q[i] = ridge * p[i]
        for i in range(m):
            mine = 0.0
            for e in range(starts[i], starts[i + 1]):
                flow = edge[e] * (p[i] - p[high[e]])
                mine += flow
                q[high[e]] -= flow
            q[i] += mine
        curvature = 0.0
        for i in range(m):
            curvature += p[i] * q[i]
        if not curvature > 0.0:
            return
        step = rho / curvature
        norm, rho_next = 0.0, 0.0
        for i in range(m):
            x[i] += step * p[i]
            r[i] -= step * q[i]
            rho_next += r[i] * inverse[i] * r[i]
            norm += r[i] * r[i]
        for i in range(m):
            p[i] = inverse[i] * r[i] + rho_next / rho * p[i]
        rho = rho_next
