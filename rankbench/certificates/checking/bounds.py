"""The checker bounds conditional risks: from both sides, or by values and gradients in double precision.

Of the latter, the checker compares rankbench's own surrogates with their formulas, and takes others on trust.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from rankbench.certificates.checking.law import Irrational, Levels, Structure, law, named, net_weights
from rankbench.certificates.checking.numbers import (
    Phi,
    Rejected,
    check_keys,
    entropy,
    high,
    interval,
    log_sum,
    low,
    raised,
    rational,
    rationals,
    require,
    sized,
    whole,
)
from rankbench.certificates.checking.rules import Term, TermSum, built_in, followed, merged, rule_of

MOST_WORK = 120_000
"""Operations on intervals, of all slopes together: some seconds."""


class PointClaim(NamedTuple):
    """The surrogate's risk, and the weak orders that are right and wrong."""

    m: int
    phis: list[Phi]
    risk: TermSum
    right: list[Levels]
    wrong: list[Levels]


def inside(alpha: list[Fraction], levels: Levels) -> bool:
    """Return whether scores are in the closed cone of a weak order."""
    tied = all(len({alpha[i] for i in level}) == 1 for level in levels)
    return tied and all(alpha[a[0]] >= alpha[b[0]] for a, b in pairwise(levels))


def maximal(cells: list[Levels]) -> list[Levels]:
    """Return the weak orders with maximal closed cones, whose union is the closure of all."""

    def covers(big: Levels, small: Levels) -> bool:
        place = {i: at for at, level in enumerate(small) for i in level}
        flat = [[place[i] for i in level] for level in big]
        return all(len(set(level)) == 1 for level in flat) and flat == sorted(flat)

    return [cell for cell in cells if not any(other != cell and covers(other, cell) for other in cells)]


def check_point(claim: PointClaim, cert: Any, alpha: list[Fraction]) -> Any:
    """Return the risk at alpha, checked to be in the verdict's set: the closure of wrong orders, or right ones."""
    side = claim.right if cert["verdict"] == "CONSISTENT_AT_MU" else claim.wrong
    require(any(inside(alpha, levels) for levels in side), f"alpha is not where {cert['verdict']} needs it")
    require(all(abs(a) <= 1000 for a in alpha), "a score of alpha is beyond 1000")
    total = risk_at(claim.phis, claim.risk, alpha)
    require(high(total) <= rational(cert["alpha_value"]), "the risk at alpha is larger than it says")
    return total


def risk_at(phis: list[Phi], risk: TermSum, alpha: list[Fraction]) -> Any:
    """Return the risk of scores, exactly if no term is an expression."""
    total: Any = sum((b * a for b, a in zip(risk.linear, alpha, strict=True)), Fraction(0))
    for phi, form, offset, factor in risk.terms:
        t = sum((c * a for c, a in zip(form, alpha, strict=True)), Fraction(0)) - offset
        total = _plus(total, factor, phis[phi].value(t))
    if risk.entropy:
        total = _plus(total, risk.entropy, log_sum(alpha))
    return total


def _plus(total: Any, factor: Fraction, value: Any) -> Any:
    """Return ``total + factor * value``, exactly as long as all are exact."""
    if isinstance(total, Fraction) and isinstance(value, Fraction):
        return sized(total + factor * value)
    total = interval(total) if isinstance(total, Fraction) else total
    value = interval(value) if isinstance(value, Fraction) else value
    return total + interval(factor) * value


