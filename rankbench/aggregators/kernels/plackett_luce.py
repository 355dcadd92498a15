"""Kernels maximize the ridge-penalized Plackett-Luce likelihood by an inexact Newton method.

Every pass goes over the rows of the ballots once, O(rows), and holds nothing of size m x m.
With e_l = exp(s_l), a place of d tied items with mass S in front of a rest of mass R is d
stages: in stage r the masses are f_r S and R, where f_r = 1 - r / d. All that passes need is
each place's share of the rest, rho = R / (R + S), and each item's share of its place, g: they are
computed without overflow for any scores. The last place has no rest, rho = 0, and d - 1
stages, or none if its items are unordered.

References
----------
.. [EW94] S. C. Eisenstat and H. F. Walker. Globally convergent inexact Newton methods.
   SIAM Journal on Optimization 4(2), 1994.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from rankbench.aggregators.kernels.likelihood import centered
from rankbench.kernels.declared import Index, ReadIndex, ReadVector, Rows, Vector, declared

_TOLERANCE = 1e-12
_ROUNDING = 1e-14
_CLOSE, _NEAR = 1e-8, 1e-5
_MAX_STEPS = 1000


BallotArrays: TypeAlias = tuple[Rows, Index, Index, Vector, int]
"""Starts, items, places and weights of one query's `Orders`; 1 if a ballot's last items are tied, or 0."""


@declared()
def _shares(ballots: BallotArrays, scores: Vector, rho: Vector, g: Vector) -> None:
    """Write rho, in the first row of each place, and g, in every row."""
    starts, items, places, _, _ = ballots
    for b in range(len(starts) - 1):
        rest = -math.inf
        end = starts[b + 1]
        while end > starts[b]:
            top = scores[items[end - 1]]
            first = end - 1
            while first > starts[b] and places[first - 1] == places[end - 1]:
                first -= 1
                top = max(top, scores[items[first]])
            mass = 0.0
            for row in range(first, end):
                g[row] = math.exp(scores[items[row]] - top)
                mass += g[row]
            for row in range(first, end):
                g[row] /= mass
            here = top + math.log(mass)
            # exp may overflow to inf: rho = 0 is then right.
            rho[first] = 0.0 if end == starts[b + 1] else 1.0 / (1.0 + math.exp(here - rest))
            high, low = max(here, rest), min(here, rest)
            rest = high + math.log1p(math.exp(low - high))
            end = first


@declared()
def _gradient(
    ballots: BallotArrays, ridge: float, scores: Vector, rho: Vector, g: Vector, gradient: Vector, scale: Vector
) -> float:
    """Write shares, gradient (m,) and a bound of the Hessian's diagonal; return the squared norm."""
    _shares(ballots, scores, rho, g)
    starts, items, places, weights, tied_last = ballots
    m = len(scores)
    for i in range(m):
        gradient[i] = ridge * scores[i]
        scale[i] = ridge
    for b in range(len(starts) - 1):
        end = starts[b + 1]
        # Sum over the stages so far of 1 / mass, in units of the coming place's whole mass.
        past = 0.0
        first = starts[b]
        while first < end:
            last = first + 1
            while last < end and places[last] == places[first]:
                last += 1
            d = last - first
            stages = d if last < end else (d - 1) * tied_last
            mine, after, mass = past, past, 1.0
            for r in range(stages):
                f = 1.0 - r / d
                mass = rho[first] + f * (1.0 - rho[first])
                mine += f / mass
                after += 1.0 / mass
            for row in range(first, last):
                expected = weights[b] * g[row] * (1.0 - rho[first]) * mine
                gradient[items[row]] += expected - weights[b] * stages / d
                scale[items[row]] += expected
            past = after * rho[first]
            first = last
    norm = 0.0
    for i in range(m):
        norm += gradient[i] * gradient[i]
    return norm


