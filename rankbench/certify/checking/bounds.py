"""Values and lower bounds of the surrogate's risk: what the verdicts of one law rest on."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from rankbench.certify.checking.law import Levels, named
from rankbench.certify.checking.numbers import (
    Phi,
    Rejected,
    entropy,
    high,
    interval,
    low,
    rational,
    rationals,
    sized,
)
from rankbench.certify.checking.rules import TermSum

__all__ = ["Question", "check_bounds", "check_numerical", "check_point", "maximal"]

TOLERANCE = Fraction(1, 10**6)
"""Of numerical certificates: slopes that are below 0 by less are called 0, gaps below are none."""

MOST_WORK = 120_000
"""Operations on intervals, of all slopes together: some seconds."""


class Question(NamedTuple):
    """The surrogate's risk, and the weak orders that are right and wrong."""

    m: int
    phis: list[Phi]
    risk: TermSum
    right: list[Levels]
    wrong: list[Levels]


def _inside(alpha: list[Fraction], levels: Levels) -> bool:
    """Return whether scores are in the closed cone of a weak order."""
    values = [[alpha[i] for i in level] for level in levels]
    if any(len(set(level)) > 1 for level in values):
        return False
    return all(a[0] >= b[0] for a, b in pairwise(values))


def maximal(cells: list[Levels]) -> list[Levels]:
    """Return the weak orders whose closed cones are in no other one's: together they are the closure of all."""

    def covers(big: Levels, small: Levels) -> bool:
        place = {i: at for at, level in enumerate(small) for i in level}
        flat = [[place[i] for i in level] for level in big]
        return all(len(set(level)) == 1 for level in flat) and flat == sorted(flat)

    return [cell for cell in cells if not any(other != cell and covers(other, cell) for other in cells)]


def check_point(question: Question, cert: Any, alpha: list[Fraction]) -> Any:
    """Return the risk at alpha, which must be where the verdict says: in the closure of wrong orders, or right."""
    side = question.right if cert["verdict"] == "CONSISTENT_AT_MU" else question.wrong
    if not any(_inside(alpha, levels) for levels in side):
        raise Rejected(f"alpha is not where {cert['verdict']} needs it")
    if any(abs(a) > 1000 for a in alpha):
        raise Rejected("a score of alpha is beyond 1000")
    total: Any = sum((b * a for b, a in zip(question.risk.linear, alpha, strict=True)), Fraction(0))
    for phi, form, offset, factor in question.risk.terms:
        t = sum((c * a for c, a in zip(form, alpha, strict=True)), Fraction(0)) - offset
        total = _plus(total, factor, question.phis[phi].value(t))
    if question.risk.entropy:
        total = _plus(total, question.risk.entropy, _log_sum(alpha))
    if high(total) > rational(cert["alpha_value"]):
        raise Rejected("the risk at alpha is larger than it says")
    return total


def _log_sum(alpha: list[Fraction]) -> Any:
    from mpmath import iv

    return iv.log(sum((iv.exp(interval(a)) for a in alpha), iv.mpf(0)))


def _plus(total: Any, factor: Fraction, value: Any) -> Any:
    """Return ``total + factor * value``, exactly as long as all are exact."""
    if isinstance(total, Fraction) and isinstance(value, Fraction):
        return sized(total + factor * value)
    total = interval(total) if isinstance(total, Fraction) else total
    value = interval(value) if isinstance(value, Fraction) else value
    return total + interval(factor) * value


def check_bounds(question: Question, cert: Any, value: Any) -> None:
    """Prove the lower bounds, and from them the gap."""
    verdict, gap, bounds = cert["verdict"], rational(cert["gap"]), cert["bounds"]
    steps = sum(2 * question.phis[term.phi].size + 4 for term in question.risk.terms)
    if (len(bounds) + 1) * steps > MOST_WORK:
        raise Rejected("there are too many slopes to check")
    if verdict == "VIOLATION_BOUNDARY":
        if len(bounds) != 1 or bounds[0]["order"] != "all" or gap != 0:
            raise Rejected("an equality has one bound, of all scores, and gap 0")
        least = _bound(question, bounds[0], None)
        if not isinstance(value, Fraction) or not isinstance(least, Fraction) or least != value:
            raise Rejected("the least risk is not exactly that at alpha")
        return
    cells = maximal(question.right if verdict == "VIOLATION" else question.wrong)
    by_name = {bound["order"]: bound for bound in bounds}
    if len(by_name) != len(bounds) or set(by_name) != {named(cell) for cell in cells}:
        raise Rejected("there is not one bound for each cone that needs one")
    if not cells or gap <= 0:
        raise Rejected("a strict inequality has a gap above 0")
    for cell in cells:
        least = low(_bound(question, by_name[named(cell)], cell))
        if least < rational(by_name[named(cell)]["value"]):
            raise Rejected(f"the bound of {named(cell)} is less than it says")
        if least - high(value) < gap:
            raise Rejected(f"the gap to {named(cell)} is less than it says")