def check_bounds(claim: PointClaim, cert: Any, value: Any) -> None:
    """Prove the lower bounds, and from them the gap."""
    verdict, gap, bounds = cert["verdict"], rational(cert["gap"]), cert["bounds"]
    steps = sum(2 * claim.phis[term.phi].size + 4 for term in claim.risk.terms)
    require((len(bounds) + 1) * steps <= MOST_WORK, "there are too many slopes to check")
    if verdict == "VIOLATION_BOUNDARY":
        alone = len(bounds) == 1 and bounds[0]["order"] == "all" and gap == 0
        require(alone, "an equality has one bound, of all scores, and gap 0")
        least = _bound(claim, bounds[0], None)
        exact = isinstance(value, Fraction) and isinstance(least, Fraction)
        require(exact and least == value, "the least risk is not exactly that at alpha")
        said = value == rational(cert["alpha_value"]) == rational(bounds[0]["value"])
        require(said, "an equality says the least risk itself, at alpha and as its bound")
        return
    require(gap > 0, "a strict inequality has a gap above 0")
    for cell, bound in by_cone(bounds, maximal(claim.right if verdict == "VIOLATION" else claim.wrong)):
        stated = rational(bound["value"])
        require(low(_bound(claim, bound, cell)) >= stated, f"the bound of {named(cell)} is less than it says")
        above = stated - rational(cert["alpha_value"])
        require(above >= gap, f"the gap to {named(cell)} is less than it says")


def by_cone(bounds: list[Any], cells: list[Levels]) -> list[tuple[Levels, Any]]:
    """Return the bound of each cone, and require one for each."""
    by_name = {bound["order"]: bound for bound in bounds}
    each = cells and len(by_name) == len(bounds) and set(by_name) == {named(cell) for cell in cells}
    require(each, "there is not one bound for each cone that needs one")
    return [(cell, by_name[named(cell)]) for cell in cells]


def _bound(claim: PointClaim, bound: Any, cell: Levels | None) -> Any:
    """Return a lower bound of the risk on a closed cone, or anywhere (None).

    Each term is at least a line of the given slope. If the slopes add up to a vector that has no
    negative product with any score of the cone, the constants of the lines add up to a bound.
    """
    risk = claim.risk
    check_keys(bound, ["order", "slopes", "value", *(["shares"] if risk.entropy else [])], "a bound")
    slopes = bound["slopes"]
    require(len(slopes) == len(risk.terms), "a bound has one slope for each term of the risk")
    total: Any = Fraction(0)
    vector = list(risk.linear)
    for (phi, form, offset, factor), written in zip(risk.terms, slopes, strict=True):
        slope, *between = rationals(written)
        total = _plus(total, factor, claim.phis[phi].least(slope, between))
        total = _plus(total, -factor * offset, slope)
        vector = [sized(v + factor * slope * c) for v, c in zip(vector, form, strict=True)]
    if risk.entropy:
        shares = rationals(bound["shares"], claim.m)
        total = _plus(total, risk.entropy, entropy(shares))
        vector = [v + risk.entropy * p for v, p in zip(vector, shares, strict=True)]
    if cell is None:
        require(not any(vector), "the slopes of the bound of all scores do not add up to 0")
    else:
        require(not downhill(vector, cell), f"the slopes of the bound of {named(cell)} point out of its cone")
    return total


def downhill(vector: list[Fraction], cell: Levels, room: Fraction = Fraction(0)) -> bool:
    """Return whether a slope goes down somewhere in the closed cone of a weak order, by more than some room."""
    sums = list(itertools.accumulate(sum((vector[i] for i in level), Fraction(0)) for level in cell))
    return any(passed < -room for passed in sums) or abs(sums[-1]) > room


POINTWISE = ("VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT_AT_MU")
UNPROVED = ("NO_COUNTEREXAMPLE_FOUND", "INCONCLUSIVE")

ALWAYS = {"schema", "verdict", "arithmetic", "items", "noise", "loss", "surrogate", "aggregation", "seed"}
OF_ONE_LAW = {"mu", "alpha", "bounds", "gap"}
"""Empty, and gap 0, where nothing is claimed of one law."""

LOSSES = {"pairwise": {"normalize"}, "ndcg": {"gain", "discounts"}, "err": {"top", "discounts"}}


