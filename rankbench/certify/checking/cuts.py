"""The checker bounds risks by values and gradients in double precision.

The checker compares values and gradients of rankbench's surrogates with their formulas, and takes others on trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from rankbench.certify.checking.bounds import by_cone, downhill, inside, maximal, risk_at
from rankbench.certify.checking.law import Irrational, Levels, Structure, named, net_weights
from rankbench.certify.checking.numbers import (
    Phi,
    Rejected,
    check_keys,
    high,
    low,
    raised,
    rational,
    rationals,
    require,
)
from rankbench.certify.checking.rules import Term, TermSum, built_in, followed, merged, rule_of

TOLERANCE = Fraction(1, 10**6)
"""Slopes that are below 0 by less are called 0, gaps below are none."""

ROUNDING = Fraction(1, 10**7)
"""That values and gradients in double precision may differ by from their formula, relative to those above 1."""

MOST_WORK = 20_000
"""Terms of a formula that are computed, of all cuts together: some seconds."""

PARTS = 2**100
"""Of 1, to which irrational numbers are rounded."""

DIGITS = "1e-38"
"""The last one of logarithms that are taken nearly."""

BESIDE = Fraction(1, 10**9)
"""Distance from a kink within which any slope between the slopes of its sides is one."""


def formula(surrogate: Any, seen: list[tuple[Fraction, Structure]], m: int, loss: Any, exact: bool) -> Any:
    """Return the risk of a surrogate of rankbench and its phis, irrational numbers nearly; None of others.

    Parameters
    ----------
    exact : bool
        Whether what is seen is exact: if so, a surrogate whose numbers are rational has a proof, and
        must have it.
    """
    if not built_in(surrogate):
        return None
    rule, phi = rule_of(surrogate, m, DIGITS)
    if exact and rule["rule"] not in ("softmax", "pushes-of-logistic"):
        try:
            for _, s in seen:
                followed(rule, s, m, loss)
            raise Rejected(f"{surrogate['name']} has exact numbers here: nothing of it is taken on trust")
        except Irrational:
            pass
    sums = [(weight, _nearly(rule, s, m, loss)) for weight, s in seen]
    return merged(m, sums), [] if phi is None else [Phi(phi)]


def _nearly(rule: dict[str, Any], s: Structure, m: int, loss: Any) -> TermSum:
    scores = s if isinstance(s, list) else net_weights(s, m)
    if rule["rule"] == "softmax":
        powers = [raised(None, x - max(scores)) for x in scores]
        return _short(TermSum((), tuple(-p / sum(powers) for p in powers), Fraction(1)))
    if rule["rule"] == "pushes-of-logistic":
        weights = [1 / (1 + raised(None, -x)) for x in scores]
        pairs = [(j, k) for j in range(m) for k in range(m) if j != k]
        terms = [Term(0, tuple(int(i == j) - int(i == k) for i in range(m)), Fraction(0), weights[j]) for j, k in pairs]
        return _short(TermSum(tuple(terms), (Fraction(0),) * m, Fraction(0)))
    return _short(followed(rule, s, m, loss, nearly=True))


def _short(risk: TermSum) -> TermSum:
    """Return a sum with rounded numbers: sums of many structures then have a short common denominator."""

    def short(number: Fraction) -> Fraction:
        return Fraction(round(number * PARTS), PARTS)

    terms = tuple(Term(phi, form, short(offset), short(factor)) for phi, form, offset, factor in risk.terms)
    return TermSum(terms, tuple(map(short, risk.linear)), short(risk.entropy))


def check_cuts(m: int, cert: Any, right: list[Levels], wrong: list[Levels], known: Any) -> None:
    """Check the arithmetic of bounds made of cuts, and values and gradients by the formula, if it is known."""
    violation = cert["verdict"] == "VIOLATION"
    alpha = rationals(cert["alpha"], m)
    there = any(inside(alpha, levels) for levels in (wrong if violation else right))
    require(there, f"alpha is not where {cert['verdict']} needs it")
    value, gap = rational(cert["alpha_value"]), rational(cert["gap"])
    require(gap > TOLERANCE, "a numerical gap must be above 0.000001")
    bounds = by_cone(cert["bounds"], maximal(right if violation else wrong))
    if known is not None:
        work = (len(known[0].terms) + m) * sum(len(bound["cuts"]) for _, bound in bounds)
        require(work <= MOST_WORK, "there are too many cuts to check")
        at_alpha = _middle(risk_at(known[1], known[0], alpha))
    for cell, bound in bounds:
        least = _of_cuts(m, bound, cell, alpha, value)
        for cut in bound["cuts"] if known is not None else ():
            _check_formula(m, cut, known, value - at_alpha)
        require(least - value >= gap, f"the gap to {named(cell)} is less than it says")


def _of_cuts(m: int, bound: Any, cell: Levels, alpha: list[Fraction], at_alpha: Fraction) -> Fraction:
    weights, total, vector = Fraction(0), Fraction(0), [Fraction(0)] * m
    check_keys(bound, ["order", "cuts"], "a bound")
    require(1 <= len(bound["cuts"]) <= 50, "a bound has 1 to 50 cuts")
    for cut in bound["cuts"]:
        check_keys(cut, ["weight", "point", "value", "gradient"], "a cut")
        weight, value = rational(cut["weight"]), rational(cut["value"])
        point, gradient = rationals(cut["point"], m), rationals(cut["gradient"], m)
        require(weight >= 0, "a weight of a cut is below 0")
        at_zero = value - _dot(gradient, point)
        touches = at_zero + _dot(gradient, alpha) <= at_alpha + TOLERANCE
        require(touches, f"a cut of {named(cell)} is above the risk at alpha: no convex risk has both")
        weights += weight
        total += weight * at_zero
        vector = [v + weight * g for v, g in zip(vector, gradient, strict=True)]
    require(weights == 1, "the weights of the cuts do not sum to 1")
    require(not downhill(vector, cell, TOLERANCE), f"the cuts of {named(cell)} point out of its cone")
    return total


def _dot(a: Iterable[Fraction | int], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _check_formula(m: int, cut: Any, known: Any, shift: Fraction) -> None:
    """Compare a cut with the formula of its surrogate, which is up to a number that alpha does not change."""
    risk, phis = known
    point = rationals(cut["point"], m)
    value = _middle(risk_at(phis, risk, point)) + shift
    right = abs(rational(cut["value"]) - value) <= ROUNDING * max(Fraction(1), abs(value))
    require(right, "the value of a cut is not that of the surrogate's formula")
    slopes = [[b, b] for b in risk.linear]
    if risk.entropy:
        powers = [raised(None, a - max(point)) for a in point]
        slopes = [[b + risk.entropy * p / sum(powers) for b in own] for own, p in zip(slopes, powers, strict=True)]
    for phi, form, offset, factor in risk.terms:
        ends = phis[phi].slopes(_dot(form, point) - offset, BESIDE)
        for i, c in enumerate(form):
            if c:
                slopes[i] = [a + factor * c * b for a, b in zip(slopes[i], ends[::c], strict=True)]
    for (least, most), own in zip(slopes, rationals(cut["gradient"], m), strict=True):
        room = ROUNDING * max(Fraction(1), abs(least), abs(most))
        right = least - room <= own <= most + room
        require(right, "the gradient of a cut is not that of the surrogate's formula")


def _middle(value: Any) -> Fraction:
    return (low(value) + high(value)) / 2
