"""Gradient and Newton steps of Bradley-Terry likelihoods on counted pairs.

The pairs are rows of a sparse upper triangle (`rankbench.kinds.counts`). The loss is

    sum over pairs {i, j} of  n_ij log(e^{s_i} + e^{s_j}) - sum_i won_i s_i + ridge/2 |s|^2

with n_ij all that was judged between i and j, and won_i all that i won: only n is needed
in the inner loops. Where the pairs of a row are those with consecutive items, the loop over
them has no index and no division that Python would check: the compiler makes vectors of it.
Elsewhere indices are unsigned: a negative one would be looked for, to count it from the end.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["conjugate_gradients", "gradient_and_curvature", "item_sums"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]

_WIDE = 300.0
"""Scores beyond this are not raised to powers of e: e^600 is still a number."""


@njit(types.void(_ROWS, _INDEX, _READ, _READ, _VECTOR, _VECTOR), cache=True, nogil=True)
def item_sums(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    won: NDArray[np.float64],
    lost: NDArray[np.float64],
) -> None:
    """Sum what every item won and what it lost, (m,); both hold zeros on entry."""
    for i in range(len(won)):
        mine, other = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            j = high[e]
            mine += forward[e]
            other += backward[e]
            won[j] += backward[e]
            lost[j] += forward[e]
        won[i] += mine
        lost[i] += other


@njit(types.float64(_READ), cache=True, nogil=True)
def _total(values: NDArray[np.float64]) -> float:
    """Return the sum of some values: eight sums side by side, in an order that is the same on every processor."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(values) - len(values) % 8
    for i in range(0, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    for i in range(whole, len(values)):
        a += values[i]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@njit(types.bool_(_INDEX), cache=True, nogil=True, inline="always")
def _consecutive(row: NDArray[np.int32]) -> bool:
    """Return whether a sorted row is that of items one after the other, one at least."""
    return len(row) > 0 and row[-1] - row[0] == len(row) - 1


@njit(
    types.void(_ROWS, _INDEX, _READ, _READ, types.float64, _VECTOR, _VECTOR, _VECTOR),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def gradient_and_curvature(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    judged: NDArray[np.float64],
    won: NDArray[np.float64],
    ridge: float,
    scores: NDArray[np.float64],
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
) -> None:
    """Write the gradient, (m,), and each pair's second derivative ``n p (1 - p)``, (P,)."""
    m = len(scores)
    widest = 0.0
    for i in range(m):
        gradient[i] = ridge * scores[i] - won[i]
        widest = max(widest, abs(scores[i]))
    if widest < _WIDE:
        # One power an item instead of one a pair.
        power, parts = np.exp(scores), np.empty(m)
        for i in range(m):
            p_i, row = power[i], slice(starts[i], starts[i + 1])
            if _consecutive(high[row]):
                n, bend, part = judged[row], curvature[row], parts[: row.stop - row.start]
                theirs, slope = power[high[row.start] :], gradient[high[row.start] :]
                for k in range(len(part)):
                    inverse = 1.0 / (p_i + theirs[k])
                    share = n[k] * inverse
                    part[k] = share * p_i
                    bend[k] = share * p_i * (theirs[k] * inverse)
                    slope[k] += share * theirs[k]
                gradient[i] += _total(part)
                continue
            mine = 0.0
            for e in range(np.uint64(row.start), np.uint64(row.stop)):
                j = np.uint64(high[e])
                inverse = 1.0 / (p_i + power[j])
                share = judged[e] * inverse
                curvature[e] = share * p_i * (power[j] * inverse)
                mine += share * p_i
                gradient[j] += share * power[j]
            gradient[i] += mine
        return
    for i in range(m):
        mine = 0.0
        for e in range(starts[i], starts[i + 1]):
            j = high[e]
            # exp may overflow to inf: 0 is then right.
            p = 1.0 / (1.0 + math.exp(scores[j] - scores[i]))
            q = 1.0 / (1.0 + math.exp(scores[i] - scores[j]))
            curvature[e] = judged[e] * p * q
            mine += judged[e] * p
            gradient[j] += judged[e] * q
        gradient[i] += mine


@njit(
    types.int64(_ROWS, _INDEX, _READ, types.float64, _READ, types.float64, types.int64, _VECTOR),
    cache=True,
    nogil=True,
)
def conjugate_gradients(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    edge: NDArray[np.float64],
    ridge: float,
    rhs: NDArray[np.float64],
    enough: float,
    most: int,
    x: NDArray[np.float64],
) -> int:
    """Solve ``(L + ridge I) x = rhs``, diagonally preconditioned, until the residual's norm is `enough`.

    L is the Laplacian of the graph whose edge e weighs ``edge[e]``. With ``ridge = 0`` the
    right-hand side must sum to zero over every connected component.

    Returns
    -------
    int
        Steps taken, or -1 if `most` were not enough; x is then the best so far.
    """
    m = len(x)
    inverse = np.full(m, ridge)
    for i in range(m):
        mine = edge[starts[i] : starts[i + 1]]
        inverse[i] += _total(mine)
        if _consecutive(high[starts[i] : starts[i + 1]]):
            theirs = inverse[high[starts[i]] :]
            for k in range(len(mine)):
                theirs[k] += mine[k]
        else:
            for k in range(len(mine)):
                inverse[np.uint64(high[starts[i] + k])] += mine[k]
    r, p, q, flows = rhs.copy(), np.empty(m), np.empty(m), np.empty(m)
    norm, rho = 0.0, 0.0
    for i in range(m):
        inverse[i] = 1.0 / inverse[i] if inverse[i] > 0.0 else 0.0
        x[i] = 0.0
        p[i] = inverse[i] * r[i]
        rho += r[i] * p[i]
        norm += r[i] * r[i]
    for step in range(most):
        if math.sqrt(norm) <= enough:
            return step
        for i in range(m):
            q[i] = ridge * p[i]
        for i in range(m):
            p_i, row = p[i], slice(starts[i], starts[i + 1])
            if _consecutive(high[row]):
                weigh, flow = edge[row], flows[: row.stop - row.start]
                theirs, received = p[high[row.start] :], q[high[row.start] :]
                for k in range(len(flow)):
                    flow[k] = weigh[k] * (p_i - theirs[k])
                    received[k] -= flow[k]
                q[i] += _total(flow)
                continue
            total = 0.0
            for e in range(np.uint64(row.start), np.uint64(row.stop)):
                j = np.uint64(high[e])
                one = edge[e] * (p_i - p[j])
                total += one
                q[j] -= one
            q[i] += total
        bend = 0.0
        for i in range(m):
            bend += p[i] * q[i]
        if not bend > 0.0:
            return step
        length = rho / bend
        norm, rho_next = 0.0, 0.0
        for i in range(m):
            x[i] += length * p[i]
            r[i] -= length * q[i]
            rho_next += r[i] * inverse[i] * r[i]
            norm += r[i] * r[i]
        for i in range(m):
            p[i] = inverse[i] * r[i] + rho_next / rho * p[i]
        rho = rho_next
    return most if math.sqrt(norm) <= enough else -1
