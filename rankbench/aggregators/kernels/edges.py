"""Compiled aggregators whose structure is a list of weighted edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.pair_table import add_up, take_entries
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import EDGES

__all__ = ["average_adjacency", "difference_graph", "identity"]


@declared(EDGES)
def average_adjacency(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    edge_weights: NDArray[np.float64],
) -> int:
    """Write every directed edge once, in order of first appearance, and return their number.

    The table holds the edge's place in the list, counted from 1, as long as we are here.
    """
    k = len(winners)
    count = 0
    for t in range(k):
        cell = winners[t] * m + losers[t]
        edge = int(work[cell]) - 1
        if edge < 0:
            edge = count
            count += 1
            work[cell] = count
            tails[edge], heads[edge], edge_weights[edge] = winners[t], losers[t], 0.0
        edge_weights[edge] += weights[t]
    for edge in range(count):
        work[tails[edge] * m + heads[edge]] = 0.0
        edge_weights[edge] /= k
    return count


@declared(EDGES)
def difference_graph(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    edge_weights: NDArray[np.float64],
) -> int:
    """Write the lead of every pair that is not level, and return the number of edges, maybe 0.

    The first judgment of a pair takes its total weights from the table, so that the later ones
    know that the pair is done.
    """
    k = len(winners)
    add_up(winners, losers, weights, m, work)
    count = 0
    for t in range(k):
        i, j = winners[t], losers[t]
        forward, backward = take_entries(work, m, i, j)
        lead = forward - backward
        if lead > 0.0:
            tails[count], heads[count], edge_weights[count] = i, j, lead / k
            count += 1
        elif lead < 0.0:
            tails[count], heads[count], edge_weights[count] = j, i, -lead / k
            count += 1
    return count


@declared(EDGES)
def identity(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    edge_weights: NDArray[np.float64],
) -> int:
    """Write the first judgment's edge and return 1."""
    tails[0], heads[0], edge_weights[0] = winners[0], losers[0], weights[0]
    return 1
