"""Kernels find the order of least pairwise disagreement (10): exactly where cycles are small, else within bounds.

The aggregator `kemeny`, Bayes risks of pairwise disagreement and the populations of simulators share it.

References
----------
.. [HK62] M. Held and R. M. Karp. A dynamic programming approach to sequencing problems.
   Journal of the Society for Industrial and Applied Mathematics 10(1), 1962.

A set S of placed items is a number whose bit i stands for item i. The tables over all sets are
as long as 2^n, n the size of a connected component, and live as long as a call.
"""

from __future__ import annotations

import math
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import Index, Matrix, Rows, Vector, declared
from rankbench.kernels.pairs import join, sum_pairs
from rankbench.kernels.signatures import AGGREGATE

LEVEL = 1e-12
"""A pair whose two weights differ by less than this share of the total weight is level."""
TIED = 1e-10
"""Orders whose costs differ by less than this share of the total weight are equally good."""
EXACT = 14
"""Items on common cycles up to which the best order is computed exactly."""


def best_order(graph: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return an order of the items with (nearly) the least disagreement (10), and a bound on its gap.

    Only items on common cycles of the majority graph compete: its strongly connected
    components follow one another without contradicting any majority. Components of at most
    14 items are ordered by `Kemeny`'s dynamic programming; larger ones by its local search,
    and bounded below by a packing of their cycles of three, each of which contradicts one
    of its majorities in every order.

    Parameters
    ----------
    graph : ndarray of float64, shape (m, m)
        Weights >= 0, entry [i, j] that of i over j.

    Returns
    -------
    order : ndarray of int64, shape (m,)
        Items, best first.
    gap : float
        Its disagreement is at most this much above the least one; 0 where exact.
    """
    from scipy.sparse.csgraph import connected_components

    lead = graph - graph.T
    # Rounding errors of level pairs would close spurious cycles.
    lead[np.abs(lead) <= LEVEL * graph.sum()] = 0.0
    count, component = connected_components(lead > 0, directed=True, connection="strong")
    before: dict[int, set[int]] = {c: set() for c in range(count)}
    for i, j in np.argwhere(lead > 0):
        if component[i] != component[j]:
            before[int(component[j])].add(int(component[i]))
    order: list[int] = []
    gap = 0.0
    for c in TopologicalSorter(before).static_order():
        items = np.flatnonzero(component == c)
        if len(items) > 1:
            within, off = _cyclic(lead[np.ix_(items, items)])
            items, gap = items[within], gap + off
        order += items.tolist()
    return np.array(order, dtype=np.int64), gap


def _cyclic(lead: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return order and gap of one strongly connected component."""
    winners, losers = np.nonzero(lead > 0)
    scores = centered_positions(
        winners.astype(np.int32),
        losers.astype(np.int32),
        lead[winners, losers],
        len(lead),
        exact=EXACT,
        first=True,
    )
    order = np.argsort(-scores, kind="stable")
    if len(lead) <= EXACT:
        return order, 0.0
    sorted_lead = lead[np.ix_(order, order)]
    contradicted = float(np.maximum(np.tril(sorted_lead, -1), 0.0).sum())
    return order, max(contradicted - _packed_cycles(lead), 0.0)


def _packed_cycles(lead: NDArray[np.float64]) -> float:
    """Return the weight of a greedy packing of cycles of three: no edge is used beyond its weight."""
    left = np.maximum(lead, 0.0)
    total = 0.0
    for a, b in np.argwhere(left > 0):
        for c in np.flatnonzero((left[b] > 0) & (left[:, a] > 0)):
            weight = min(left[a, b], left[b, c], left[c, a])
            if weight > 0:
                left[a, b] -= weight
                left[b, c] -= weight
                left[c, a] -= weight
                total += float(weight)
    return total


def centered_positions(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    *,
    exact: int,
    first: bool,
) -> NDArray[np.float64]:
    """Return the scores of `rankbench.aggregators.rates.Kemeny`, shape (m,): centered positions in its best orders.

    Parameters
    ----------
    winners, losers : ndarray of int32, shape (k,)
    weights : ndarray of float64, shape (k,)
    m : int
    exact : int
        Most connected items that are ordered exactly.
    first : bool
        Take the lexically first of all optimal orders instead of their average.
    """
    from scipy.sparse.csgraph import connected_components

    total = float(weights.sum())
    lead = np.zeros((m, m))
    np.add.at(lead, (winners, losers), weights)
    lead = lead - lead.T
    lead[np.abs(lead) <= LEVEL * total] = 0.0
    count, component = connected_components(lead != 0, directed=False)
    scores = np.zeros(m)
    for c in range(count):
        items = np.flatnonzero(component == c)
        n = len(items)
        within = lead[np.ix_(items, items)]
        tied = TIED * total
        positions = np.empty(n)
        if n > exact:
            # NumPy's sums decide the order of equal counts here, compiled ones in `kemeny`.
            _search(within, np.argsort(-within.sum(axis=1), kind="stable"), tied, positions)
        elif first:
            _program(within, tied, True, positions)
        else:
            positions = _averaged(within, tied)
        scores[items] = (m + 1) * (0.5 - positions / (n + 1))
    return scores


def _averaged(lead: NDArray[np.float64], tied: float) -> NDArray[np.float64]:
    """Return the mean positions 1..n of all optimal orders, one layer of equally large sets at a time."""
    n = len(lead)
    sets = np.arange(2**n)
    size = sum((sets >> i) & 1 for i in range(n))
    # cost[i, S]: what placing i right after the items of S contradicts.
    cost = np.zeros((n, 2**n))
    for j in range(n):
        cost[:, 2**j : 2 ** (j + 1)] = cost[:, : 2**j] + np.maximum(lead[:, j : j + 1], 0.0)
    steps: list[list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]] = [[] for _ in range(n)]
    for i in range(n):
        without = (sets >> i) & 1 == 0
        for s in range(n):
            before = sets[without & (size == s)]
            steps[s].append((i, before, before | (1 << i)))
    above, below = np.full(2**n, np.inf), np.full(2**n, np.inf)
    above[0] = below[-1] = 0.0
    for layer in steps:
        for i, before, after in layer:
            above[after] = np.minimum(above[after], above[before] + cost[i, before])
    for layer in reversed(steps):
        for i, before, after in layer:
            below[before] = np.minimum(below[before], below[after] + cost[i, before])

    def optimal(i: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
        good: NDArray[np.bool_] = above[before] + cost[i, before] + below[after] <= above[-1] + tied
        return good

    positions = np.zeros(n)
    ways, share = np.zeros(2**n), np.zeros(2**n)
    ways[0] = share[-1] = 1.0
    for layer in steps:
        for i, before, after in layer:
            ways[after] += np.where(optimal(i, before, after), ways[before], 0.0)
    for s in reversed(range(n)):
        for i, before, after in steps[s]:
            used = optimal(i, before, after) & (share[after] > 0)
            flow = share[after[used]] * ways[before[used]] / ways[after[used]]
            share[before[used]] += flow
            positions[i] += (s + 1) * flow.sum()
    return positions


@declared()
def _halves(lead: Matrix, first: int, last: int) -> Matrix:
    """Return the lead contradicted by placing each item after a set of the items first..last-1."""
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
        Cost above the least that an order may have.
    one : bool
        Take the first optimal order.
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
def _search(lead: Matrix, order: Rows, tied: float, positions: Vector) -> None:
    """Write the positions 1..n that no move of a single item improves, from Borda's order, which it changes."""
    n = lead.shape[0]
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
            borda = np.empty(n)
            for i in range(n):
                borda[i] = -lead[i].sum()
            _search(lead, np.argsort(borda, kind="mergesort"), params[3] * total, positions)
        else:
            _program(lead, params[3] * total, params[1] != 0.0, positions)
        for i in range(r, m):
            if root[i] == r:
                out[i] = (m + 1) * (0.5 - positions[local[i]] / (n + 1))
