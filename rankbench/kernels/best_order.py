"""Kernels find the order of least pairwise disagreement (10): exactly where cycles are small, else within bounds.

The aggregator `kemeny`, Bayes risks of pairwise disagreement and the populations of simulators share it.

References
----------
.. [HK62] M. Held and R. M. Karp. A dynamic programming approach to sequencing problems.
   Journal of the Society for Industrial and Applied Mathematics 10(1), 1962.
"""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

LEVEL = 1e-12
"""A pair whose two weights differ by less than this share of the total weight is level."""
TIED = 1e-10
"""Orders whose costs differ by less than this share of the total weight are equally good."""
EXACT = 14
"""Items on common cycles up to which the best order is computed exactly."""


def best_order(graph: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return an order of the items with (nearly) the least disagreement (10), and how far it may be from it.

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
    # What rounding left of level pairs would close cycles that are not there.
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
        positions = _searched(within, tied) if n > exact else _programmed(within, tied, first)
        scores[items] = (m + 1) * (0.5 - positions / (n + 1))
    return scores


def _programmed(lead: NDArray[np.float64], tied: float, first: bool) -> NDArray[np.float64]:
    """Return positions 1..n by dynamic programming, one layer of equally large sets at a time."""
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
    if first:
        placed = np.zeros(1, dtype=np.int64)
        for s in range(n):
            rest = (i for i in range(n) if not (placed[0] >> i) & 1)
            chosen = next(i for i in rest if optimal(i, placed, placed | (1 << i))[0])
            positions[chosen] = s + 1
            placed = placed | (1 << chosen)
        return positions
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


def _searched(lead: NDArray[np.float64], tied: float) -> NDArray[np.float64]:
    """Return positions 1..n by local search from Borda's order."""
    n = len(lead)
    order = np.argsort(-lead.sum(axis=1), kind="stable")
    moved = True
    while moved:
        moved = False
        for item in range(n):
            place = int(np.flatnonzero(order == item)[0])
            rest = np.delete(order, place)
            costs = np.concatenate([[0.0], np.cumsum(lead[item, rest])])
            best = int(np.argmin(costs))
            if costs[best] < costs[place] - tied:
                order = np.insert(rest, best, item)
                moved = True
    positions = np.empty(n)
    positions[order] = np.arange(1, n + 1)
    return positions
