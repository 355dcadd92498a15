"""The checker bounds risks by values and gradients in double precision.

Those of a surrogate of rankbench are compared with its formula; those of others are taken on trust.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rankbench.certify.checking.bounds import by_cone, inside, maximal, risk_at
from rankbench.certify.checking.law import Irrational, Levels, Structure, named, net_weights
from rankbench.certify.checking.numbers import Phi, Rejected, high, low, raised, rational, rationals
from rankbench.certify.checking.rules import Term, TermSum, built_in, discount, followed, merged, rule_of

TOLERANCE = Fraction(1, 10**6)
"""Slopes that are below 0 by less are called 0, gaps below are none."""

ROUNDING = Fraction(1, 10**7)
"""That values and gradients in double precision may differ by from their formula, relative to those above 1."""

MOST_WORK = 20_000
"""Terms of a formula that are computed, of all cuts together: some seconds."""

PARTS = 2**100
"""Of 1, to which irrational numbers are rounded."""

BESIDE = Fraction(1, 10**9)
"""From a kink up to which any slope between those of its sides is one."""


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
    rule, phi = rule_of(surrogate)
    if "discount" in rule:
        digits = [discount(rule["discount"], rule["cutoff"], j) for j in range(1, m + 1)]
        rule = {**rule, "discounts": [f"{x:.40f}" for x in digits]}
    if exact and rule["rule"] not in ("softmax", "pushes-of-logistic"):
        try:
            for _, s in seen:
                followed(rule, s, m, loss)
        except Irrational:
            pass
        else:
            raise Rejected(f"{surrogate['name']} has exact numbers here: nothing of it is taken on trust")
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
    """Return a sum with rounded numbers, so that those of many structures have a short common denominator."""

    def short(number: Fraction) -> Fraction:
        return Fraction(round(number * PARTS), PARTS)

    terms = tuple(Term(phi, form, short(offset), short(factor)) for phi, form, offset, factor in risk.terms)
    return TermSum(terms, tuple(map(short, risk.linear)), short(risk.entropy))


def check_cuts(m: int, cert: Any, right: list[Levels], wrong: list[Levels], known: Any) -> None:
    """Check the arithmetic of bounds made of cuts, and values and gradients by the formula, if it is known."""
    violation = cert["verdict"] == "VIOLATION"
    alpha = rationals(cert["alpha"], m)
    if not any(inside(alpha, levels) for levels in (wrong if violation else right)):
        raise Rejected(f"alpha is not where {cert['verdict']} needs it")
    value, gap = rational(cert["alpha_value"]), rational(cert["gap"])
    if gap <= TOLERANCE:
        raise Rejected("a numerical gap must be above 0.000001")
    bounds = by_cone(cert["bounds"], maximal(right if violation else wrong))
    if known is not None:
        terms = len(known[0].terms) + m
        if terms * sum(len(bound["cuts"]) for _, bound in bounds) > MOST_WORK:
            raise Rejected("there are too many cuts to check")
        at_alpha = _middle(risk_at(known[1], known[0], alpha))
    for cell, bound in bounds:
        least = _of_cuts(m, bound, cell, alpha, value)
        if known is not None:
            for cut in bound["cuts"]:
                _check_formula(m, cut, known, value - at_alpha)
        if least - value < gap:
            raise Rejected(f"the gap to {named(cell)} is less than it says")


def _of_cuts(m: int, bound: Any, cell: Levels, alpha: list[Fraction], at_alpha: Fraction) -> Fraction:
    weights, total, vector = Fraction(0), Fraction(0), [Fraction(0)] * m
    if set(bound) != {"order", "cuts"} or not 1 <= len(bound["cuts"]) <= 50:
        raise Rejected("a bound has an order and 1 to 50 cuts")
    for cut in bound["cuts"]:
        if set(cut) != {"weight", "point", "value", "gradient"}:
            raise Rejected("a cut has weight, point, value and gradient")
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


def _check_formula(m: int, cut: Any, known: Any, shift: Fraction) -> None:
    """Compare a cut with the formula of its surrogate, which is up to a number that alpha does not change."""
    risk, phis = known
    point = rationals(cut["point"], m)
    value = _middle(risk_at(phis, risk, point)) + shift
    if abs(rational(cut["value"]) - value) > ROUNDING * max(Fraction(1), abs(value)):
        raise Rejected("the value of a cut is not that of the surrogate's formula")
    slopes = [[b, b] for b in risk.linear]
    if risk.entropy:
        powers = [raised(None, a - max(point)) for a in point]
        slopes = [[b + risk.entropy * p / sum(powers) for b in own] for own, p in zip(slopes, powers, strict=True)]
    for phi, form, offset, factor in risk.terms:
        t = sum((c * a for c, a in zip(form, point, strict=True)), Fraction(0)) - offset
        ends = phis[phi].slopes(t, BESIDE)
        for i, c in enumerate(form):
            if c:
                slopes[i] = [a + factor * c * b for a, b in zip(slopes[i], ends[::c], strict=True)]
    for (least, most), own in zip(slopes, rationals(cut["gradient"], m), strict=True):
        room = ROUNDING * max(Fraction(1), abs(least), abs(most))
        if not least - room <= own <= most + room:
            raise Rejected("the gradient of a cut is not that of the surrogate's formula")


def _middle(value: Any) -> Fraction:
    return (low(value) + high(value)) / 2
