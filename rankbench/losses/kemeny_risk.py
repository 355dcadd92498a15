"""The least pairwise disagreement with a graph: exactly where its cycles are small, within bounds elsewhere."""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_order"]

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

    from rankbench.aggregators.kemeny import LEVEL

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
    from rankbench.aggregators.kemeny import Kemeny

    winners, losers = np.nonzero(lead > 0)
    solver = Kemeny(ties="first", exact=EXACT)
    scores = solver.aggregate(winners.astype(np.int32), losers.astype(np.int32), lead[winners, losers], len(lead))
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
