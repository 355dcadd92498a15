"""The checker bounds conditional risks from both sides."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from rankbench.certify.checking.law import Levels, law, named
from rankbench.certify.checking.numbers import (
    Phi,
    Rejected,
    entropy,
    high,
    interval,
    log_sum,
    low,
    rational,
    rationals,
    sized,
    whole,
)
from rankbench.certify.checking.rules import TermSum

MOST_WORK = 120_000
"""Operations on intervals, of all slopes together: some seconds."""


class Question(NamedTuple):
    """The surrogate's risk, and the weak orders that are right and wrong."""

    m: int
    phis: list[Phi]
    risk: TermSum
    right: list[Levels]
    wrong: list[Levels]


def inside(alpha: list[Fraction], levels: Levels) -> bool:
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
    if not any(inside(alpha, levels) for levels in side):
        raise Rejected(f"alpha is not where {cert['verdict']} needs it")
    if any(abs(a) > 1000 for a in alpha):
        raise Rejected("a score of alpha is beyond 1000")
    total = risk_at(question.phis, question.risk, alpha)
    if high(total) > rational(cert["alpha_value"]):
        raise Rejected("the risk at alpha is larger than it says")
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
        if not value == rational(cert["alpha_value"]) == rational(bounds[0]["value"]):
            raise Rejected("an equality says the least risk itself, at alpha and as its bound")
        return
    cells = maximal(question.right if verdict == "VIOLATION" else question.wrong)
    if gap <= 0:
        raise Rejected("a strict inequality has a gap above 0")
    for cell, bound in by_cone(bounds, cells):
        stated = rational(bound["value"])
        if low(_bound(question, bound, cell)) < stated:
            raise Rejected(f"the bound of {named(cell)} is less than it says")
        if stated - rational(cert["alpha_value"]) < gap:
            raise Rejected(f"the gap to {named(cell)} is less than it says")


def by_cone(bounds: list[Any], cells: list[Levels]) -> list[tuple[Levels, Any]]:
    """Return the bound of each cone, of which each has one, and no other has."""
    by_name = {bound["order"]: bound for bound in bounds}
    if not cells or len(by_name) != len(bounds) or set(by_name) != {named(cell) for cell in cells}:
        raise Rejected("there is not one bound for each cone that needs one")
    return [(cell, by_name[named(cell)]) for cell in cells]


def _bound(question: Question, bound: Any, cell: Levels | None) -> Any:
    """Return a number that the risk never goes below on a closed cone, or anywhere (None).

    Each term is at least a line of the given slope. If the slopes add up to a vector that has no
    negative product with any score of the cone, the constants of the lines add up to a bound.
    """
    risk = question.risk
    if set(bound) != {"order", "slopes", "value", *(["shares"] if risk.entropy else [])}:
        raise Rejected("a bound has order, slopes and value, and shares if the risk has an entropy")
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


POINTWISE = ("VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT_AT_MU")
UNPROVED = ("NO_COUNTEREXAMPLE_FOUND", "INCONCLUSIVE")

ALWAYS = {"schema", "verdict", "arithmetic", "items", "noise", "loss", "surrogate", "aggregation", "seed"}
OF_ONE_LAW = {"mu", "alpha", "bounds", "gap"}
"""Empty, and gap 0, where nothing is claimed of one law."""

LOSSES = {"pairwise": {"normalize"}, "ndcg": {"gain", "discounts"}, "err": {"top", "discounts"}}


