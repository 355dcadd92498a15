"""Compiled Rank Centrality: the stationary distribution by state reduction.

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

from rankbench.aggregators.kernels.pair_table import add_up
from rankbench.aggregators.kernels.priorities import on_scale
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["rank_centrality"]

_LEAST = 1e-300
"""Rates do not fall below this: an underflow to 0 would cut a component in two."""


@declared(AGGREGATE)
def rank_centrality(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
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