def _bound(question: Question, bound: Any, cell: Levels | None) -> Any:
    """Return a number that the risk never goes below on a closed cone, or anywhere (None).

    Each term is at least a line of the given slope. If the slopes add up to a vector that has no
    negative product with any score of the cone, the constants of the lines add up to a bound.
    """
    risk = question.risk
    if not set(bound) <= {"order", "slopes", "shares", "value"}:
        raise Rejected("a bound has order, slopes, shares and value")
    slopes = bound["slopes"]
    if len(slopes) != len(risk.terms):
        raise Rejected("a bound has one slope for each term of the risk")
    total: Any = Fraction(0)
    vector = list(risk.linear)
    for (phi, form, offset, factor), written in zip(risk.terms, slopes, strict=True):
        slope, *between = rationals(written)
        total = _plus(total, factor, question.phis[phi].least(slope, between))
        total = _plus(total, -factor * offset, slope)
        vector = [sized(v + factor * slope * c) for v, c in zip(vector, form, strict=True)]
    if risk.entropy:
        shares = rationals(bound["shares"], question.m)
        total = _plus(total, risk.entropy, entropy(shares))
        vector = [v + risk.entropy * p for v, p in zip(vector, shares, strict=True)]
    if cell is None:
        if any(vector):
            raise Rejected("the slopes of the bound of all scores do not add up to 0")
        return total
    if sum(vector) != 0:
        raise Rejected("the slopes do not add up to 0 over all items")
    passed = Fraction(0)
    for level in cell[:-1]:
        passed += sum((vector[i] for i in level), Fraction(0))
        if passed < 0:
            raise Rejected(f"the slopes of the bound of {named(cell)} point out of its cone")
    return total


def check_numerical(m: int, cert: Any, right: list[Levels], wrong: list[Levels]) -> None:
    """Check the arithmetic of bounds made of cuts: values and gradients in double precision, taken on trust."""
    violation = cert["verdict"] == "VIOLATION"
    alpha = rationals(cert["alpha"], m)
    if not any(_inside(alpha, levels) for levels in (wrong if violation else right)):
        raise Rejected(f"alpha is not where {cert['verdict']} needs it")
    value, gap = rational(cert["alpha_value"]), rational(cert["gap"])
    cells = maximal(right if violation else wrong)
    by_name = {bound["order"]: bound for bound in cert["bounds"]}
    if len(by_name) != len(cert["bounds"]) or set(by_name) != {named(cell) for cell in cells}:
        raise Rejected("there is not one bound for each cone that needs one")
    if not cells or gap <= TOLERANCE:
        raise Rejected("a numerical gap must be above 0.000001")
    for cell in cells:
        least = _of_cuts(m, by_name[named(cell)], cell, alpha, value)
        if least - value < gap:
            raise Rejected(f"the gap to {named(cell)} is less than it says")


def _of_cuts(m: int, bound: Any, cell: Levels, alpha: list[Fraction], at_alpha: Fraction) -> Fraction:
    weights, total, vector = Fraction(0), Fraction(0), [Fraction(0)] * m
    if not 1 <= len(bound["cuts"]) <= 50:
        raise Rejected("a bound has 1 to 50 cuts")
    for cut in bound["cuts"]:
        weight, value = rational(cut["weight"]), rational(cut["value"])
        point, gradient = rationals(cut["point"], m), rationals(cut["gradient"], m)
        if weight < 0:
            raise Rejected("a weight of a cut is below 0")
        if value + sum((g * (a - p) for g, a, p in zip(gradient, alpha, point, strict=True)), Fraction(0)) > (
            at_alpha + TOLERANCE
        ):
            raise Rejected(f"a cut of {named(cell)} is above the risk at alpha: no convex risk has both")
        weights += weight
        total += weight * (value - sum((g * p for g, p in zip(gradient, point, strict=True)), Fraction(0)))
        vector = [v + weight * g for v, g in zip(vector, gradient, strict=True)]
    if weights != 1:
        raise Rejected("the weights of the cuts do not sum to 1")
    passed = Fraction(0)
    for level in cell[:-1]:
        passed += sum((vector[i] for i in level), Fraction(0))
        if passed < -TOLERANCE:
            raise Rejected(f"the cuts of {named(cell)} point out of its cone")
    if abs(sum(vector, Fraction(0))) > TOLERANCE:
        raise Rejected("the cuts do not add up to 0 over all items")
    return total
