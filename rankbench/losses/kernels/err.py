"""Compiled ERR family (16), ties averaged over exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.discounts import DiscountName
from rankbench.kernels.declared import declared
from rankbench.kernels.gains import HEADER, discount, gain_params
from rankbench.kernels.satisfaction import SATISFACTION_CODES, satisfied
from rankbench.kernels.signatures import LOSS, RANKED
from rankbench.kernels.sorting import padding, sort_descending
from rankbench.satisfaction import SatisfactionName

__all__ = ["err", "err_params", "ranked_err", "ranked_work", "work"]


def err_params(gain: SatisfactionName, top: float, discount: DiscountName, cutoff: float) -> NDArray[np.float64]:
    """Return what `gain_params` does with the code of G in front and its largest grade at the end."""
    params = gain_params("identity", discount, cutoff)
    params[0] = SATISFACTION_CODES[gain]
    return np.append(params, top)


def work(m: int) -> int:
    """Return the scratch that `err` needs for m items."""
    return 4 * int(padding(m)) + 1


@declared(LOSS)
def err(
    alpha: NDArray[np.float64],
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
) -> float:
    """Return one minus the expected reciprocal rank; nan if alpha has one.

    `params` come from `err_params`. Positions after the cutoff are not visited.
    """
    m = alpha.shape[0]
    n = padding(m)
    ranked, fails, filled, still = work[:n], work[n : 2 * n], work[2 * n : 3 * n], work[3 * n : 4 * n + 1]
    for i in range(m):
        if alpha[i] != alpha[i]:
            return np.nan
        ranked[i] = alpha[i]
        filled[i] = 0.0
    sort_descending(ranked, m)
    for i in range(m):
        # Bisection for the first position whose score is not above alpha_i; ties fill up from there.
        first = 0
        step = n // 2
        while step > 0:
            first += step if ranked[first + step - 1] > alpha[i] else 0
            step //= 2
        place = first + int(filled[first])
        filled[first] += 1.0
        fails[place] = 1.0 - satisfied(scores[i], params[0], params[params.shape[0] - 1])

    seen, found = 1.0, 0.0
    end = int(min(float(m), params[2]))
    first = 0
    while first < end:
        count = int(filled[first])
        # still[r]: the mean over orders that the first r of these ties all fail, r up to the cutoff.
        most = min(count, end - first)
        still[0] = 1.0
        for r in range(1, most + 1):
            still[r] = 0.0
        for k in range(1, count + 1):
            fail = fails[first + k - 1]
            for r in range(min(k, most), 0, -1):
                still[r] = ((k - r) * still[r] + r * fail * still[r - 1]) / k
        for r in range(most):
            found += seen * discount(params, first + r) * (still[r] - still[r + 1])
        seen *= still[most]
        first += count
    return 1.0 - found


def ranked_work(m: int) -> int:
    """Return the scratch that `ranked_err` needs for m items."""
    return m + 1


@declared(RANKED)
def ranked_err(
    ranked: NDArray[np.float64],
    ends: NDArray[np.int64],
    best: NDArray[np.float64],
    zero: bool,
    params: NDArray[np.float64],
    work: NDArray[np.float64],
) -> float:
    """Return what `err` does, up to rounding, for a cutoff of at most ``len(best)`` or m."""
    code, grade = params[0], params[params.shape[0] - 1]
    top = int(min(params[2], float(best.shape[0])))
    seen, found = 1.0, 0.0
    first = 0
    while first < top:
        last = ends[first]
        if last == first + 1:
            chance = satisfied(ranked[first], code, grade)
            found += seen * params[HEADER + first] * chance
            seen *= 1.0 - chance
            first = last
            continue
        # work[r]: the mean over orders that the first r of these ties all fail, as in `err`.
        most = min(last, top) - first
        work[0] = 1.0
        for r in range(1, most + 1):
            work[r] = 0.0
        for k in range(1, last - first + 1):
            fail = 1.0 - satisfied(ranked[first + k - 1], code, grade)
            for r in range(min(k, most), 0, -1):
                work[r] = ((k - r) * work[r] + r * fail * work[r - 1]) / k
        for r in range(most):
            found += seen * params[HEADER + first + r] * (work[r] - work[r + 1])
        seen *= work[most]
        first = last
    return 1.0 - found
