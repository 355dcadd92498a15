"""Compiled mean log-odds: O(k + m) a call, though it counts in an m x m table.

One pass over the judgments counts; a second one turns each pair into log-odds when it meets
the pair for the first time and takes its two counts away, which both marks the pair as done and
leaves the table clean.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.pair_table import add_up, take_entries
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import AGGREGATE

__all__ = ["mean_log_odds", "parameters"]

_LOGS = 256
"""Counts below this take their logarithm from a table."""


def parameters(smoothing: float, *, joint: bool) -> NDArray[np.float64]:
    """Return ``[c, joint, log(0 + c), log(1 + c), ...]``."""
    logs = np.log(np.arange(_LOGS) + smoothing)
    return np.concatenate([[smoothing, float(joint)], logs])


@declared(AGGREGATE)
def mean_log_odds(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the mean log-odds of the m items to `out`."""
    total = add_up(winners, losers, weights, m, work)
    c = params[0]
    logs = params[2:]
    tabulated = params[1] == 0.0
    if not tabulated:
        # log((w/W + c) / (v/W + c)) = log((w + c W) / (v + c W)).
        c *= total

    for i in range(m):
        out[i] = 0.0
    for t in range(len(winners)):
        i, j = winners[t], losers[t]
        forward, backward = take_entries(work, m, i, j)
        if forward == 0.0 and backward == 0.0:
            continue
        small = tabulated and forward < len(logs) and backward < len(logs)
        if small and forward == int(forward) and backward == int(backward):
            log_odds = logs[int(forward)] - logs[int(backward)]
        else:
            log_odds = math.log((forward + c) / (backward + c))
        out[i] += log_odds
        out[j] -= log_odds
    for i in range(m):
        out[i] /= m - 1