def check_form(cert: dict[str, Any]) -> int:
    """Raise if a certificate has other keys than its verdict needs; return the number of items."""
    verdict, arithmetic = cert["verdict"], cert["arithmetic"]
    require(arithmetic in ("exact", "interval", "numerical"), "arithmetic is exact, interval or numerical")
    require(verdict in (*POINTWISE, *UNPROVED, "CONSISTENT"), f"there is no verdict {str(verdict)[:40]!r}")
    needed, free = set(ALWAYS), {"searched", "versions"}
    if verdict in POINTWISE:
        needed |= {*OF_ONE_LAW, "alpha_value"}
        if arithmetic != "numerical":
            needed |= {"seen", "phis", "risk"}
        elif cert.get("aggregation") is not None:
            needed |= {"seen"}
    else:
        free |= OF_ONE_LAW
        needed |= {"phis", "theorem" if "theorem" in cert else "cells"} if verdict == "CONSISTENT" else set()
    check_keys(cert, needed, f"a certificate of {verdict}", free)
    m = whole(cert["items"], 2, 5, "items")
    require(cert["noise"] in ("low", "dag", "any", "independent"), "noise is low, dag, any or independent")
    whole(cert["seed"], 0, 10**20, "seed")
    objects = all(isinstance(cert.get(key, {}), dict) for key in ("searched", "versions"))
    require(objects, "searched and versions are objects")
    _check_who(cert)
    if verdict not in POINTWISE:
        _check_empty(cert, m)
    return m


def _check_who(cert: dict[str, Any]) -> None:
    """Check the form of loss, surrogate and aggregation."""
    loss, surrogate, aggregation = cert["loss"], cert["surrogate"], cert["aggregation"]
    require(loss["name"] in tuple(LOSSES), f"a loss has a name, one of {', '.join(LOSSES)}")
    check_keys(loss, {"name", *LOSSES[loss["name"]]}, "a loss")
    require(isinstance(loss.get("normalize", False), bool), "normalize is true or false")
    require(cert["noise"] != "independent" or loss["name"] != "pairwise", "independence is of scores")
    plain = cert["noise"] == "any" or not loss.get("normalize")
    require(plain, "low and dag are conditions on graphs as they are, which a normalized loss weighs anew")
    check_keys(surrogate, ["name", "parameters", "distribution", "source_sha256", "rule"], "a surrogate")
    name, source = str(surrogate["name"]), str(surrogate["source_sha256"])
    require(isinstance(surrogate["distribution"], str), "the distribution of a surrogate is a text")
    word = re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name, re.ASCII) and len(name) <= 100
    require(word, "the name of a surrogate is of small letters and digits, in words with a hyphen between")
    hashed = re.fullmatch("[0-9a-f]{64}|unknown", source, re.ASCII)
    require(hashed, "source_sha256 has 64 hexadecimal digits, or is unknown")
    few = isinstance(surrogate["parameters"], dict) and len(surrogate["parameters"]) <= 50
    require(few and isinstance(surrogate["rule"], dict | None), "parameters are at most 50; a rule is one, or null")
    if aggregation is not None:
        check_keys(aggregation, ["name", "k"], "an aggregation")
        require(isinstance(aggregation["name"], str), "an aggregator has a name")
        if aggregation["k"] != "inf":
            whole(aggregation["k"], 1, 100, "k")
        require(loss["name"] == "pairwise", "aggregation is of graphs")


def _check_empty(cert: dict[str, Any], m: int) -> None:
    """Reject numbers of one law in a certificate without a claim about one."""
    if cert["verdict"] == "INCONCLUSIVE" and cert.get("mu"):
        law(cert["mu"], m)
    else:
        require(cert.get("mu", []) == [], f"{cert['verdict']} is not about one mu")
    empty = all(cert.get(key, []) == [] for key in ("alpha", "bounds")) and cert.get("gap", "0") == "0"
    require(empty, f"{cert['verdict']} has no alpha, bounds or gap")


TOLERANCE = Fraction(1, 10**6)
"""Slopes that are below 0 by less are called 0, gaps below are none."""

ROUNDING = Fraction(1, 10**7)
"""That values and gradients in double precision may differ by from their formula, relative to those above 1."""

MOST_CUT_WORK = 20_000
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
        require(work <= MOST_CUT_WORK, "there are too many cuts to check")
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
    """Compare a cut with the formula of its surrogate, which is up to a term without alpha."""
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
