"""Preference graphs of a population: the difference graph and what the theorems ask of it.

A graph is a weighted adjacency matrix of shape (m, m), entry [i, j] >= 0 the weight of i
over j, the diagonal 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "graph_of_edges",
    "is_acyclic",
    "is_low_noise",
    "mean_difference_graph",
    "mean_net_weights",
    "ordering_graph",
    "score_pair_graphs",
]

Graph = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative error that sums of weights may have: differences below it are ties."""


def graph_of_edges(m: int, edges: dict[tuple[int, int], float]) -> Graph:
    """Return the graph over m items with these weights, items counted from 1 as the papers do."""
    matrix = np.zeros((m, m))
    for (i, j), weight in edges.items():
        matrix[i - 1, j - 1] = weight
    return matrix


def mean_difference_graph(mean: Graph) -> Graph:
    """Return ``[Y_ij - Y_ji]_+`` of a mean graph ([DMJ13]_ section 3.2.2), shape (m, m).

    Differences that are rounding errors of the weights become 0.
    """
    difference: Graph = np.maximum(mean - mean.T, 0.0)
    difference[difference <= ROUNDING * mean.max(initial=0.0)] = 0.0
    return difference


def mean_net_weights(mean: Graph) -> NDArray[np.float64]:
    """Return ``b_i = sum_j (a_ij - a_ji)``, shape (m,), which the linear loss looks at ([DMJ10]_ (15))."""
    net: NDArray[np.float64] = mean.sum(axis=1) - mean.sum(axis=0)
    return net


def is_acyclic(difference: Graph) -> bool:
    """Return whether a graph is a DAG: items without incoming edges can be taken away one by one."""
    left = np.ones(len(difference), dtype=np.bool_)
    while left.any():
        sources = left & ~(difference[left] > 0).any(axis=0)
        if not sources.any():
            return False
        left &= ~sources
    return True


def is_low_noise(mean: Graph) -> bool:
    """Return whether a population is low-noise ([DMJ13]_ Definition 4).

    Where the difference graph has edges i -> j and j -> k, the difference on (i, k) is at
    least their sum. The difference graph is then a DAG.

    Parameters
    ----------
    mean : ndarray of float64, shape (m, m)
        The mean graph E[Y].
    """
    lead = mean - mean.T
    edge = mean_difference_graph(mean) > 0
    slack = ROUNDING * mean.max(initial=0.0)
    path = edge[:, :, None] & edge[None, :, :]
    weight = lead[:, :, None] + lead[None, :, :]
    return bool((lead[:, None, :] >= weight - 4 * slack)[path].all())


def score_pair_graphs(
    scores: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> tuple[list[Graph], list[float]]:
    """Return Cossock and Zhang's scores as graphs of one edge ([DMJ10]_ section 3.1).

    Somebody with scores y, row r of `scores` with its probability, is asked about a pair
    of items, uniform: one edge of weight ``|y_i - y_j|`` towards the item of lower score,
    so that ``a_ij - a_ji`` is proportional to the difference of mean scores. No edge where
    scores are equal.

    Parameters
    ----------
    scores : ndarray of float64, shape (R, m)
    probabilities : ndarray of float64, shape (R,)
    """
    m = scores.shape[1]
    share = 2.0 / (m * (m - 1))
    graphs, chances = [], []
    for row, chance in zip(scores, probabilities, strict=True):
        for i in range(m):
            for j in range(i + 1, m):
                better, worse = (i, j) if row[i] >= row[j] else (j, i)
                graphs.append(graph_of_edges(m, {(better + 1, worse + 1): float(row[better] - row[worse])}))
                chances.append(float(chance) * share)
    return graphs, chances


def ordering_graph(order: Sequence[int], weights: Sequence[float]) -> Graph:
    """Return a complete ordering as a graph whose weights depend on distance alone.

    Parameters
    ----------
    order : sequence of int
        Items from 1, the best first.
    weights : sequence of float
        Weight of a pair at distance 1, 2, ... in the order.
    """
    edges = {(order[a], order[b]): weights[b - a - 1] for a in range(len(order)) for b in range(a + 1, len(order))}
    return graph_of_edges(len(order), edges)
