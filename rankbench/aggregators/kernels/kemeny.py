"""Kernels find Kemeny orders by dynamic programming over sets of items, or by local search.

A set S of placed items is a number whose bit i stands for item i. The tables over all sets are
as long as 2^n, n the size of a connected component, and live as long as a call.
"""

from __future__ import annotations

import math

import numpy as np

from rankbench.kernels.declared import Index, Matrix, Vector, declared
from rankbench.kernels.pairs import join, sum_pairs
from rankbench.kernels.signatures import AGGREGATE


@declared()
def _halves(lead: Matrix, first: int, last: int) -> Matrix:
    """Return what placing each item after a set of the items first..last-1 contradicts."""
    n = lead.shape[0]
    table = np.zeros((n, 1 << (last - first)))
    for i in range(n):
        for j in range(first, last):
            bit = 1 << (j - first)
            behind = max(lead[i, j], 0.0)
            for s in range(bit):
                table[i, bit + s] = table[i, s] + behind
    return table


@declared()
def _program(lead: Matrix, tied: float, one: bool, positions: Vector) -> None:
    """Write the positions 1..n of the first optimal order, or averaged over all of them.

    Parameters
    ----------
    lead : ndarray of float64, shape (n, n)
        The weight that prefers i to j less the weight that prefers j to i.
    tied : float
        How much more than the least an order may cost.
    one : bool
        Whether to take the first optimal order.
    positions : ndarray of float64, shape (n,)
    """
    n = lead.shape[0]
    half = n // 2
    low, high = _halves(lead, 0, half), _halves(lead, half, n)
    mask, size = (1 << half) - 1, 1 << n
    # Least costs of the judgments among the placed items, and of all others.
    above, below = np.full(size, math.inf), np.full(size, math.inf)
    above[0] = 0.0
    below[size - 1] = 0.0
    for s in range(size):
        for i in range(n):
            if not (s >> i) & 1:
                after = s | (1 << i)
                above[after] = min(above[after], above[s] + low[i, s & mask] + high[i, s >> half])
    enough = above[size - 1] + tied
    for s in range(size - 2, -1, -1):
        for i in range(n):
            if not (s >> i) & 1:
                below[s] = min(below[s], below[s | (1 << i)] + low[i, s & mask] + high[i, s >> half])

    positions[:] = 0.0
    if one:
        s = 0
        for place in range(n):
            for i in range(n):
                if not (s >> i) & 1:
                    cost = low[i, s & mask] + high[i, s >> half]
                    if above[s] + cost + below[s | (1 << i)] <= enough:
                        positions[i] = place + 1
                        s |= 1 << i
                        break
        return

    # The number of optimal ways to each set, then backwards the share of all optimal orders
    # that pass through it.
    ways, share = np.zeros(size), np.zeros(size)
    ways[0] = 1.0
    for s in range(size):
        if ways[s] > 0.0 and above[s] + below[s] <= enough:
            for i in range(n):
                if not (s >> i) & 1:
                    cost = low[i, s & mask] + high[i, s >> half]
                    if above[s] + cost + below[s | (1 << i)] <= enough:
                        ways[s | (1 << i)] += ways[s]
    share[size - 1] = 1.0
    for after in range(size - 1, 0, -1):
        if share[after] > 0.0:
            place = 0
            for i in range(n):
                place += (after >> i) & 1
            for i in range(n):
                if (after >> i) & 1:
                    s = after ^ (1 << i)
                    cost = low[i, s & mask] + high[i, s >> half]
                    if above[s] + cost + below[after] <= enough:
                        flow = share[after] * ways[s] / ways[after]
                        share[s] += flow
                        positions[i] += place * flow


@declared()
def _search(lead: Matrix, tied: float, positions: Vector) -> None:
    """Write the positions 1..n that no move of a single item improves, from Borda's order."""
    n = lead.shape[0]
    borda = np.empty(n)
    for i in range(n):
        borda[i] = -lead[i].sum()
    order = np.argsort(borda, kind="mergesort")
    moved = True
    while moved:
        moved = False
        for item in range(n):
            # The cost of each place, less that of the first.
            cost, least, here, best, place = 0.0, 0.0, 0.0, 0, 0
            q = 0
            for p in range(n):
                if order[p] == item:
                    here, place = cost, p
                    continue
                cost += lead[item, order[p]]
                q += 1
                if cost < least:
                    least, best = cost, q
            if least < here - tied:
                moved = True
                step = 1 if best > place else -1
                for p in range(place, best, step):
                    order[p] = order[p + step]
                order[best] = item
    for p in range(n):
        positions[order[p]] = p + 1


@declared(AGGREGATE)
def kemeny(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the centered negative ranks to `out`; ``params = [exact, first, level, tied]``."""
    k = len(winners)
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward = np.empty(k), np.empty(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    total = 0.0
    for t in range(k):
        total += weights[t]
    root = np.arange(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            if abs(forward[e] - backward[e]) <= params[2] * total:
                forward[e] = backward[e]
            else:
                join(root, i, high[e])
    for i in range(m):
        root[i] = root[root[i]]

    local = np.empty(m, dtype=np.int64)
    size = np.zeros(m, dtype=np.int64)
    for i in range(m):
        local[i] = size[root[i]]
        size[root[i]] += 1
    for r in range(m):
        n = size[r]
        if n == 1:
            out[r] = 0.0
        if n < 2:
            continue
        lead = np.zeros((n, n))
        for i in range(r, m):
            if root[i] == r:
                for e in range(starts[i], starts[i + 1]):
                    j = high[e]
                    if root[j] == r:
                        lead[local[i], local[j]] = forward[e] - backward[e]
                        lead[local[j], local[i]] = backward[e] - forward[e]
        positions = np.empty(n)
        if n > params[0]:
            _search(lead, params[3] * total, positions)
        else:
            _program(lead, params[3] * total, params[1] != 0.0, positions)
        for i in range(r, m):
            if root[i] == r:
                out[i] = (m + 1) * (0.5 - positions[local[i]] / (n + 1))
