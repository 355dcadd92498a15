"""The least surrogate risk among scores that order items in a given way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.theory.risks import RiskFunction

__all__ = ["FAR", "least_risk_on_cone", "representative"]

FAR = 50.0
"""Largest difference of neighbors: where an infimum is not attained, phi is next to it there."""

CUTS = 200
"""Planes that `_cutting_planes` may add."""


def representative(order: Sequence[int]) -> NDArray[np.float64]:
    """Return scores that order items so, shape (m,): m for the first item, down to 1."""
    scores = np.empty(len(order))
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores


def least_risk_on_cone(risk: RiskFunction, order: Sequence[int], smooth: bool, shift_invariant: bool) -> float:
    """Return the least risk over the closed cone ``alpha_order[0] >= alpha_order[1] >= ...``.

    By continuity that is the infimum over the open cone. The cone is parameterized by the
    differences of neighbors, in [0, `FAR`], and the last score, 0 where only differences
    matter. Smooth risks are minimized by L-BFGS-B, others by cutting planes, which end
    after finitely many steps for piecewise linear ones.

    Parameters
    ----------
    risk : RiskFunction
        Convex.
    order : sequence of int
        Items from 0, the best first.
    smooth, shift_invariant : bool
        What the surrogate declares.
    """
    m = len(order)
    # Column k: the items that are at least k + 1 places from the end; the first is all of them.
    basis = np.tri(m)[::-1][np.argsort(order)]
    bounds = [(-2 * FAR, 2 * FAR) if not shift_invariant else (0.0, 0.0), *[(0.0, FAR)] * (m - 1)]

    def moved(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = risk(basis @ z)
        return value, basis.T @ gradient

    start = np.concatenate([[0.0], np.full(m - 1, 0.5)])
    if not smooth:
        return _cutting_planes(moved, start, bounds)
    from scipy.optimize import minimize

    best = np.inf
    for _ in range(2):  # near the end the line search may fail on rounding: once more from there
        found = minimize(
            moved,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0.0, "gtol": 1e-11, "maxiter": 500},
        )
        best, start = min(best, float(found.fun)), found.x
    return best


def _cutting_planes(risk: RiskFunction, start: NDArray[np.float64], bounds: list[tuple[float, float]]) -> float:
    """Minimize the largest of tangent planes, cut at its minimizer, until it touches (Kelley 1960)."""
    from scipy.optimize import linprog

    d = len(start)
    point, best = start, np.inf
    rows: list[NDArray[np.float64]] = []
    sides: list[float] = []
    for _ in range(CUTS):
        value, gradient = risk(point)
        best = min(best, value)
        rows.append(np.append(gradient, -1.0))
        sides.append(float(gradient @ point) - value)
        found = linprog(
            np.append(np.zeros(d), 1.0), A_ub=np.array(rows), b_ub=sides, bounds=[*bounds, (None, None)], method="highs"
        )
        if found.x is None or best - found.fun <= 1e-11 * max(1.0, abs(best)):
            break
        point = found.x[:d]
    return best
