"""Surrogates that give values and gradients alone get verdicts in double precision, labelled so."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.conditional_risks import RiskFunction, least_in_box
from rankbench.certificates.floats import FAR, cone_basis
from rankbench.certificates.pointwise import Bound, PointFinding, PointVerdict, order_name, rounded_in_cone
from rankbench.certificates.true_risk import ItemOrder

Vector = NDArray[np.float64]

LEAST_GAP = 2e-6
"""Margins below this are called neither way: gradients are rounded, and slopes up to 1e-6 taken for 0."""

SLACK = 5e-7
"""Slopes out of a cone that are taken for 0."""

CUTS = 60
"""Tangent planes of a bound, at most; those without weight are left out."""


TangentPlane: TypeAlias = tuple[tuple[Fraction, ...], Fraction, tuple[Fraction, ...]]
"""A tangent plane: where it touches, the value and the gradient there."""


def lowest(
    risk: RiskFunction, m: int, shift_invariant: bool, order: Sequence[int] | None = None, far: float = FAR
) -> Vector:
    """Return the minimizer of the risk, on the cone of an order or anywhere, up to `far`, shape (m,)."""
    basis, start, bounds = np.eye(m), np.zeros(m), [(-far, far)] * m
    if order is not None:
        basis, start = cone_basis(order), np.array([0.0, *[0.5] * (m - 1)])
        bounds = [(-far, far) if not shift_invariant else (0.0, 0.0), *[(0.0, far)] * (m - 1)]

    def moved(z: Vector) -> tuple[float, Vector]:
        value, gradient = risk(basis @ z)
        return value, basis.T @ gradient

    return np.asarray(basis @ least_in_box(moved, start, bounds)[1], dtype=np.float64)


def decide_numerically(
    risk: RiskFunction, m: int, shift_invariant: bool, right: list[ItemOrder], wrong: list[ItemOrder]
) -> PointFinding:
    """Decide as `rankbench.certificates.pointwise.decide_at` does, from values and gradients."""
    found = [[(*_on_cone(risk, m, shift_invariant, order), order) for order in side] for side in (right, wrong)]
    best = [min(side, key=lambda entry: entry[2]) for side in found]
    margin = best[0][2] - best[1][2]
    wins, loses = (1, 0) if margin > 0 else (0, 1)
    bounds = [bound for bound, *_ in found[loses] if bound is not None]
    if abs(margin) <= LEAST_GAP or len(bounds) < len(found[loses]):
        return PointFinding("INCONCLUSIVE", margin)
    _, point, _, order = best[wins]
    alpha = rounded_in_cone(point, order, 9)
    value = _rational(risk(np.array([float(a) for a in alpha]))[0]) + Fraction(1, 10**9)
    gap = min(bound.value for bound in bounds) - value - Fraction(1, 10**8)
    if gap <= Fraction(1, 10**6):
        return PointFinding("INCONCLUSIVE", margin)
    verdict: PointVerdict = "VIOLATION" if margin > 0 else "CONSISTENT_AT_MU"
    return PointFinding(verdict, margin, alpha, value, bounds, gap)


def _rational(value: float) -> Fraction:
    return Fraction(round(value * 10**12), 10**12)


def _on_cone(risk: RiskFunction, m: int, shift: bool, order: ItemOrder) -> tuple[Bound | None, Vector, float]:
    """Return a bound on a cone, the best point there and its value: one tangent plane, or some mixed."""
    alpha = lowest(risk, m, shift, order)
    value = risk(alpha)[0]
    cut = _cut(risk, alpha)
    if _inside(np.array([float(g) for g in cut[2]]), order):
        least = _constant([(1.0, cut)])
        if least > value - LEAST_GAP / 4:
            return _mixture(order, [(Fraction(1), cut)], least), alpha, value
    return _kelley(risk, m, shift, order, alpha)


def _cut(risk: RiskFunction, alpha: Vector) -> TangentPlane:
    point = tuple(Fraction(round(float(a) * 10**12), 10**12) for a in alpha)
    value, gradient = risk(np.array([float(p) for p in point]))
    exact = [Fraction(round(float(g) * 10**15), 10**15) for g in gradient]
    return point, Fraction(round(value * 10**15), 10**15), tuple(exact)


def _inside(gradient: Vector, order: ItemOrder) -> bool:
    sums = np.cumsum(gradient[list(order)])
    return bool((sums[:-1] >= -SLACK).all() and abs(sums[-1]) <= SLACK)


def _constant(cuts: list[tuple[float, TangentPlane]]) -> float:
    return float(
        sum(w * (float(v) - sum(float(g * p) for g, p in zip(gs, ps, strict=True))) for w, (ps, v, gs) in cuts)
    )


def _kelley(
    risk: RiskFunction, m: int, shift: bool, order: ItemOrder, start: Vector
) -> tuple[Bound | None, Vector, float]:
    """Minimize the largest of tangent planes, cut at its minimizer, until they meet; the program's duals mix them."""
    from scipy.optimize import linprog

    basis = cone_basis(order)
    bounds = [(-FAR, FAR) if not shift else (0.0, 0.0), *[(0.0, FAR)] * (m - 1), (None, None)]
    best, best_value, point = start, np.inf, start
    cuts = []
    mixed: Bound | None = None
    for _ in range(CUTS):
        cuts.append(_cut(risk, point))
        value = float(cuts[-1][1])
        if value < best_value:
            best, best_value = point, value
        rows = np.array([[*(basis.T @ np.array([float(g) for g in gs])), -1.0] for _, _, gs in cuts])
        right = [-_constant([(1.0, cut)]) for cut in cuts]
        found = linprog([*[0.0] * m, 1.0], A_ub=rows, b_ub=right, bounds=bounds, method="highs")
        if found.x is None:
            break
        weights = np.maximum(-found.ineqlin.marginals, 0.0)
        mixed = _mixed(weights, cuts, order) or mixed
        if best_value - found.fun <= LEAST_GAP / 8:
            break
        point = basis @ found.x[:m]
    return mixed, best, best_value


def _mixed(weights: Vector, cuts: list[TangentPlane], order: ItemOrder) -> Bound | None:
    kept = [
        (Fraction(round(float(w) * 10**12), 10**12), cut) for w, cut in zip(weights, cuts, strict=True) if w > 1e-11
    ]
    total = sum((w for w, _ in kept), Fraction(0))
    if not kept or total <= 0:
        return None
    kept = [(w / total, cut) for w, cut in kept]
    gradient = sum((float(w) * np.array([float(g) for g in cut[2]]) for w, cut in kept), np.zeros(len(order)))
    if not _inside(np.asarray(gradient), order):
        return None
    value = _constant([(float(w), cut) for w, cut in kept])
    return _mixture(order, kept, value)


def _mixture(order: ItemOrder, cuts: list[tuple[Fraction, TangentPlane]], value: float) -> Bound:
    """Return the bound that a mixture of tangent planes proves, which does not go down anywhere in a cone."""
    written = [
        {"weight": str(w), "point": [str(x) for x in p], "value": str(v), "gradient": [str(x) for x in g]}
        for w, (p, v, g) in cuts
    ]
    return Bound(_rational(value), {"order": order_name(order), "cuts": written})
