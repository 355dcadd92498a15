"""Kernels score items by preference graphs: edges, eigenvector, rank centrality, PageRank, Thurstone.

Power iteration needs a number of steps that grows with the mixing time, which is long on paths
and between groups that were seldom compared. State reduction [GTH85]_ (Gaussian
elimination that never subtracts) is exact up to rounding for every entry, however small, and
takes O(m^3) at worst; states that are not connected cost nothing.

References
----------
.. [GTH85] W. K. Grassmann, M. I. Taksar and D. P. Heyman. Regenerative analysis and steady
   state distributions for Markov chains. Operations Research 33(5), 1985.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.rates import add_up, mean_log_odds, on_scale, take_entries
from rankbench.kernels.declared import Index, Rows, Vector, declared
from rankbench.kernels.pairs import WORK, conjugate_gradients, join, sum_pairs
from rankbench.kernels.signatures import AGGREGATE, EDGES


@declared(EDGES)
def average_adjacency(
    winners: Index,
    losers: Index,
    weights: Vector,
    m: int,
    params: Vector,
    work: Vector,
    tails: Index,
    heads: Index,
    edge_weights: Vector,
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
    winners: Index,
    losers: Index,
    weights: Vector,
    m: int,
    params: Vector,
    work: Vector,
    tails: Index,
    heads: Index,
    edge_weights: Vector,
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
    winners: Index,
    losers: Index,
    weights: Vector,
    m: int,
    params: Vector,
    work: Vector,
    tails: Index,
    heads: Index,
    edge_weights: Vector,
) -> int:
    """Write the first judgment's edge and return 1."""
    tails[0], heads[0], edge_weights[0] = winners[0], losers[0], weights[0]
    return 1


_EIGENVECTOR_ROUNDING = 1e-15
_PLAIN_STEPS = 100
_MAX_STEPS = 200_000


