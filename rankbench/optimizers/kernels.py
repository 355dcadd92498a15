"""Kernels compute passes over comparisons and queries, and composite steps."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numba import types

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Index, Matrix, ReadIndex, ReadRows, ReadVector, Rows, Vector, declared
from rankbench.kernels.signatures import GRADIENT, STEP

settle_runtime()

ScoreGradient = Annotated[Any, types.FunctionType(GRADIENT)]


@declared()
def merge_comparisons(
    items: ReadRows,
    offsets: ReadRows,
    winners: ReadIndex,
    losers: ReadIndex,
    weights: ReadVector,
    starts: Rows,
    tails: Index,
    heads: Index,
    totals: Vector,
) -> int:
    """Merge equal (winner, loser) pairs of every query, in time and memory linear in both.

    Comparisons are bucketed by winner; within a bucket weights add up by loser.

    Parameters
    ----------
    items, offsets : ndarray of int64, shape (Q + 1,)
        Offsets of items and of comparisons.
    winners, losers, weights : ndarray, shape (n,)
    starts : ndarray of int64, shape (Q + 1,)
        Out: pairs of query q are ``starts[q]:starts[q + 1]``.
    tails, heads, totals : ndarray, shape (n,)
        Out: winner and loser as rows among *all* items, and the pair's weight.

    Returns
    -------
    int
        -1, or the first comparison whose items are not in its query.
    """
    largest = 0
    for q in range(items.shape[0] - 1):
        largest = max(largest, items[q + 1] - items[q])
    bucket = np.zeros(largest + 1, np.int64)
    order = np.zeros(weights.shape[0], np.int64)
    seen = np.zeros(largest, np.int64)  # 1 + the pair that collects this loser
    count = 0
    for q in range(items.shape[0] - 1):
        m = items[q + 1] - items[q]
        base = items[q]
        starts[q] = count
        bucket[: m + 1] = 0
        for e in range(offsets[q], offsets[q + 1]):
            if not (0 <= winners[e] < m and 0 <= losers[e] < m):
                return e
            bucket[winners[e] + 1] += 1
        for i in range(m):
            bucket[i + 1] += bucket[i]
        for e in range(offsets[q], offsets[q + 1]):
            order[offsets[q] + bucket[winners[e]]] = e
            bucket[winners[e]] += 1
        first = 0
        for i in range(m):
            opened = count
            for slot in range(first, bucket[i]):
                e = order[offsets[q] + slot]
                pair = seen[losers[e]] - 1
                if pair < 0:
                    pair = count
                    seen[losers[e]] = count + 1
                    tails[count] = base + i
                    heads[count] = base + losers[e]
                    totals[count] = 0.0
                    count += 1
                totals[pair] += weights[e]
            for pair in range(opened, count):
                seen[heads[pair] - base] = 0
            first = bucket[i]
    starts[items.shape[0] - 1] = count
    return -1


@declared()
def margins(alpha: Vector, tails: Index, heads: Index, out: Vector) -> None:
    """Write ``alpha[tail] - alpha[head]`` of every pair."""
    for e in range(tails.shape[0]):
        out[e] = alpha[tails[e]] - alpha[heads[e]]


@declared()
def scatter(values: Vector, tails: Index, heads: Index, out: Vector) -> None:
    """Add every pair's value to its tail and subtract it from its head."""
    for e in range(tails.shape[0]):
        out[tails[e]] += values[e]
        out[heads[e]] -= values[e]


@declared()
def laplacian(values: Vector, tails: Index, heads: Index, base: int, out: Matrix) -> None:
    """Write the Laplacian of one query's pairs, items counted from row `base`, shape (m, m)."""
    out[:, :] = 0.0
    for e in range(tails.shape[0]):
        i, j = tails[e] - base, heads[e] - base
        out[i, i] += values[e]
        out[j, j] += values[e]
        out[i, j] -= values[e]
        out[j, i] -= values[e]


