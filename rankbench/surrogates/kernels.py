"""Kernels compute surrogates' values, gradients and weights."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.core.gains import TINY
from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Vector, declared, looped
from rankbench.kernels.gains import all_finite, gain_at, gains_and_ideal, largest_size, padding, satisfied
from rankbench.kernels.signatures import GRADIENT, TARGET, WEIGH
from rankbench.surrogates.phi import PhiFormula

settle_runtime()


@declared(TARGET)
def softmax(scores: Vector, params: Vector, work: Vector, target: Vector) -> None:
    """Write the softmax of the scores."""
    top = scores.max()
    total = 0.0
    for i in range(scores.shape[0]):
        target[i] = math.exp(scores[i] - top)
        total += target[i]
    for i in range(scores.shape[0]):
        target[i] /= total


@declared(GRADIENT)
def cross_entropy(alpha: Vector, target: Vector, params: Vector, gradient: Vector) -> float:
    """Return ``sum_j w_j (log sum_l e^alpha_l - alpha_j)`` and write its gradient."""
    m = alpha.shape[0]
    top = alpha[0]
    for i in range(1, m):
        top = max(top, alpha[i])
    total, mass, along = 0.0, 0.0, 0.0
    for i in range(m):
        gradient[i] = math.exp(alpha[i] - top)
        mass += gradient[i]
        total += target[i]
        along += target[i] * (alpha[i] - top)
    for i in range(m):
        gradient[i] = total * gradient[i] / mass - target[i]
    return total * math.log(mass) - along


@declared(GRADIENT)
def least_squares(alpha: Vector, target: Vector, params: Vector, gradient: Vector) -> float:
    """Return ``|alpha - target|^2 / (2 m)`` and write its gradient."""
    m = alpha.shape[0]
    unit = 1.0 / m
    # Four partial sums: one alone would wait for its own addition every time.
    a = b = c = d = 0.0
    fours = m - m % 4
    for i in range(0, fours, 4):
        r0, r1 = alpha[i] - target[i], alpha[i + 1] - target[i + 1]
        r2, r3 = alpha[i + 2] - target[i + 2], alpha[i + 3] - target[i + 3]
        gradient[i], gradient[i + 1] = r0 * unit, r1 * unit
        gradient[i + 2], gradient[i + 3] = r2 * unit, r3 * unit
        a += r0 * r0
        b += r1 * r1
        c += r2 * r2
        d += r3 * r3
    for i in range(fours, m):
        r = alpha[i] - target[i]
        gradient[i] = r * unit
        a += r * r
    return float(0.5 * unit * ((a + b) + (c + d)))


@declared()
def _signed(base: float, power: float) -> float:
    """Return ``sign(base) |base|^power``."""
    return float(abs(base) ** power if base >= 0.0 else -(abs(base) ** power))


@declared(TARGET)
def linear_target(scores: Vector, params: Vector, work: Vector, target: Vector) -> None:
    """Write net weights over nu; `params` is nu."""
    for i in range(scores.shape[0]):
        target[i] = scores[i] / params[0]


@declared(GRADIENT)
def linear(alpha: Vector, target: Vector, params: Vector, gradient: Vector) -> float:
    """Return the mean divergence of r between alpha and the minimizer and write its gradient; `params` is p."""
    m, p = alpha.shape[0], params[0]
    value = 0.0
    for i in range(m):
        a, slope = alpha[i], target[i]
        best = _signed(slope, 1.0 / (p - 1.0))
        value += (abs(a) ** p - abs(best) ** p) / p - slope * (a - best)
        gradient[i] = (_signed(a, p - 1.0) - slope) / m
    return float(value / m)


def work(m: int) -> int:
    """Return the scratch that `target` needs for m items."""
    return 3 * int(padding(m))


@declared(TARGET)
def normalized_target(scores: Vector, params: Vector, work: Vector, target: Vector) -> None:
    """Write ``G(s_j) / Z(s)``, or zeros where Z(s) is not above zero or s = 0; nan if s is not finite."""
    if not all_finite(scores):
        target[:] = np.nan
        return
    ideal = gains_and_ideal(scores, params, target, work)
    if ideal > 0.0 and ideal > TINY * largest_size(target):
        for i in range(target.shape[0]):
            target[i] /= ideal
    else:
        for i in range(target.shape[0]):
            target[i] = 0.0
    work[: 3 * padding(scores.shape[0])] = 0.0


@declared(TARGET)
def raised_target(scores: Vector, params: Vector, work: Vector, out: Vector) -> None:
    """Write what `target` does, less its minimum where that is negative."""
    normalized_target(scores, params, work, out)
    least = 0.0
    for i in range(out.shape[0]):
        least = min(least, out[i])
    for i in range(out.shape[0]):
        out[i] -= least


@declared(TARGET)
def plain_target(scores: Vector, params: Vector, work: Vector, target: Vector) -> None:
    """Write ``G(s_j)``."""
    for i in range(scores.shape[0]):
        target[i] = gain_at(scores[i], 0.0, 1.0, int(params[0]))


@declared(TARGET)
def satisfaction_target(scores: Vector, params: Vector, work: Vector, target: Vector) -> None:
    """Write G(s_j); `params` are its code and its largest grade."""
    for i in range(scores.shape[0]):
        target[i] = satisfied(scores[i], params[0], params[1])


@cache
def order_preserving(formula: PhiFormula) -> Any:
    """Return the kernel (`GRADIENT`) of ``sum_j w_j sum_l phi(alpha_j - alpha_l)``."""
    return looped(_pushes, GRADIENT, phi=formula.phi, dphi=formula.dphi)


def _pushes(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    m = alpha.shape[0]
    value = 0.0
    gradient[:] = 0.0
    for j in range(m):
        weight = target[j]
        if weight == 0.0:
            continue
        row, pull = 0.0, 0.0
        for i in range(m):
            t = alpha[j] - alpha[i]
            row += phi(t)  # type: ignore[name-defined]  # noqa: F821
            slope = dphi(t)  # type: ignore[name-defined]  # noqa: F821
            pull += slope
            gradient[i] -= weight * slope
        value += weight * row
        gradient[j] += weight * pull
    return value


@declared(WEIGH)
def weigh(weights: Vector, params: Vector, offsets: Vector) -> None:
    """Write factors and offsets; `params` are whether h(Y) is a margin, its power, its scale, whether it is log1p."""
    margin, power, scale, logarithm = params[0] != 0.0, params[1], params[2], params[3] != 0.0
    for e in range(weights.shape[0]):
        there = weights[e] > 0.0
        h = scale * (np.log1p(weights[e]) if logarithm else weights[e] ** power) if there else 0.0
        weights[e] = (1.0 if there else 0.0) if margin else h
        offsets[e] = h if margin else 0.0
