"""Compiled NDCG family (14), ties averaged over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.discounts import SAFE_EXPONENT, TINY
from rankbench.kernels.declared import declared
from rankbench.kernels.gains import HEADER, IDENTITY, IDENTITY_SHIFT, discount, gain_at, gains_and_ideal
from rankbench.kernels.signatures import LOSS, RANKED
from rankbench.kernels.sorting import padding, sort_descending

__all__ = ["ndcg", "ranked_ndcg", "work"]


def work(m: int) -> int:
    """Return the scratch that `ndcg` needs for m items."""
    return 5 * int(padding(m))


@declared(LOSS)
def ndcg(
    alpha: NDArray[np.float64],
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
) -> float:
    """Return ``1 - 1/Z(s) sum_j G(s_j) / F(pi_alpha(j))``; 0 where Z(s) <= 0; nan if alpha has one.

    `params` come from `rankbench.kernels.gains.gain_params`.
    """
    m = alpha.shape[0]
    n = padding(m)
    ranked, gain = work[:n], work[n : n + m]
    for i in range(m):
        ranked[i] = alpha[i]
        if alpha[i] != alpha[i]:
            return np.nan
    ideal = gains_and_ideal(scores, params, gain, work[2 * n :])
    if not ideal > 0.0:
        return 0.0
    sort_descending(ranked, m)

    # The mean discount of the group of ties that every position belongs to.
    factor = work[2 * n : 3 * n]
    first = 0
    while first < m:
        last = first + 1
        total = discount(params, first)
        while last < m and ranked[last] == ranked[first]:
            total += discount(params, last)
            last += 1
        factor[first:last] = total / (last - first)
        first = last

    gained = 0.0
    for i in range(m):
        # Bisection for the first position whose score is not above alpha_i.
        position = 0
        step = n // 2
        while step > 0:
            position += step if ranked[position + step - 1] > alpha[i] else 0
            step //= 2
        gained += gain[i] * factor[position]
    return 1.0 - gained / ideal


@declared(RANKED)
def ranked_ndcg(
    ranked: NDArray[np.float64],
    ends: NDArray[np.int64],
    best: NDArray[np.float64],
    zero: bool,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
) -> float:
    """Return what `ndcg` does, up to rounding, for a cutoff of at most ``len(best)`` or m."""
    if zero:
        return 0.0
    code, top = int(params[0]), int(min(params[2], float(best.shape[0])))
    largest = max(abs(best[0]), abs(best[best.shape[0] - 1]))
    shift = max(0.0, best[0] - SAFE_EXPONENT)
    if code == IDENTITY:
        shift = IDENTITY_SHIFT if largest > 1e300 else 0.0
    unit = 2.0**-shift
    ideal = size = 0.0
    for position in range(top):
        term = gain_at(best[position], shift, unit, code) * params[HEADER + position]
        ideal += term
        size += abs(term)
    if not ideal > TINY * size:
        return 0.0
    gained = 0.0
    first = 0
    while first < top:
        last = ends[first]
        if last == first + 1:
            gained += gain_at(ranked[first], shift, unit, code) * params[HEADER + first]
            first = last
            continue
        factor, total = 0.0, 0.0
        for position in range(first, last):
            total += gain_at(ranked[position], shift, unit, code)
            if position < top:
                factor += params[HEADER + position]
        gained += total * (factor / (last - first))
        first = last
    return 1.0 - gained / ideal