@declared(AGGREGATE)
def geometric_mean(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the row geometric means to `out`; ``params = [log, *params of mean_log_odds]``."""
    mean_log_odds(winners, losers, weights, m, params[1:], work, out)
    for i in range(m):
        out[i] *= (m - 1) / m
    if params[0] == 0.0:
        on_scale(out, np.zeros(m, dtype=np.int64), False)


@declared(AGGREGATE)
def eigenvector(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the Perron vector to `out`; ``params = [c, joint, log]``.

    Power iteration on a positive matrix adds positive numbers only, so that small entries of the
    vector are as accurate, relatively, as large ones. It ends when the bounds of Collatz
    and Wielandt, the extremes of (A s)_i / s_i, meet up to rounding.
    """
    total = add_up(winners, losers, weights, m, work)
    c = params[0] * total if params[1] != 0.0 else params[0]
    # From here on the table holds the transposed matrix of ratios.
    for i in range(m):
        work[i * m + i] = 1.0
        for j in range(i):
            ratio = (work[i * m + j] + c) / (work[j * m + i] + c)
            work[i * m + j], work[j * m + i] = 1.0 / ratio, ratio

    image = np.empty(m)
    out[:] = 1.0
    for step in range(_MAX_STEPS):
        image[:] = 0.0
        for j in range(m):
            for i in range(m):
                image[i] += work[j * m + i] * out[j]
        low, high, largest = math.inf, 0.0, 0.0
        for i in range(m):
            low = min(low, image[i] / out[i])
            high = max(high, image[i] / out[i])
        # Long cycles of large ratios have other eigenvalues nearly as large as the first, but
        # elsewhere on a circle: a shift by the first leaves them behind.
        shift = 0.0 if step < _PLAIN_STEPS else high
        for i in range(m):
            out[i] = image[i] + shift * out[i]
            largest = max(largest, out[i])
        for i in range(m):
            out[i] /= largest
        if high - low <= _EIGENVECTOR_ROUNDING * (10 + m) * high:
            break
    work[: m * m] = 0.0
    for i in range(m):
        out[i] = math.log(out[i])
    on_scale(out, np.zeros(m, dtype=np.int64), params[2] != 0.0)


_LEAST = 1e-300
"""Rates do not fall below this: an underflow to 0 would cut a component in two."""


@declared(AGGREGATE)
def rank_centrality(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the stationary distribution to `out`; ``params = [c, log]``."""
    c = params[0]
    # The walk goes from losers to winners.
    add_up(losers, winners, weights, m, work)
    for i in range(m):
        for j in range(i):
            there, back = work[i * m + j], work[j * m + i]
            if there + back > 0.0:
                work[i * m + j] = (there + c) / (there + back + 2.0 * c)
                work[j * m + i] = (back + c) / (there + back + 2.0 * c)

    # Take the states away one by one, the last first: a way through n becomes a direct one.
    # The roads stay two-way, so the neighbors of n can be told from either direction.
    near = np.empty(m, dtype=np.int64)
    for n in range(m - 1, 0, -1):
        count, leaving = 0, 0.0
        for j in range(n):
            if work[n * m + j] > 0.0:
                near[count] = j
                count += 1
                leaving += work[n * m + j]
        for a in range(count):
            i = near[a]
            share = work[i * m + n] / leaving
            for b in range(count):
                if b != a:
                    work[i * m + near[b]] += max(share * work[n * m + near[b]], _LEAST)

    # Put them back, in logarithms: along a path the entries may differ by any factor.
    component = np.arange(m)
    out[0] = 0.0
    for n in range(1, m):
        highest, leaving = -math.inf, 0.0
        for j in range(n):
            if work[n * m + j] > 0.0:
                component[n] = component[j]
                leaving += work[n * m + j]
                highest = max(highest, out[j] + math.log(work[j * m + n]))
        out[n] = 0.0
        if leaving > 0.0:
            arriving = 0.0
            for j in range(n):
                if work[n * m + j] > 0.0:
                    arriving += math.exp(out[j] + math.log(work[j * m + n]) - highest)
            out[n] = highest + math.log(arriving / leaving)
    work[: m * m] = 0.0
    on_scale(out, component, params[1] != 0.0)


_PAGERANK_ROUNDING = 4e-16


def parameters(damping: float) -> NDArray[np.float64]:
    """Return ``[d, steps]``: every step shrinks the error by d, so these always suffice."""
    steps = math.ceil(math.log(_PAGERANK_ROUNDING) / math.log(damping)) if damping > 0 else 1
    return np.array([damping, float(steps)])


@declared(AGGREGATE)
def pagerank(winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector) -> None:
    """Write the PageRank of the m items to `out`."""
    k = len(winners)
    d = params[0]
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward = np.empty(k), np.empty(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    lost, following = work[:m], work[m : 2 * m]
    for t in range(k):
        lost[losers[t]] += weights[t]
    # Divide once: what remains is the share of its score that an item passes on.
    for i in range(m):
        out[i] = 1.0
        for e in range(starts[i], starts[i + 1]):
            forward[e] = forward[e] / lost[high[e]] if forward[e] > 0.0 else 0.0
            backward[e] = backward[e] / lost[i] if backward[e] > 0.0 else 0.0
    for _ in range(int(params[1])):
        anywhere = 0.0
        for i in range(m):
            if lost[i] == 0.0:
                anywhere += out[i]
            following[i] = 0.0
        for i in range(m):
            for e in range(starts[i], starts[i + 1]):
                following[i] += forward[e] * out[high[e]]
                following[high[e]] += backward[e] * out[i]
        change = 0.0
        for i in range(m):
            score = (1.0 - d) + d * (following[i] + anywhere / m)
            change += abs(score - out[i])
            out[i] = score
        if change <= _PAGERANK_ROUNDING * m:
            break
    work[: 2 * m] = 0.0


@declared()
def _center(starts: Rows, high: Index, scores: Vector) -> None:
    """Subtract its mean from the scores of each connected component."""
    m = len(scores)
    parent = np.arange(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            join(parent, i, high[e])
    for i in range(m):
        parent[i] = parent[parent[i]]
    on_scale(scores, parent, True)


@declared(AGGREGATE)
def thurstone_mosteller(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the least-squares scores (22) to `out`; ``params = [c]``."""
    k = len(winners)
    c = params[0]
    starts = np.zeros(m + 1, dtype=np.int64)
    high = np.empty(k, dtype=np.int32)
    forward, backward, ones = np.empty(k), np.empty(k), np.ones(k)
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    rhs = np.zeros(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            log_odds = math.log((forward[e] + c) / (backward[e] + c))
            rhs[i] += log_odds
            rhs[high[e]] -= log_odds
    size = math.sqrt((rhs * rhs).sum())
    # Exact arithmetic needs at most m steps; rounding on long paths a few times that.
    conjugate_gradients(starts, high, ones, 0.0, rhs, 1e-14 * size, 10 * m, np.empty(WORK * m), out)
    _center(starts, high, out)
