"""Kernels compute NDCG, ERR and pairwise disagreement of a ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.core.gains import SAFE_EXPONENT, TINY, DiscountName, SatisfactionName
from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Matrix, Rows, Vector, declared
from rankbench.kernels.gains import (
    HEADER,
    IDENTITY,
    IDENTITY_SHIFT,
    SATISFACTION_CODES,
    discount,
    gain_at,
    gain_params,
    gains_and_ideal,
    padding,
    satisfied,
    sort_descending,
)
from rankbench.kernels.signatures import LOSS, MATRIX_LOSS, RANKED

settle_runtime()


def ndcg_work(m: int) -> int:
    """Return the scratch that `ndcg` needs for m items."""
    return 5 * int(padding(m))


@declared(LOSS)
def ndcg(alpha: Vector, scores: Vector, params: Vector, work: Vector) -> float:
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
def ranked_ndcg(ranked: Vector, ends: Rows, best: Vector, zero: bool, params: Vector, work: Vector) -> float:
    """Return the value of `ndcg`, up to rounding, for a cutoff of at most ``len(best)`` or m."""
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


@declared(MATRIX_LOSS)
def disagreement(alpha: Vector, adjacency: Matrix, params: Vector, work: Vector) -> float:
    """Return the sum of the weights of misordered pairs, divided by all weights if ``params[0]``.

    nan if alpha holds one.
    """
    m = alpha.shape[0]
    wrong, total = work[:m], work[m : 2 * m]
    wrong[:] = 0.0
    total[:] = 0.0
    # Sums are kept by column, so that a row is one vector operation.
    for i in range(m):
        own, row = alpha[i], adjacency[i]
        if own != own:
            return np.nan
        before, after = wrong[:i], wrong[i + 1 :]
        earlier, later = alpha[:i], alpha[i + 1 :]
        weights = row[i + 1 :]
        for j in range(i):
            before[j] += row[j] if own < earlier[j] else 0.0
        for j in range(m - i - 1):
            after[j] += weights[j] if own <= later[j] else 0.0
    value = wrong.sum()
    if params[0] == 0.0:
        return float(value)
    for i in range(m):
        for j in range(m):
            total[j] += adjacency[i, j]
        total[i] -= adjacency[i, i]
    weight = total.sum()
    return float(value / weight) if weight > 0.0 else 0.0


def err_params(gain: SatisfactionName, top: float, discount: DiscountName, cutoff: float) -> NDArray[np.float64]:
    """Return `gain_params` with the code of G first and its largest grade last."""
    params = gain_params("identity", discount, cutoff)
    params[0] = SATISFACTION_CODES[gain]
    return np.append(params, top)


def err_work(m: int) -> int:
    """Return the scratch that `err` needs for m items."""
    return 4 * int(padding(m)) + 1


@declared(inline="always")
def fail_together(fails: Vector, longest: int, still: Vector) -> None:
    """Write the mean over orders of some ties of the chance that the first r all fail, r from 0 to `longest`."""
    still[0] = 1.0
    for r in range(1, longest + 1):
        still[r] = 0.0
    for k in range(1, len(fails) + 1):
        fail = fails[k - 1]
        for r in range(min(k, longest), 0, -1):
            still[r] = ((k - r) * still[r] + r * fail * still[r - 1]) / k


@declared(LOSS)
def err(alpha: Vector, scores: Vector, params: Vector, work: Vector) -> float:
    """Return one minus the expected reciprocal rank; nan if alpha has a nan.

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
        most = min(count, end - first)
        fail_together(fails[first : first + count], most, still)
        for r in range(most):
            found += seen * discount(params, first + r) * (still[r] - still[r + 1])
        seen *= still[most]
        first += count
    return 1.0 - found


@declared(RANKED)
def ranked_err(ranked: Vector, ends: Rows, best: Vector, zero: bool, params: Vector, work: Vector) -> float:
    """Return the value of `err`, up to rounding, for a cutoff of at most ``len(best)`` or m."""
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
        count, most = last - first, min(last, top) - first
        fails, still = work[:count], work[count:]
        for k in range(count):
            fails[k] = 1.0 - satisfied(ranked[first + k], code, grade)
        fail_together(fails, most, still)
        for r in range(most):
            found += seen * params[HEADER + first + r] * (still[r] - still[r + 1])
        seen *= still[most]
        first = last
    return 1.0 - found
