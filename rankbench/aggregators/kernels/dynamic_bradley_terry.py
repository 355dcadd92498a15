"""Kernels smooth Bradley-Terry scores that follow a random walk."""

from __future__ import annotations

import math

import numpy as np

from rankbench.aggregators.kernels.elo import Outcomes, run_starts
from rankbench.kernels.declared import Index, Matrix, Rows, Vector, declared
from rankbench.kernels.signatures import AGGREGATE, WALK

MEAN, SEEN, COVARIANCE = range(3)
FARTHEST = 2.0
"""No step moves a score farther."""

_ROUNDS = 1000
_CLOSE = 1e-12
_SURE = 20.0
_MOST = 1e15
"""Information, times the variance before it, beside which rounding hides that variance."""


@declared(error_model="numpy")
def solve_in_place(system: Matrix, right: Matrix) -> None:
    """Replace right sides, shape (a, b), by the solution of a linear system, by elimination with pivots."""
    a = system.shape[0]
    for k in range(a):
        pivot = k
        for i in range(k + 1, a):
            if abs(system[i, k]) > abs(system[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, a):
                system[k, j], system[pivot, j] = system[pivot, j], system[k, j]
            for j in range(right.shape[1]):
                right[k, j], right[pivot, j] = right[pivot, j], right[k, j]
        for i in range(k + 1, a):
            factor = system[i, k] / system[k, k]
            if factor != 0.0:
                for j in range(k + 1, a):
                    system[i, j] -= factor * system[k, j]
                for j in range(right.shape[1]):
                    right[i, j] -= factor * right[k, j]
    for k in range(a - 1, -1, -1):
        for j in range(right.shape[1]):
            for i in range(k + 1, a):
                right[k, j] -= system[k, i] * right[i, j]
            right[k, j] /= system[k, k]


@declared()
def plus_identity(one: Matrix, two: Matrix) -> Matrix:
    """Return I + one two."""
    a = one.shape[0]
    found = np.eye(a)
    for i in range(a):
        for k in range(a):
            value = one[i, k]
            if value != 0.0:
                for j in range(a):
                    found[i, j] += value * two[k, j]
    return found


@declared(WALK, error_model="numpy")
def dynamic_bradley_terry_times(
    first: Index,
    second: Index,
    outcome: Outcomes,
    weights: Vector,
    starts: Rows,
    state: Matrix,
    params: Vector,
    work: Vector,
    margins: Vector,
) -> None:
    """Predict and learn all times as `DynamicBradleyTerry.learn` does; ``params = [drift, variance]``."""
    m = state.shape[0]
    place = np.full(m, -1)
    items = np.zeros(m, np.int64)
    for t in range(len(starts) - 1):
        for i in range(m):
            state[i, COVARIANCE + i] += params[0] * state[i, SEEN]
        a = 0
        for e in range(starts[t], starts[t + 1]):
            i, j = first[e], second[e]
            spread = state[i, COVARIANCE + i] + state[j, COVARIANCE + j] - 2 * state[i, COVARIANCE + j]
            margins[e] = (state[i, MEAN] - state[j, MEAN]) / math.sqrt(1 + math.pi * spread / 8)
            for side in range(2):
                item = i if side == 0 else j
                if place[item] < 0:
                    place[item], items[a] = a, item
                    a += 1
        among = np.zeros((a, a))
        for i in range(a):
            for j in range(a):
                among[i, j] = state[items[i], COVARIANCE + items[j]]
        moved, laplacian, gradient, before = np.zeros(a), np.zeros((a, a)), np.zeros(a), np.zeros(a)
        most, hidden = FARTHEST, False
        for _ in range(_ROUNDS):
            laplacian[:], gradient[:] = 0.0, 0.0
            for e in range(starts[t], starts[t + 1]):
                i, j = place[first[e]], place[second[e]]
                gap = state[first[e], MEAN] + moved[i] - state[second[e], MEAN] - moved[j]
                chance = 0.5 + 0.5 * math.tanh(0.5 * gap)
                slope = weights[e] * (0.5 + 0.5 * outcome[e] - chance)
                curvature = weights[e] * chance * (1 - chance)
                if abs(gap) > _SURE and outcome[e] * gap > 0.0:
                    # 1 - chance has lost its digits.
                    surprise = 1 / (1 + math.exp(abs(gap)))
                    slope = math.copysign(weights[e] * surprise, gap)
                    curvature = weights[e] * surprise * (1 - surprise)
                gradient[i] += slope
                gradient[j] -= slope
                laplacian[i, i] += curvature
                laplacian[j, j] += curvature
                laplacian[i, j] -= curvature
                laplacian[j, i] -= curvature
            step = np.zeros((a, 1))
            for i in range(a):
                hidden = hidden or among[i, i] * laplacian[i, i] > _MOST
                step[i, 0] = -moved[i]
                for j in range(a):
                    step[i, 0] += among[i, j] * gradient[j]
            solve_in_place(plus_identity(among, laplacian), step)
            largest, farthest, along = 0.0, 1.0, 0.0
            for i in range(a):
                largest = max(largest, abs(step[i, 0]))
                along += step[i, 0] * before[i]
            if along < 0.0:
                most /= 2
            length = min(1.0, most / max(largest, 1e-300))
            for i in range(a):
                before[i] = length * step[i, 0]
                moved[i] += before[i]
                farthest = max(farthest, abs(moved[i]))
            if min(largest, most) <= _CLOSE * farthest:
                break
        else:
            hidden = True
        if hidden:
            state[:, MEAN] = np.nan  # no mode was found: scores raise an error, as they are not finite
        gained = laplacian.copy()
        solve_in_place(plus_identity(laplacian, among), gained)
        columns = np.zeros((a, m))
        for k in range(a):
            for i in range(m):
                columns[k, i] = state[i, COVARIANCE + items[k]]
        through = np.zeros((a, m))
        for k in range(a):
            for n in range(a):
                value = gained[k, n]
                if value != 0.0:
                    for i in range(m):
                        through[k, i] += value * columns[n, i]
        for i in range(m):
            for k in range(a):
                value = columns[k, i]
                if value != 0.0:
                    state[i, MEAN] += value * gradient[k]
                    for j in range(m):
                        state[i, COVARIANCE + j] -= value * through[k, j]
        for k in range(a):
            state[items[k], SEEN] = 1.0
            place[items[k]] = -1


@declared(AGGREGATE)
def dynamic_bradley_terry(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the scores after all judgments, one after the other; ``params = [drift, variance]``."""
    n = len(winners)
    ones = np.ones(n, np.int8)
    starts = run_starts(winners, losers, ones)
    state = np.zeros((m, m + COVARIANCE))
    for i in range(m):
        state[i, COVARIANCE + i] = params[1]
    dynamic_bradley_terry_times(winners, losers, ones, weights, starts, state, params, work, np.zeros(n))
    out[:] = state[:, MEAN]
