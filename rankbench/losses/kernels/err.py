"""Compiled ERR family (16), ties averaged over exactly."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.discounts import DiscountName
from rankbench.kernels import LOSS
from rankbench.losses.kernels.gains import discount, gain_params
from rankbench.losses.kernels.satisfaction import SATISFACTION_CODES, satisfied
from rankbench.losses.kernels.sorting import padding, sort_descending
from rankbench.satisfaction import SatisfactionName

__all__ = ["err", "err_params", "work"]


def err_params(gain: SatisfactionName, top: float, discount: DiscountName, cutoff: float) -> NDArray[np.float64]:
    """Return what `gain_params` does with the code of G in front and its largest grade at the end."""
    params = gain_params("identity", discount, cutoff)
    params[0] = SATISFACTION_CODES[gain]
    return np.append(params, top)


def work(m: int) -> int:
    """Return the scratch that `err` needs for m items."""
    return 4 * int(padding(m)) + 1


@njit(LOSS, cache=True, nogil=True)
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