def check_form(cert: dict[str, Any]) -> int:
    """Refuse keys that a certificate of its verdict has not, or lacks; return the number of items."""
    verdict, arithmetic = cert["verdict"], cert["arithmetic"]
    if arithmetic not in ("exact", "interval", "numerical"):
        raise Rejected("arithmetic is exact, interval or numerical")
    if verdict not in (*POINTWISE, *UNPROVED, "CONSISTENT"):
        raise Rejected(f"there is no verdict {str(verdict)[:40]!r}")
    needed, free = set(ALWAYS), {"searched", "versions"}
    if verdict in POINTWISE:
        needed |= {*OF_ONE_LAW, "alpha_value"}
        if arithmetic != "numerical":
            needed |= {"seen", "phis", "risk"}
        elif cert.get("aggregation") is not None:
            needed |= {"seen"}
    else:
        free |= OF_ONE_LAW
        needed |= {"phis", "cells"} if verdict == "CONSISTENT" else set()
    _check_keys(cert, needed, free, f"a certificate of {verdict}")
    m = whole(cert["items"], 2, 5, "items")
    if cert["noise"] not in ("low", "dag", "any"):
        raise Rejected("noise is low, dag or any")
    whole(cert["seed"], 0, 10**20, "seed")
    if any(not isinstance(cert.get(key, {}), dict) for key in ("searched", "versions")):
        raise Rejected("searched and versions are objects")
    _check_who(cert)
    if verdict not in POINTWISE:
        _check_empty(cert, m)
    return m


def _check_keys(found: object, needed: set[str], free: set[str], what: str) -> None:
    if not isinstance(found, dict):
        raise Rejected(f"{what} is an object")
    if unknown := set(found) - needed - free:
        raise Rejected(f"there is no key {min(unknown)[:40]!r} in {what}")
    if lacking := needed - set(found):
        raise Rejected(f"{what} has the key {min(lacking)!r}")


def _check_who(cert: dict[str, Any]) -> None:
    """Check the form of loss, surrogate and aggregation."""
    loss, surrogate, aggregation = cert["loss"], cert["surrogate"], cert["aggregation"]
    if not isinstance(loss, dict) or set(loss) != {"name", *LOSSES.get(str(loss["name"]), ())}:
        raise Rejected(f"a loss has a name, which is one of {', '.join(LOSSES)}, and its tables")
    if loss["name"] == "pairwise" and not isinstance(loss["normalize"], bool):
        raise Rejected("normalize is true or false")
    if cert["noise"] != "any" and loss.get("normalize") is True:
        raise Rejected(
            "low and dag are conditions on the mean of graphs as they are, which a normalized loss weighs anew"
        )
    _check_keys(surrogate, {"name", "parameters", "distribution", "source_sha256", "rule"}, set(), "a surrogate")
    if not all(isinstance(surrogate[key], str) for key in ("name", "distribution", "source_sha256")):
        raise Rejected("name, distribution and source_sha256 of a surrogate are texts")
    if not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", surrogate["name"], re.ASCII) or len(surrogate["name"]) > 100:
        raise Rejected("the name of a surrogate is of small letters and digits, in words with a hyphen between")
    if not re.fullmatch("[0-9a-f]{64}|unknown", surrogate["source_sha256"], re.ASCII):
        raise Rejected("source_sha256 has 64 hexadecimal digits, or is unknown")
    if (
        not isinstance(surrogate["parameters"], dict)
        or len(surrogate["parameters"]) > 50
        or not isinstance(surrogate["rule"], dict | None)
    ):
        raise Rejected("parameters are an object of at most 50; a rule is one, or null")
    if aggregation is not None:
        _check_keys(aggregation, {"name", "k"}, set(), "an aggregation")
        if not isinstance(aggregation["name"], str):
            raise Rejected("an aggregator has a name")
        if aggregation["k"] != "inf":
            whole(aggregation["k"], 1, 100, "k")
        if loss["name"] != "pairwise":
            raise Rejected("aggregation is of graphs")


def _check_empty(cert: dict[str, Any], m: int) -> None:
    """Refuse numbers of one law where nothing is claimed of one."""
    if cert["verdict"] == "INCONCLUSIVE" and cert.get("mu"):
        law(cert["mu"], m)
    elif cert.get("mu", []) != []:
        raise Rejected(f"{cert['verdict']} is not about one mu")
    if any(cert.get(key, []) != [] for key in ("alpha", "bounds")) or cert.get("gap", "0") != "0":
        raise Rejected(f"{cert['verdict']} has no alpha, bounds or gap")