@declared()
def risk(
    surrogate: ScoreGradient,
    alpha: Vector,
    targets: Vector,
    offsets: ReadRows,
    shares: ReadVector,
    params: Vector,
    pull: Vector,
) -> float:
    """Return ``sum_q v_q phi(alpha_q, target_q)`` and write its gradient in alpha, shape (N,), to `pull`."""
    value = 0.0
    for q in range(shares.shape[0]):
        start, stop = offsets[q], offsets[q + 1]
        if shares[q] == 0.0:
            pull[start:stop] = 0.0
            continue
        value += shares[q] * surrogate(alpha[start:stop], targets[start:stop], params, pull[start:stop])
        for i in range(start, stop):
            pull[i] *= shares[q]
    return value


@declared()
def dual_point(shortfall: Vector, shares: Vector, width: float, beta: Vector) -> float:
    """Write the slopes of the smoothed hinge and return ``sum_c v_c max(z_c, 0) - beta_c z_c``.

    The hinge of a shortfall z, smoothed over ``(0, width)``, has the slope
    ``clip(z / width, 0, 1)``; times the pair's share it is a feasible dual variable.
    """
    rest = 0.0
    for c in range(shortfall.shape[0]):
        z = shortfall[c]
        slope = min(max(z / width, 0.0), 1.0) * shares[c]
        beta[c] = slope
        rest += max(z, 0.0) * shares[c] - slope * z
    return rest


@declared()
def slope_along(shortfall: Vector, gain: Vector, shares: Vector, width: float, length: float, out: Vector) -> None:
    """Write first and second derivative in t of the smoothed loss of ``z - t gain`` at t = `length`."""
    first, second = 0.0, 0.0
    for c in range(shortfall.shape[0]):
        z = shortfall[c] - length * gain[c]
        if z >= width:
            first -= shares[c] * gain[c]
        elif z > 0.0:
            first -= shares[c] * gain[c] * (z / width)
            second += shares[c] * gain[c] * gain[c] / width
    out[0], out[1] = first, second


INVERSE_T, INVERSE_SQRT = 0.0, 1.0


@declared()
def soften(theta: Vector, threshold: float) -> None:
    """Move every entry towards 0 by `threshold`, at most to 0; nan stays nan."""
    for i in range(theta.shape[0]):
        if theta[i] > threshold:
            theta[i] -= threshold
        elif theta[i] < -threshold:
            theta[i] += threshold
        elif not math.isnan(theta[i]):
            theta[i] = 0.0


@declared()
def clip(theta: Vector, box: float) -> None:
    """Project onto the box; nan stays nan."""
    for i in range(theta.shape[0]):
        if theta[i] > box:
            theta[i] = box
        elif theta[i] < -box:
            theta[i] = -box


@declared()
def shorten(theta: Vector, radius: float) -> None:
    """Project onto the ball, however large the entries are; nan stays nan."""
    top = 0.0
    for i in range(theta.shape[0]):
        top = max(top, abs(theta[i]))
    if top == 0.0:
        return
    square = 0.0
    for i in range(theta.shape[0]):
        square += (theta[i] / top) ** 2
    length = top * math.sqrt(square)
    if length > radius:
        for i in range(theta.shape[0]):
            theta[i] *= radius / length


@declared(STEP)
def step(theta: Matrix, gradient: Matrix, t: int, params: Matrix, state: Matrix) -> None:
    """Update theta in place; columns of `params` are schedule, c, t0, lambda, kappa, radius, box."""
    for row in range(theta.shape[0]):
        schedule, c, t0, l2 = params[row, 0], params[row, 1], params[row, 2], params[row, 3]
        l1, radius, box = params[row, 4], params[row, 5], params[row, 6]
        size = c / (t + t0) if schedule == INVERSE_T else c / math.sqrt(t + t0)
        shrink = 1.0 / (1.0 + size * l2)
        if l1 > 0.0:
            for i in range(theta.shape[1]):
                theta[row, i] -= size * gradient[row, i]
            soften(theta[row], size * l1)
            for i in range(theta.shape[1]):
                theta[row, i] *= shrink
        else:
            for i in range(theta.shape[1]):
                theta[row, i] = (theta[row, i] - size * gradient[row, i]) * shrink
        if box < math.inf:
            clip(theta[row], box)
        if radius < math.inf:
            shorten(theta[row], radius)
