"""The order of a surrogate's minimizers under one law is decided, with numbers that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.floats import FloatRisk, float_risk, jets, on_cone, somewhere
from rankbench.certificates.piecewise import exact_least, least_on_cone, stationary
from rankbench.certificates.true_risk import ItemOrder
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate

PointVerdict: TypeAlias = Literal["VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT_AT_MU", "INCONCLUSIVE"]

TILTS = (1e-9, 1e-7, 1e-5, 1e-3)
"""Slopes, relative to the sum of factors, left along the edges of a cone; the first that can be rounded is taken."""

DIGITS = 12
"""Decimals of slopes."""

SAFE = 1e-8
"""Margin for rounding in claimed numbers."""


class Bound(NamedTuple):
    """A lower bound of the risk on the closed cone of an order, or of all scores.

    Attributes
    ----------
    value : Fraction
        A number that the risk is not below.
    written : dict
        The bound with its proof, as a certificate has it.
    """

    value: Fraction
    written: dict[str, Any]


def lines_below(
    order: str, slopes: Sequence[Sequence[Fraction]], value: Fraction, shares: Sequence[Fraction] = ()
) -> Bound:
    """Return the bound that a line below every term proves.

    Parameters
    ----------
    order : str
        As in ``1>2>3``; ``all`` for all scores.
    slopes : sequence of sequence of Fraction
        Of each term the slope of its line and, for expressions, two points around its tangent point.
    value : Fraction
    shares : sequence of Fraction
        The slope of ``log sum e^alpha``; empty if there is none.
    """
    written: dict[str, Any] = {"order": order, "slopes": [[str(u) for u in own] for own in slopes]}
    if shares:
        written["shares"] = [str(p) for p in shares]
    return Bound(value, {**written, "value": str(value)})


class PointFinding(NamedTuple):
    """A verdict for one law.

    Attributes
    ----------
    verdict : PointVerdict
    margin : float
        By how much the least risk of the wrong orders is below that of the right ones.
    alpha : tuple of Fraction
        Scores of the order with the least risk.
    alpha_value : Fraction
        A number that their risk is not above.
    bounds : sequence of Bound
        Of every cone of the other side.
    gap : Fraction
    """

    verdict: PointVerdict
    margin: float = 0.0
    alpha: tuple[Fraction, ...] = ()
    alpha_value: Fraction = Fraction(0)
    bounds: Sequence[Bound] = ()
    gap: Fraction = Fraction(0)


def order_name(order: Sequence[int]) -> str:
    """Return ``1>2>3``, items counted from 1."""
    return ">".join(str(i + 1) for i in order)


def decide_at(risk: ExactSurrogate, right: list[ItemOrder], wrong: list[ItemOrder]) -> PointFinding:
    """Decide whether minimizing the risk can end in a wrong order, and prove it.

    Parameters
    ----------
    risk : ExactSurrogate
        Terms side by side by phi, as `rankbench.certificates.true_risk.merged` leaves them.
    right, wrong : list of ItemOrder
        Orders of least true risk, and the others; neither is empty.
    """
    if risk.terms and all(term.phi.piecewise_linear for term in risk.terms) and not risk.entropy:
        return _decide_linear(risk, right, wrong)
    floats = float_risk(risk)
    sides = [
        [(floats(alpha)[0], order, alpha) for order in side for alpha in [on_cone(floats, order)]]
        for side in (right, wrong)
    ]
    best = [min(side, key=lambda found: found[0]) for side in sides]
    margin = best[0][0] - best[1][0]
    scale = max(1e-3, abs(best[0][0]))
    if abs(margin) <= 3 * SAFE * scale:
        exact = all(term.phi.exact for term in risk.terms) and not risk.entropy
        least = stationary(risk, somewhere(floats, len(risk.linear))) if exact else None
        return _equality(risk, least, wrong, margin)
    wins, loses = (1, 0) if margin > 0 else (0, 1)
    verdict: PointVerdict = "VIOLATION" if margin > 0 else "CONSISTENT_AT_MU"
    bounds = []
    for _, order, alpha in sides[loses]:
        bound = _bound(risk, floats, order, alpha)
        if bound is None:
            return PointFinding("INCONCLUSIVE", margin)
        bounds.append(bound)
    lowest = min(float(bound.value) for bound in bounds)
    for digits in range(1, 10):
        point = rounded_in_cone(best[wins][2], best[wins][1], digits)
        value = floats(np.array([float(a) for a in point]))[0] + SAFE * scale
        if lowest - value > (0.9 if digits < 5 else 0.0) * abs(margin) and lowest > value:
            above = _up(value)
            gap = min(bound.value for bound in bounds) - above
            if gap > 0:
                return PointFinding(verdict, margin, point, above, bounds, gap)
    return PointFinding("INCONCLUSIVE", margin)


def _decide_linear(risk: ExactSurrogate, right: list[ItemOrder], wrong: list[ItemOrder]) -> PointFinding:
    """Decide a piecewise linear risk by linear programs in exact arithmetic."""
    sides = [
        [(least, order) for order in side if (least := least_on_cone(risk, order)) is not None]
        for side in (right, wrong)
    ]
    if [len(side) for side in sides] != [len(right), len(wrong)]:
        return PointFinding("INCONCLUSIVE")
    best = [min((least for least, _ in side), key=lambda least: least.value) for side in sides]
    margin = best[0].value - best[1].value
    if margin == 0:
        return _equality(risk, best[1].alpha, wrong, 0.0)
    wins, loses = (1, 0) if margin > 0 else (0, 1)
    bounds = [
        lines_below(order_name(order), [(u,) for u in least.slopes], least.value) for least, order in sides[loses]
    ]
    verdict: PointVerdict = "VIOLATION" if margin > 0 else "CONSISTENT_AT_MU"
    return PointFinding(verdict, float(margin), best[wins].alpha, best[wins].value, bounds, abs(margin))


def _equality(
    risk: ExactSurrogate, alpha: tuple[Fraction, ...] | None, wrong: list[ItemOrder], margin: float
) -> PointFinding:
    """Prove that wrong scores have the least risk of all, exactly."""
    if alpha and any(all(alpha[a] >= alpha[b] for a, b in pairwise(order)) for order in wrong):
        slopes = exact_least(risk, alpha)
        if slopes is not None:
            value = exact_value(risk, alpha)
            bound = lines_below("all", [(u,) for u in slopes], value)
            return PointFinding("VIOLATION_BOUNDARY", 0.0, alpha, value, [bound])
    return PointFinding("INCONCLUSIVE", margin)


def exact_value(risk: ExactSurrogate, alpha: Sequence[Fraction]) -> Fraction:
    """Return the risk of exact scores, of phis with pieces."""
    total = sum((b * a for b, a in zip(risk.linear, alpha, strict=True)), Fraction(0))
    for term in risk.terms:
        t = sum((c * a for c, a in zip(term.coefficients, alpha, strict=True)), Fraction(0)) - term.offset
        for end, coefficients in term.phi.pieces:
            if end is None or t <= end:
                total += term.factor * sum((c * t**power for power, c in enumerate(coefficients)), Fraction(0))
                break
    return total


def _up(value: float) -> Fraction:
    return Fraction(int(np.ceil(value * 1e10)) + 1, 10**10)


def _down(value: float) -> Fraction:
    return Fraction(int(np.floor(value * 1e10)) - 1, 10**10)


def rounded_in_cone(alpha: NDArray[np.float64], order: ItemOrder, digits: int) -> tuple[Fraction, ...]:
    """Return scores with few decimals in the closed cone of an order."""
    scale = 10**digits
    found = [Fraction(round(float(a) * scale), scale) for a in alpha]
    for above, below in pairwise(order):
        found[below] = min(found[below], found[above])
    return tuple(found)


def _bound(risk: ExactSurrogate, floats: FloatRisk, order: ItemOrder, alpha: NDArray[np.float64]) -> Bound | None:
    """Round the slopes at the least point of a cone to rational numbers that prove a bound."""
    total = float(floats.factors.sum()) + floats.entropy + 1e-12
    for tilt in TILTS:
        bound = _rounded_bound(risk, floats, order, on_cone(floats, order, tilt * total))
        if bound is not None:
            return bound
    return None


def _rounded_bound(
    risk: ExactSurrogate, floats: FloatRisk, order: ItemOrder, alpha: NDArray[np.float64]
) -> Bound | None:
    margins = floats.forms @ alpha - floats.offsets
    _, d, _ = floats.terms(alpha)
    slopes = [_round(float(u)) for u in d]
    for at, term in enumerate(risk.terms):
        slopes[at] = _within(term.phi, slopes[at])
    vector = list(risk.linear)
    for term, slope in zip(risk.terms, slopes, strict=True):
        vector = [v + term.factor * slope * c for v, c in zip(vector, term.coefficients, strict=True)]
    shares: tuple[Fraction, ...] = ()
    if risk.entropy:
        raised = np.exp(alpha - alpha.max())
        chances = [_round(float(p)) for p in raised / raised.sum()]
        # Of the first item: where the last ones have none, the sums over all others stay exact.
        chances[order[0]] += 1 - sum(chances, Fraction(0))
        if min(chances) < 0:
            return None
        shares = tuple(chances)
        vector = [v + risk.entropy * p for v, p in zip(vector, shares, strict=True)]
    over = sum(vector, Fraction(0))
    if over:
        # Of the last item: no sum over the first ones changes.
        last = order[-1]
        units = [
            at
            for at, term in enumerate(risk.terms)
            if term.coefficients[last] == 1 and sum(map(abs, term.coefficients)) == 1
        ]
        if not units:
            return None
        at = max(units, key=lambda i: risk.terms[i].factor)
        slopes[at] -= over / risk.terms[at].factor
        vector[last] -= over
    passed = Fraction(0)
    for item in order[:-1]:
        passed += vector[item]
        if passed < 0:
            return None
    written, value = [], 0.0
    for term, slope, t in zip(risk.terms, slopes, margins, strict=True):
        line = _line(term.phi, slope, float(t))
        if line is None:
            return None
        written.append(line[0])
        value += float(term.factor) * (line[1] - float(slope) * float(term.offset))
    if shares:
        p = np.array([float(share) for share in shares if share])
        value -= float(risk.entropy) * float((p * np.log(p)).sum())
    return lines_below(order_name(order), written, _down(value - SAFE * max(1e-3, abs(value)) / 4), shares)


def _round(value: float) -> Fraction:
    """Return a slope with 12 digits after the point, fewer of large ones."""
    digits = DIGITS - max(0, int(np.log10(max(abs(value), 1.0))))
    return Fraction(round(value * 10**digits), 10**digits)


def _within(phi: ConvexPhi, slope: Fraction) -> Fraction:
    """Return a slope that phi has: between the slopes of its first and its last piece, if these are linear."""
    if not phi.pieces:
        return Fraction(0) if phi.infimum is not None and abs(slope) < Fraction(1, 10**10) else slope
    first, last = phi.pieces[0][1], phi.pieces[-1][1]
    if not any(first[2:]) and slope < (least := first[1] if len(first) > 1 else Fraction(0)):
        return least
    if not any(last[2:]) and slope > (most := last[1] if len(last) > 1 else Fraction(0)):
        return most
    return slope


def _line(phi: ConvexPhi, slope: Fraction, t: float) -> tuple[tuple[Fraction, ...], float] | None:
    """Return a slope in a certificate's form, and about the lower bound of ``phi(t) - slope t``."""
    if phi.pieces:
        return (slope,), _least_of_pieces(phi, float(slope))
    if not slope and phi.infimum is not None:
        return (slope,), float(phi.infimum)
    if not slope:
        return None
    middle = Fraction(round(t * 10**9), 10**9)
    for width in (10**-7, 10**-6, 10**-5, 10**-4, 10**-3, 10**-2, 10**-1, 1.0):
        half = Fraction(round(width * 10**9), 10**9)
        v, d, _ = jets(phi, np.array([float(middle - half), float(middle + half)]))
        room = 1e-3 * (d[1] - d[0])
        if d[0] + room < float(slope) < d[1] - room and d[1] - d[0] > 1e-13 * max(1.0, abs(d[0])):
            share = (float(slope) - d[0]) / (d[1] - d[0])
            ends = v - d * np.array([float(middle - half), float(middle + half)])
            return (slope, middle - half, middle + half), float(ends[0] + share * (ends[1] - ends[0]))
    return None


def _least_of_pieces(phi: ConvexPhi, slope: float) -> float:
    found, start = [], -np.inf
    for end, coefficients in phi.pieces:
        a, b, c = (float(x) for x in (*coefficients, 0, 0, 0)[:3])
        stop = np.inf if end is None else float(end)
        points = [p for p in (start, stop) if np.isfinite(p)]
        if c > 0:
            points.append(min(max((slope - b) / (2 * c), start), stop))
        found += [a + (b - slope) * p + c * p * p for p in points or [0.0]]
        start = stop
    return min(found)