@declared()
def _product(
    ballots: BallotArrays, ridge: float, rho: Vector, g: Vector, means: Vector, v: Vector, out: Vector
) -> None:
    """Write the Hessian's product with v to `out`; `means` is scratch memory, one a row."""
    starts, items, places, weights, tied_last = ballots
    for i in range(len(v)):
        out[i] = ridge * v[i]
    for b in range(len(starts) - 1):
        # Mean of v over what follows each place, in its first row; over the place, in `here`.
        rest = 0.0
        end = starts[b + 1]
        while end > starts[b]:
            first = end - 1
            while first > starts[b] and places[first - 1] == places[end - 1]:
                first -= 1
            here = 0.0
            for row in range(first, end):
                here += g[row] * v[items[row]]
            means[first] = rest
            rest = rho[first] * rest + (1.0 - rho[first]) * here
            end = first
        end = starts[b + 1]
        past, past_v = 0.0, 0.0
        first = starts[b]
        while first < end:
            last = first + 1
            while last < end and places[last] == places[first]:
                last += 1
            d = last - first
            stages = d if last < end else (d - 1) * tied_last
            here = 0.0
            for row in range(first, last):
                here += g[row] * v[items[row]]
            mine, mine_v, after, after_v = past, past_v, past, past_v
            for r in range(stages):
                f = 1.0 - r / d
                inside = f * (1.0 - rho[first])
                mass = rho[first] + inside
                mean = (rho[first] * means[first] + inside * here) / mass
                mine += f / mass
                mine_v += f / mass * mean
                after += 1.0 / mass
                after_v += mean / mass
            for row in range(first, last):
                out[items[row]] += weights[b] * g[row] * (1.0 - rho[first]) * (mine * v[items[row]] - mine_v)
            past, past_v = after * rho[first], after_v * rho[first]
            first = last


@declared()
def plackett_luce(ballots: BallotArrays, ridge: float, scale: ReadIndex, sizes: ReadVector, out: Vector) -> bool:
    """Write the penalized maximum-likelihood scores to `out`, shape (m,), and return whether they converged.

    The gradient's norm falls to 1e-12 (relative to the first one where that is smaller), or to where rounding keeps
    it, and on until the next step changes no score by more than 1e-8 beside the largest one, or 1e-5 where rounding
    keeps it: a small gradient alone says little where a small ridge is all that bends.

    Parameters
    ----------
    ballots : BallotArrays
    ridge : float
        Positive.
    scale, sizes : ndarray
        Connected component of each item, and number of items of each. Gradients and steps sum to zero on each but for
        rounding, which is taken out: along it only the ridge holds.
    out : ndarray of float64, shape (m,)
    """
    _, items, _, weights, _ = ballots
    m, rows = len(out), len(items)
    rho, g, means = np.empty(rows), np.empty(rows), np.empty(rows)
    gradient, bend, trial = np.empty(m), np.empty(m), np.empty(m)
    step, r, p, q = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    out[:] = 0.0
    norm = _gradient(ballots, ridge, out, rho, g, gradient, bend)
    centered(gradient, scale, sizes)
    first = math.sqrt(norm)
    enough = max(_TOLERANCE * min(1.0, first), _ROUNDING * weights.sum())
    for _ in range(_MAX_STEPS):
        before = math.sqrt(norm)
        if before == 0.0:
            return True
        # Conjugate gradients: loosely far away and ever more tightly near by.
        target = max(min(0.1, before / first) * before, min(0.1 * enough, 0.01 * before))
        step[:] = 0.0
        r[:] = gradient
        p[:] = r / bend
        size = (r * p).sum()
        for _ in range(10 * m):
            if math.sqrt((r * r).sum()) <= target:
                break
            _product(ballots, ridge, rho, g, means, p, q)
            curvature = (p * q).sum()
            if not curvature > 0.0:
                break
            length = size / curvature
            step += length * p
            r -= length * q
            size_next = (r * r / bend).sum()
            p[:] = r / bend + size_next / size * p
            size = size_next
        centered(step, scale, sizes)
        change, largest = 0.0, 1.0
        for i in range(m):
            change, largest = max(change, abs(step[i])), max(largest, abs(out[i]))
        if before <= enough and change <= _CLOSE * largest:
            return True
        # Backtracking on the gradient's norm [EW94]_ needs no value of the objective.
        length = 1.0
        while length > 1e-10:
            trial[:] = out - length * step
            norm = _gradient(ballots, ridge, trial, rho, g, gradient, bend)
            centered(gradient, scale, sizes)
            if math.sqrt(norm) <= (1.0 - 1e-4 * length) * before:
                break
            length *= 0.5
        else:
            return change <= _NEAR * largest
        out[:] = trial
    return False
