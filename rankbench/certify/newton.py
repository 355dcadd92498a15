"""Minimizing a smooth convex risk on a cone, in double precision, to rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.certify.floats import FloatRisk

__all__ = ["FAR", "cone_basis", "on_cone", "somewhere"]

Vector = NDArray[np.float64]

FAR = 60.0
"""Largest difference of neighbors: where an infimum is not attained, phi is next to it there."""

STEPS = 200
"""Of Newton's method."""


def cone_basis(order: Sequence[int]) -> Vector:
    """Return the columns 1 and ``1[first k]``, k = 1..m-1: with coefficients >= 0 of all but the first, the cone."""
    m = len(order)
    basis = np.zeros((m, m))
    basis[:, 0] = 1.0
    for k in range(1, m):
        basis[list(order[:k]), k] = 1.0
    return basis


def on_cone(risk: FloatRisk, order: Sequence[int], tilt: float = 0.0) -> Vector:
    """Return where ``risk(alpha) - tilt sum_k z_k`` is least on the cone of an order, shape (m,).

    The tilt leaves a slope of at least `tilt` along every edge of the cone, where the infimum is
    attained: room for rounding it to rational numbers.
    """
    m = len(order)
    basis = cone_basis(order)
    low = np.array([-FAR if not risk.shift_invariant else 0.0, *[0.0] * (m - 1)])
    high = np.array([FAR if not risk.shift_invariant else 0.0, *[FAR] * (m - 1)])
    start = np.array([0.0, *[0.5] * (m - 1)])
    slope = np.array([0.0, *[tilt] * (m - 1)])
    found: Vector = basis @ _minimize(risk, basis, start, low, high, slope)
    return found


def somewhere(risk: FloatRisk, m: int) -> Vector:
    """Return where the risk is least, shape (m,); the last score is 0 where only differences matter."""
    high = np.full(m, FAR)
    if risk.shift_invariant:
        high[-1] = 0.0
    return _minimize(risk, np.eye(m), np.zeros(m), -high, high, np.zeros(m))


def _minimize(risk: FloatRisk, basis: Vector, z: Vector, low: Vector, high: Vector, tilt: Vector) -> Vector:
    """Projected Newton steps with backtracking (Bertsekas 1982)."""
    value, gradient, hessian = risk(basis @ z)
    value -= float(tilt @ z)
    for _ in range(STEPS):
        slope = basis.T @ gradient - tilt
        free = ~((z <= low) & (slope >= 0)) & ~((z >= high) & (slope <= 0))
        if not free.any() or np.abs(slope[free]).max() < 1e-14 * max(1.0, np.abs(value)):
            break
        curved = (basis.T @ hessian @ basis)[np.ix_(free, free)]
        ridge = 1e-13 * max(float(np.trace(curved)), 1e-12)
        step = np.zeros_like(z)
        step[free] = np.linalg.solve(curved + ridge * np.eye(int(free.sum())), -slope[free])
        downhill = np.where(free, -slope, 0.0)
        # A Newton step that is cut off at the bounds need not go down; the gradient's does.
        found = None
        for direction in (step, downhill):
            longest = float(np.abs(direction).max())
            found = _searched(risk, basis, tilt, z, direction * min(1.0, 8.0 / longest), (low, high), value, slope)
            if found is not None:
                break
        if found is None:
            break
        z = found
        value, gradient, hessian = risk(basis @ z)
        value -= float(tilt @ z)
    return z


def _searched(
    risk: FloatRisk,
    basis: Vector,
    tilt: Vector,
    z: Vector,
    direction: Vector,
    bounds: tuple[Vector, Vector],
    value: float,
    slope: Vector,
) -> Vector | None:
    """Return the first point that goes down enough, of steps of half the length each; None if none does."""
    size = 1.0
    while size > 1e-12:
        trial: Vector = np.clip(z + size * direction, *bounds)
        down = float(slope @ (z - trial))
        if down > 0:
            there = risk(basis @ trial)[0] - float(tilt @ trial)
            if there < value - 1e-4 * down or (there <= value and size == 1.0):
                return trial if (trial != z).any() else None
        size *= 0.5
    return None
